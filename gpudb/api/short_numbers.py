"""Numbers as a table shows them: as many digits as tell values apart, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

SHOWN_DIGITS = 7
"""The significant digits of numbers with a fraction; whole numbers keep all of theirs."""
_LEAST_DECIMALS = 2
_LEAST_DIGITS = 3
"""A smaller number than its column's decimals can tell has this many digits."""
_MOST_DECIMALS = 12
"""Numbers with more are written with an exponent."""
_CONTEXT = Context(prec=20_000, rounding=ROUND_HALF_UP)


def shorten_numbers(texts: Sequence[str | None]) -> list[str | None]:
    """Returns a column's numbers, in PostgreSQL's text form, with the same decimals; as they are if all are short."""
    if not any(text is not None and _is_long(text) for text in texts):
        return list(texts)
    plain = [text for text in texts if text is not None and _is_plain(text)]
    widest = max((len(text.lstrip("-").partition(".")[0]) for text in plain), default=1)
    decimals = max(_LEAST_DECIMALS, SHOWN_DIGITS - widest)
    decimals = min(decimals, max((len(text.partition(".")[2]) for text in plain), default=0))
    return [text if text is None else _shorten(text, decimals) for text in texts]


def _is_plain(text: str) -> bool:
    return text.lstrip("-").replace(".", "", 1).isdigit()


def _is_long(text: str) -> bool:
    mantissa = text.partition("e")[0]
    digits = mantissa.lstrip("-").replace(".", "", 1).lstrip("0")
    return "." in mantissa and digits.isdigit() and len(digits) > SHOWN_DIGITS


def _shorten(text: str, decimals: int) -> str:
    if _is_plain(text):
        number = Decimal(text)
        least = Decimal(1).scaleb(_LEAST_DIGITS - 1 - decimals)
        if number and abs(number) < least:
            return _shorten_small(number)
        return f"{number.quantize(Decimal(1).scaleb(-decimals), context=_CONTEXT):f}"
    mantissa, mark, exponent = text.partition("e")
    if not mark or not _is_long(text):
        return text  # NaN and Infinity too
    return f"{Decimal(mantissa).quantize(Decimal(1).scaleb(1 - SHOWN_DIGITS), context=_CONTEXT):f}e{exponent}"


def _shorten_small(number: Decimal) -> str:
    """Returns the first digits of a number that is near 0."""
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    place = max(exponent, number.adjusted() - (_LEAST_DIGITS - 1))
    return f"{number.quantize(Decimal(1).scaleb(place), context=_CONTEXT):{'e' if place < -_MOST_DECIMALS else 'f'}}"

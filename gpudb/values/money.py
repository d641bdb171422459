"""money, represented as an integer number of cents. Its text is that of PostgreSQL's lc_monetary C.

Source: PostgreSQL 16's cash.c.
"""

from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import InvalidText, NumericOutOfRange
from gpudb.values.numbers import SPACE

_FIRST, _LAST = -(2**63), 2**63 - 1
_DIGITS = 19

_PATTERN = re.compile(
    rf"[{SPACE}]*\$?[{SPACE}]*(?P<sign>[-(+])?[{SPACE}]*\$?[{SPACE}]*"
    rf"(?P<whole>[0-9,]*)(?:\.(?P<cents>(?:,*[0-9]){{0,2}},*))?(?P<rest>[0-9]*)(?P<end>[{SPACE})\-+$]*)",
    re.ASCII,
)


def parse_money(text: str) -> int:
    """Parses `1234.5`, `$1,234.50`, `($3)` or `-2` to cents; further digits are rounded. 22P02, 22003."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        raise InvalidText(f'invalid input syntax for type money: "{text}"')
    dollars, cents = (match[name].replace(",", "") if match[name] else "" for name in ("whole", "cents"))
    magnitude = int((dollars or "0") + cents.ljust(2, "0")) + (match["rest"][:1] >= "5")
    negative = match["sign"] in {"-", "("} or "-" in match["end"]
    value = -magnitude if negative else magnitude
    if not _FIRST <= value <= _LAST:
        raise NumericOutOfRange(f'value "{text}" is out of range for type money')
    return value


def format_money(cents: int) -> str:
    """Formats cents as `-$1,234.50`."""
    dollars, remainder = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}${dollars:,}.{remainder:02d}"


_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen twenty"
).split()
_TENS = " ten twenty thirty forty fifty sixty seventy eighty ninety".split(" ")
_THOUSANDS = ("thousand", "million", "billion", "trillion", "quadrillion")


def spell_money(cents: int) -> str:
    """Returns the amount in English words, in cash_words' spelling including blanks."""
    dollars, rest = divmod(abs(cents), 100)
    words = ""
    for power in range(len(_THOUSANDS), 0, -1):
        if (part := dollars // 1000**power % 1000) != 0:
            words += f"{_spell(part)} {_THOUSANDS[power - 1]} "
    words += _spell(dollars % 1000) if dollars % 1000 else ""
    words = (words or "zero") + (" dollar and " if dollars == 1 else " dollars and ")
    words = ("minus " if cents < 0 else "") + words + _spell(rest) + (" cent" if rest == 1 else " cents")
    return words[0].upper() + words[1:]


def _spell(number: int) -> str:
    """Returns a number below a thousand in words."""
    hundreds, rest = divmod(number, 100)
    if number <= 20:
        return _SMALL[number]
    if not rest:
        return f"{_SMALL[hundreds]} hundred"
    if rest % 10 == 0 and rest > 10:
        last = _TENS[rest // 10]
    elif rest < 20:
        last = f"and {_SMALL[rest]}" if hundreds else _SMALL[rest]
    else:
        last = f"{_TENS[rest // 10]} {_SMALL[rest % 10]}"
    return f"{_SMALL[hundreds]} hundred {last}" if hundreds else last


def format_money_column(column: pa.Array) -> pa.StringArray:
    """Formats a column as PostgreSQL does."""
    return pa.array([None if cents is None else format_money(cents) for cents in column.to_pylist()], pa.string())


def decimal_from_cents(cents: int) -> Decimal:
    """Returns cents as an amount."""
    return Decimal((int(cents < 0), tuple(map(int, str(abs(cents)))), -2))


def decimals_from_cents(column: pa.Array) -> pa.Array:
    """Returns a column of cents as decimal128(19,2)."""
    cents = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
    words = np.empty((len(column), 2), np.int64)
    words[:, 0], words[:, 1] = cents, cents >> 63
    valid = pc.is_valid(column).buffers()[1] if column.null_count else None
    return pa.Array.from_buffers(pa.decimal128(_DIGITS, 2), len(column), [valid, pa.py_buffer(words)])

"""Booleans, integers, floats and numerics: parsed from PostgreSQL's text forms; floats also formatted.

Sources: PostgreSQL 16's bool.c, numutils.c, float.c and numeric.c (input functions).
"""

from __future__ import annotations

import math
import re
import struct
from decimal import ROUND_HALF_UP, Context, Decimal

from gpudb.errors import NUMERIC_OVERFLOW, InvalidText, NumericOutOfRange, SqlError, numeric_overflow
from gpudb.types import MAX_DIGITS, SqlType
from gpudb.types.facts import INTEGER_LIMITS
from gpudb.values.wide_numerics import (
    INFINITY,
    MOST_DECIMALS,
    NAN,
    NEGATIVE_INFINITY,
    apply_modifier,
    describe_field_overflow,
    normalize,
)

SPACE = " \t\n\r\v\f"

_INTEGER = re.compile(r"([+-]?)(?:0[xX]((?:_?[0-9a-fA-F])+)|0[oO]((?:_?[0-7])+)|0[bB]((?:_?[01])+)|(\d(?:_?\d)*))")
_UNSIGNED = re.compile(r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEX_FLOAT = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?\d+)?")
_DIGITS = r"\d(?:_?\d)*"
_NUMERIC = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?", re.ASCII)
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_EXACT = Context(prec=2000, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)


def parse_bool(text: str) -> bool:
    """Parses `t`, `tru`, `yes`, `on`, `1` … in any case; 22P02 for other text."""
    word = text.strip(SPACE).lower()
    if word and ("true".startswith(word) or "yes".startswith(word) or word in {"on", "1"}):
        return True
    if word and ("false".startswith(word) or "no".startswith(word) or word in {"of", "off", "0"}):
        return False
    raise InvalidText(f'invalid input syntax for type boolean: "{text}"')


_PLAIN_DIGITS = 20  # digits of this length need no pattern: most clients send these


def parse_integer(type_: SqlType, text: str) -> int:
    """Parses an int2, int4 or int8 in decimal, hexadecimal, octal or binary; 22P02 or 22003."""
    plain = text.isdigit() and text.isascii() and len(text) < _PLAIN_DIGITS
    value = int(text) if plain else _parse_integer_literal(type_, text)
    least, greatest = INTEGER_LIMITS[type_.name]
    if not least <= value <= greatest:
        raise NumericOutOfRange(f'value "{text}" is out of range for type {type_.plain}')
    return value


def parse_oid(type_: SqlType, text: str) -> int:
    """Parses an oid, xid or cid: unsigned 32 bits in C's notation, `010` is octal, negative numbers wrap. 22P02,
    22003.
    """
    match = _UNSIGNED.fullmatch(text.strip(SPACE))
    if match is None:
        raise InvalidText(f'invalid input syntax for type {type_.plain}: "{text}"')
    sign, *digits = match.groups()
    value = next(int(part[:70], base) for base, part in zip((16, 8, 10), digits) if part is not None)
    value = -value if sign == "-" else value
    if not -(1 << 31) <= value < 1 << 32:
        raise NumericOutOfRange(f'value "{text}" is out of range for type {type_.plain}')
    return value % (1 << 32)


def _parse_integer_literal(type_: SqlType, text: str, most: int | None = 70) -> int:
    """Reads an integer in any notation; one of more than `most` digits is some number beyond all types."""
    match = _INTEGER.fullmatch(text.strip(SPACE))
    if match is None or not text.isascii():
        raise InvalidText(f'invalid input syntax for type {type_.plain}: "{text}"')
    sign, *digits = match.groups()
    value = 0
    for base, part in zip((16, 8, 2, 10), digits):
        if part is None:
            continue
        part = part.replace("_", "").lstrip("0") or "0"
        # longer than any type: the value itself no longer matters
        if base == 10 and most is None:
            value = int(Decimal(part))  # which has no limit of digits
        else:
            value = int(part, base) if most is None or len(part) <= most else 1 << 300
    return -value if sign == "-" else value


def parse_float(type_: SqlType, text: str) -> float:
    """Parses a float8 or float4 (rounded to its own precision); 22P02, or 22003 on overflow and underflow."""
    word = text.strip(SPACE)
    name = word.lower().lstrip("+-")
    if name in _NOT_FINITE and len(word) - len(name) <= 1:
        return -_NOT_FINITE[name] if word[0] == "-" else _NOT_FINITE[name]
    out_of_range = NumericOutOfRange(f'"{word}" is out of range for type {type_.plain}')
    if _HEX_FLOAT.fullmatch(word):
        try:
            value = float.fromhex(word)
        except OverflowError:
            raise out_of_range from None
    elif word.isascii() and _FLOAT.fullmatch(word):
        value = float(word)
    else:
        raise InvalidText(f'invalid input syntax for type {type_.plain}: "{text}"')
    if type_.name == "float4":
        try:
            value = float(struct.unpack("f", struct.pack("f", value))[0])
        except OverflowError:
            raise out_of_range from None
    digits = re.split("[pP]" if "x" in name else "[eE]", name.removeprefix("0x"))[0]
    if math.isinf(value) or (value == 0 and digits.strip("0.")):
        raise out_of_range
    return value


def parse_numeric(type_: SqlType, text: str) -> Decimal:
    """Parses an exact decimal with its written scale, or rounded half away from zero to the type's scale.

    22P02 for invalid text; 22003 if it exceeds the type, or 128 bits unless the type is wide.
    """
    if type_.wide:
        return parse_wide_numeric(type_, text)
    word = text.strip(SPACE)
    if _read_special(word) is not None:
        raise numeric_overflow(finite=False)
    return fit_numeric(type_, _read_finite(word, text))


def parse_wide_numeric(type_: SqlType, text: str) -> Decimal:
    """Parses a numeric of any size, NaN or an infinity, rounded to the type's scale; 22P02, 22003."""
    word = text.strip(SPACE)
    special = _read_special(word)
    if special is not None:
        return apply_modifier(special, type_)
    value = _read_finite(word, text)
    if int(value.as_tuple().exponent) < -MOST_DECIMALS:
        raise NumericOutOfRange(NUMERIC_OVERFLOW)
    return apply_modifier(normalize(value), type_)


def _read_special(word: str) -> Decimal | None:
    return _SPECIAL.get(word.lower())


_SPECIAL = {
    "nan": NAN,
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), INFINITY),
    **dict.fromkeys(("-inf", "-infinity"), NEGATIVE_INFINITY),
}


def _read_finite(word: str, text: str) -> Decimal:
    """Reads a decimal or integer; 22P02, or 22003 beyond PostgreSQL's limits."""
    if re.match("[+-]?0[xXoObB]", word):
        try:
            return Decimal(_parse_integer_literal(SqlType("int8"), text, most=None))
        except InvalidText:
            raise InvalidText(f'invalid input syntax for type numeric: "{text}"') from None
    if not _NUMERIC.fullmatch(word):
        raise InvalidText(f'invalid input syntax for type numeric: "{text}"')
    mantissa, _, exponent = word.replace("_", "").lower().partition("e")
    if len(exponent) > 6:
        if mantissa.strip("+-0.") and not exponent.startswith("-"):
            raise NumericOutOfRange("value overflows numeric format")
        exponent = exponent[:6]
    return Decimal(mantissa + ("e" + exponent if exponent else ""))


def fit_numeric(type_: SqlType, value: Decimal) -> Decimal:
    """Returns the value rounded to the numeric type; 22003 beyond its precision, or 128 bits unless it is wide."""
    if type_.wide:
        return apply_modifier(normalize(value), type_)
    if not value.is_finite():
        raise numeric_overflow(finite=False)
    exponent = int(value.as_tuple().exponent)
    if exponent > 0 or (not value and exponent < -MAX_DIGITS):
        if value and value.adjusted() >= MAX_DIGITS:
            raise _overflow_error()
        value = value.quantize(Decimal(1), context=_EXACT)
    if not value:
        value = value.copy_abs()  # numeric has no negative zero
    if type_.is_carried:
        integer_digits = max(value.adjusted() + 1, 0)
        scale = -int(value.as_tuple().exponent)
        if integer_digits + scale > MAX_DIGITS:
            if (
                integer_digits > MAX_DIGITS
                or value.adjusted() < -MAX_DIGITS
                or _count_significant_digits(value) > MAX_DIGITS
            ):
                raise _overflow_error()
            value = value.quantize(Decimal(1).scaleb(integer_digits - MAX_DIGITS), context=_EXACT)
        return value
    precision, scale = type_.numeric_digits
    if value.adjusted() < precision - scale + 1:
        value = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if value and value.adjusted() >= precision - scale:
        if type_.modifier == -1:
            raise _overflow_error()
        raise NumericOutOfRange("numeric field overflow", detail=describe_field_overflow(precision, scale))
    return value if value else value.copy_abs()


def _count_significant_digits(value: Decimal) -> int:
    return len("".join(map(str, value.as_tuple().digits)).rstrip("0"))


def _overflow_error() -> SqlError:
    return NumericOutOfRange(
        "value overflows numeric format", hint=f"gpudb holds at most {MAX_DIGITS} digits in a numeric."
    )


def format_float8(value: float) -> str:
    """Returns the shortest text that parses to the same double, in PostgreSQL's notation."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    magnitude = abs(value)
    text = repr(value)
    if magnitude == 0 or 1e-4 <= magnitude < 1e15:
        return text.removesuffix(".0")
    if 2.0**53 < magnitude < 1e25:
        text = _shorten(text, value, (math.nextafter(value, -math.inf), math.nextafter(value, math.inf)), 17)
    return _format_scientific(text)


def format_float4(value: float) -> str:
    """Returns the shortest text that parses to the same single-precision float, in PostgreSQL's notation."""
    import numpy as np

    if not math.isfinite(value) or value == 0:
        return format_float8(value)
    single = np.float32(value)
    text = np.format_float_scientific(single, unique=True, trim="-")
    if -4 <= int(text.partition("e")[2]) < 6:
        return np.format_float_positional(single, unique=True, trim="-")
    if 2.0**24 < abs(value) < 1e25:
        neighbours = [float(np.nextafter(single, np.float32(limit))) for limit in (-math.inf, math.inf)]
        text = _shorten(text, float(single), (neighbours[0], neighbours[1]), 9)
    return _format_scientific(text)


def _shorten(text: str, value: float, neighbours: tuple[float, float], max_digits: int) -> str:
    """Returns the shortest digits that are nearer to `value` than halfway to its neighbours.

    Python and numpy also accept digits exactly halfway, PostgreSQL does not; this concerns integers only.
    """
    exact = Decimal(value)
    low, high = ((exact + Decimal(neighbour)) / 2 for neighbour in neighbours)
    if low < Decimal(text) < high:
        return text
    for digits in range(max_digits):
        text = f"{value:.{digits}e}"
        if low < Decimal(text) < high:
            break
    return text


def _format_scientific(text: str) -> str:
    """Returns any spelling of a number as `1.5e+20`, with an exponent of at least two digits."""
    mantissa, _, exponent = (text if "e" in text else f"{Decimal(text):e}").partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent):+03d}"


def format_numeric(value: Decimal) -> str:
    """Formats a numeric in plain notation with all its decimals."""
    if not value.is_finite():
        return "NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"
    return f"{value:f}" if value else f"{value.copy_abs():f}"

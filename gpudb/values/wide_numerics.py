"""The wide form of `numeric`: NaN, infinities and any number of digits, as bytes in the type's order.

A value is a pair: a key of bytes, which is the same for equal values, and the number of decimals that it shows.

    00                                             -Infinity
    40, weight reversed, digits reversed, ff       a negative number
    80                                             0
    c0, weight, digits                             a positive number
    f0                                             Infinity
    ff                                             NaN, which PostgreSQL sorts above all others and takes for equal

The weight is the power of ten of the first digit, in three bytes; the digits are two in a byte (BCD), without zeros at
the end. In Python a value is a Decimal whose exponent is its display scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import NUMERIC_OVERFLOW, NumericOutOfRange, numeric_overflow
from gpudb.types import WIDE_NUMERIC, SqlType

MOST_WHOLE_DIGITS, MOST_DECIMALS = 131_072, 16_383
"""PostgreSQL's limits of digits before and after the point."""


class NotANumber(Decimal):
    """NaN that compares as PostgreSQL's: equal to itself, and above all numbers."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Whether the other is NaN too."""
        return isinstance(other, Decimal) and other.is_nan()

    def __ne__(self, other: object) -> bool:
        """Whether the other is a number."""
        return not self == other

    def __lt__(self, other: object) -> bool:
        """False."""
        return False

    def __le__(self, other: object) -> bool:
        """Whether the other is NaN too."""
        return self == other

    def __gt__(self, other: object) -> bool:
        """Whether the other is a number."""
        return not self == other

    def __ge__(self, other: object) -> bool:
        """True."""
        return True

    def __hash__(self) -> int:
        """The same for all."""
        return hash("NaN")


NAN, INFINITY, NEGATIVE_INFINITY = NotANumber("NaN"), Decimal("Infinity"), Decimal("-Infinity")
EXACT = Context(prec=400_000, rounding=ROUND_HALF_UP, Emax=999_999, Emin=-999_999)
"""Sums, products and rounding of all values."""

_SPECIAL = {b"\x00": NEGATIVE_INFINITY, b"\xf0": INFINITY, b"\xff": NAN}
_SPECIAL_TEXTS = {b"\x00": "-Infinity", b"\xf0": "Infinity", b"\xff": "NaN"}
_ZERO = b"\x80"
_BIAS = 1 << 23
_REVERSED = bytes(0xFE - byte if byte < 0xFF else 0 for byte in range(256))


def encode_numeric(value: Decimal) -> tuple[bytes, int]:
    """Returns a value's key and display scale; 22003 beyond PostgreSQL's limits."""
    if not value.is_finite():
        return (b"\xff" if value.is_nan() else b"\xf0" if value > 0 else b"\x00"), 0
    mantissa, _, power = f"{value:E}".partition("E")
    weight = int(power)
    digits = mantissa.lstrip("-").replace(".", "")
    scale = max(0, len(digits) - 1 - weight)
    digits = digits.rstrip("0")
    if not digits:
        return _ZERO, min(scale, MOST_DECIMALS)
    if weight >= MOST_WHOLE_DIGITS or scale > MOST_DECIMALS:
        raise NumericOutOfRange(NUMERIC_OVERFLOW)
    packed = bytes.fromhex(digits + "0" if len(digits) % 2 else digits)
    if mantissa[0] == "-":
        return b"\x40" + (_BIAS - weight).to_bytes(3) + packed.translate(_REVERSED) + b"\xff", scale
    return b"\xc0" + (_BIAS + weight).to_bytes(3) + packed, scale


def decode_numeric(key: bytes, scale: int) -> Decimal:
    """Returns the value of a key, with its display scale."""
    if key == _ZERO:
        return Decimal(f"0E{-scale}")
    if len(key) == 1:
        return _SPECIAL[key]
    sign, weight = key[0], int.from_bytes(key[1:4])
    if sign == 0x40:
        weight, digits = _BIAS - weight, key[4:-1].translate(_REVERSED).hex()
    else:
        weight, digits = weight - _BIAS, key[4:].hex()
    count = weight + scale + 1
    return Decimal(f"{'-' if sign == 0x40 else ''}{digits.ljust(count, '0')[:count]}E{-scale}")


def format_key(key: bytes, scale: int) -> str:
    """Returns the text of a key's value."""
    return _SPECIAL_TEXTS.get(key) or f"{decode_numeric(key, scale):f}"


def normalize(value: Decimal) -> Decimal:
    """Returns a value as a wide numeric has it: one object for each special value, no negative zero, a scale."""
    if not value.is_finite():
        return NAN if value.is_nan() else INFINITY if value > 0 else NEGATIVE_INFINITY
    if value and value.adjusted() >= MOST_WHOLE_DIGITS:
        raise NumericOutOfRange(NUMERIC_OVERFLOW)
    exponent = int(value.as_tuple().exponent)
    if exponent > 0:
        value = value.quantize(Decimal(1), context=EXACT) if value else Decimal(0)
    elif exponent < -MOST_DECIMALS:
        value = round_to(value, MOST_DECIMALS)
    return value if value else value.copy_abs()


def round_to(value: Decimal, scale: int) -> Decimal:
    """Returns a finite value rounded half away from zero to `scale` decimals, which may be below zero."""
    if scale >= 0:
        return value.quantize(Decimal(1).scaleb(-scale, EXACT), context=EXACT)
    rounded = value.quantize(Decimal(1).scaleb(-scale, EXACT), context=EXACT)
    return rounded.quantize(Decimal(1), context=EXACT) if rounded else Decimal(0)


def scale_of(value: Decimal) -> int:
    """Returns how many decimals a value shows."""
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def apply_modifier(value: Decimal, type_: SqlType) -> Decimal:
    """Returns a value as one of `numeric(precision, scale)`: rounded; 22003 if it does not fit."""
    if type_.modifier == -1 or value.is_nan():
        return value
    precision, scale = type_.numeric_digits
    if not value.is_finite():
        detail = f"A field with precision {precision}, scale {scale} cannot hold an infinite value."
        raise NumericOutOfRange("numeric field overflow", detail=detail)
    rounded = round_to(value, scale)
    if rounded and rounded.adjusted() >= precision - scale:
        raise NumericOutOfRange("numeric field overflow", detail=describe_field_overflow(precision, scale))
    return rounded if rounded else rounded.copy_abs()


def describe_field_overflow(precision: int, scale: int) -> str:
    """Returns the error detail for a value that numeric(precision, scale) cannot represent."""
    limit = f"10^{precision - scale}" if precision - scale else "1"
    return f"A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}."


def narrow_decimal(value: Decimal, precision: int, scale: int) -> str:
    """Returns a value's digits in 128 bits, rounded to a scale; 22003 for one that has no room."""
    if not value.is_finite():
        raise numeric_overflow(finite=False)
    rounded = round_to(value, scale)
    if rounded and rounded.adjusted() >= precision - scale:
        raise numeric_overflow()
    return f"{rounded:f}"


def fits_narrow(value: Decimal, precision: int, scale: int) -> bool:
    """Whether a value fits so many digits of 128 bits, with all decimals that it shows."""
    if not value.is_finite():
        return False
    return scale_of(value) <= scale and (not value or value.adjusted() < precision - scale)


# ---- columns


def encode_column(values: Iterable[Decimal | None], type_: SqlType = WIDE_NUMERIC) -> pa.StructArray:
    """Returns values as a column of a wide numeric; NULL is a NULL struct."""
    pairs = [None if value is None else encode_numeric(value) for value in values]
    keys = pa.array([None if pair is None else pair[0] for pair in pairs], pa.binary())
    scales = pa.array([None if pair is None else pair[1] for pair in pairs], pa.int16())
    mask = keys.is_null() if keys.null_count else None
    return pa.StructArray.from_arrays([keys, scales], fields=list(type_.arrow), mask=mask)


def decode_column(column: pa.StructArray) -> list[Decimal | None]:
    """Returns a column's values; None for NULL."""
    keys, scales = _parts(column)
    return [None if key is None else decode_numeric(key, scale) for key, scale in zip(keys, scales, strict=True)]


def format_column(column: pa.StructArray) -> pa.StringArray:
    """Returns a column's values as text."""
    keys, scales = _parts(column)
    pairs = zip(keys, scales, strict=True)
    return pa.array([None if key is None else format_key(key, scale) for key, scale in pairs], pa.string())


def _parts(column: pa.StructArray) -> tuple[Sequence[bytes | None], Sequence[int]]:
    # NULL may be a NULL struct or one whose key is NULL
    keys, scales = pc.struct_field(column, [0]), pc.struct_field(column, [1])
    return keys.to_pylist(), pc.fill_null(scales, 0).to_pylist()


def is_wide_column(column: pa.Array) -> bool:
    """Whether a column of numerics, or of arrays of them, is in the wide form."""
    kind = column.type
    while pa.types.is_list(kind):
        kind = kind.value_type
    return bool(pa.types.is_struct(kind) and pa.types.is_binary(kind.field(0).type))

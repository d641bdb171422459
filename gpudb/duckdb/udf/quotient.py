"""numeric / numeric as PostgreSQL divides: exact, at a scale that depends on both values (select_div_scale)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, exact_numeric

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry

_RESULT = exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)
_LIMIT = 10**MAX_DIGITS
_SIGNIFICANT = 16
_TENS = [10**power for power in range(2 * MAX_DIGITS + 2)]


def register(registry: FunctionRegistry) -> None:
    """Registers pg_quotient(dividend, divisor, display scale of the operands) → value and display scale."""
    registry.add_columnar("pg_quotient", None, _RESULT.duckdb, _divide_columns)


def _divide_columns(dividends: pa.Array, divisors: pa.Array, shown: pa.Array) -> pa.Array:
    first, second = _scale(dividends), _scale(divisors)
    values: list[int | None] = []
    scales: list[int | None] = []
    for a, b, s in zip(_integers(dividends), _integers(divisors), shown.to_pylist(), strict=True):
        if a is None or b is None:
            values.append(None)
            scales.append(0)
            continue
        value, scale = divide_numeric(a, first, b, second, s)
        values.append(value)
        scales.append(scale)
    return pa.StructArray.from_arrays([_decimals(values), pa.array(scales, pa.int8())], ["v", "s"])


def divide_numeric(a: int, a_scale: int, b: int, b_scale: int, shown: int) -> tuple[int, int]:
    """Returns the quotient as an integer with CARRIED_SCALE decimals, and its display scale."""
    if b == 0:
        raise SqlError.of("division_by_zero", "division by zero")
    negative, a, b = (a < 0) != (b < 0), abs(a), abs(b)
    a_weight, a_digit = _leading_digit(a, a_scale)
    b_weight, b_digit = _leading_digit(b, b_scale)
    weight = a_weight - b_weight - (a_digit <= b_digit)
    scale = max(_SIGNIFICANT - 4 * weight, shown, 0)
    if a == 0:
        return 0, min(scale, MAX_DIGITS)
    scale = min(scale, CARRIED_SCALE)
    power = scale + b_scale - a_scale
    if power >= 0:
        a *= _TENS[power]
    else:
        b *= _TENS[-power]
    value = (2 * a + b) // (2 * b) * _TENS[CARRIED_SCALE - scale]
    if value >= _LIMIT:
        raise NumericOutOfRange("value overflows numeric format")
    return (-value if negative else value), scale


def _leading_digit(value: int, scale: int) -> tuple[int, int]:
    """Returns the power of 10000 of a number's first base-10000 digit, and that digit."""
    if value == 0:
        return 0, 0
    weight = (len(str(value)) - 1 - scale) // 4
    power = scale + 4 * weight
    return weight, value // _TENS[power] if power >= 0 else value * _TENS[-power]


def _scale(column: pa.Array) -> int:
    return int(column.type.scale) if pa.types.is_decimal(column.type) else 0


def _integers(column: pa.Array) -> list[int | None]:
    """Returns the unscaled digits of decimals, or integers unchanged."""
    if not pa.types.is_decimal128(column.type):
        if pa.types.is_decimal(column.type):
            return _integers(column.cast(pa.decimal128(MAX_DIGITS, column.type.scale)))
        found: list[int | None] = column.to_pylist()
        return found
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset :][: 2 * len(column)]
    low, high = words[0::2].view(np.uint64).tolist(), words[1::2].tolist()
    digits: list[int | None] = [(h << 64) + x if h else x for x, h in zip(low, high, strict=True)]
    if column.null_count:
        valid = column.is_valid().to_pylist()
        return [value if is_valid else None for value, is_valid in zip(digits, valid, strict=True)]
    return digits


def _decimals(values: list[int | None]) -> pa.Array:
    """Converts integers to decimals with CARRIED_SCALE decimals."""
    words = np.empty(2 * len(values), np.uint64)
    mask = (1 << 64) - 1
    words[0::2] = [value & mask if value is not None else 0 for value in values]
    words[1::2] = [(value >> 64) & mask if value is not None else 0 for value in values]
    valid = pa.array([value is not None for value in values])
    bitmap = valid.buffers()[1] if any(value is None for value in values) else None
    kind = pa.decimal128(MAX_DIGITS, CARRIED_SCALE)
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(words)])

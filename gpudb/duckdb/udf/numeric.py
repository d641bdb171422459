"""Exact numeric arithmetic whose intermediate results exceed 128 bits; results have up to 38 digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import NumericOutOfRange, SqlError

DIGITS = 38
STORED_SCALE = 20
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)


def register(registry: FunctionRegistry) -> None:
    """Registers wide products, roundings and variances."""
    registry.add_scalar("pg_wide_product", "VARCHAR VARCHAR INTEGER", "VARCHAR", _multiply)
    registry.add_scalar("pg_round_digits", "VARCHAR INTEGER", "VARCHAR", lambda t, n: _round(t, n, ROUND_HALF_UP))
    registry.add_scalar("pg_trunc_digits", "VARCHAR INTEGER", "VARCHAR", lambda t, n: _round(t, n, ROUND_DOWN))
    registry.add_scalar("pg_whole_quotient", "VARCHAR VARCHAR INTEGER", "VARCHAR", _whole_quotient)
    registry.add_scalar("pg_remainder", "VARCHAR VARCHAR INTEGER", "VARCHAR", _remainder)
    registry.add_columnar("pg_variance", "BIGINT VARCHAR VARCHAR INTEGER BOOLEAN BOOLEAN", "VARCHAR", _variance_column)
    registry.add_columnar("pg_variance_of", "VARCHAR[] BOOLEAN BOOLEAN", "VARCHAR", _variance_of_lists)


def _variance_column(*columns: pa.Array) -> pa.Array:
    result: list[str | None] = []
    for count, total, squares, scale, sample, root in zip(*(column.to_pylist() for column in columns)):
        if total is None:
            result.append(None)
        else:
            result.append(variance(count, int(total), int(squares), scale, sample, root))
    return pa.array(result, pa.string())


def _variance_of_lists(*columns: pa.Array) -> pa.Array:
    result: list[str | None] = []
    for texts, sample, root in zip(*(column.to_pylist() for column in columns)):
        values = [Decimal(text) for text in texts or () if text is not None]
        scale = max((max(0, -int(value.as_tuple().exponent)) for value in values), default=0)
        units = [int(value.scaleb(scale, _EXACT)) for value in values]
        squares = sum(unit * unit for unit in units)
        result.append(variance(len(units), sum(units), squares, scale, sample, root) if units else None)
    return pa.array(result, pa.string())


def variance(count: int, total: int, squares: int, scale: int, sample: bool, root: bool) -> str | None:
    """numeric_stddev_internal: (N * sum of squares - sum²) / N², or / (N * (N - 1)); its root at the same scale."""
    if count <= sample:
        return None
    upper = count * squares - total * total
    if upper <= 0:
        return "0"
    lower = count * (count - 1) if sample else count * count
    places = quotient_scale(upper, 2 * scale, lower)
    value = _EXACT.divide(Decimal(upper), Decimal(lower)).scaleb(-2 * scale, _EXACT)
    value = value.quantize(Decimal(1).scaleb(-places), context=_EXACT)
    if root:
        value = _EXACT.sqrt(value)
    format_at_scale(value, STORED_SCALE)
    return format(value.quantize(Decimal(1).scaleb(-places), context=_EXACT), "f")


def quotient_scale(upper: int, scale: int, lower: int) -> int:
    """select_div_scale for upper / 10^scale over an integer, limited to the stored scale."""

    def first(number: int, decimals: int) -> tuple[int, int]:
        weight = (len(str(number)) - 1 - decimals) // 4
        return weight, int(Decimal(number).scaleb(-decimals - 4 * weight, _EXACT))

    (weight, digit), (other, divisor) = first(upper, scale), first(lower, 0)
    return min(STORED_SCALE, max(16 - 4 * (weight - other - (digit <= divisor)), scale, 0))


def _multiply(a: str, b: str, scale: int) -> str:
    """Returns a * b at `scale` decimals, halves rounded away from zero."""
    return format_at_scale(_EXACT.multiply(Decimal(a), Decimal(b)), scale)


def format_at_scale(value: Decimal, scale: int) -> str:
    """Formats a value at `scale` decimals; 22003 beyond 38 digits."""
    result = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if result and result.adjusted() >= DIGITS - scale:
        raise NumericOutOfRange("value overflows numeric format")
    return format(result, "f")


def _whole_quotient(a: str, b: str, scale: int) -> str:
    """Returns a / b, truncated."""
    return format_at_scale(_divide(_EXACT.divide_int, a, b), scale)


def _remainder(a: str, b: str, scale: int) -> str:
    """Returns the remainder of a / b, with the sign of a."""
    return format_at_scale(_divide(_EXACT.remainder, a, b), scale)


def _divide(operation: Callable[[Decimal, Decimal], Decimal], a: str, b: str) -> Decimal:
    divisor = Decimal(b)
    if not divisor:
        raise SqlError.of("division_by_zero", "division by zero")
    return operation(Decimal(a), divisor)


def _round(text: str, places: int, rounding: str) -> str:
    value = Decimal(text)
    if -places > DIGITS:
        return "0"
    result = value.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=_EXACT)
    return format_at_scale(result, max(places, 0))

"""Exact numeric arithmetic whose intermediate results exceed 128 bits; results have up to 38 digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError, numeric_overflow

DIGITS = 38
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)


def register(registry: FunctionRegistry) -> None:
    """Registers wide products, quotients and remainders."""
    registry.add_scalar("pg_wide_product", "VARCHAR VARCHAR INTEGER BOOLEAN", "VARCHAR", _multiply)
    registry.add_scalar("pg_whole_quotient", "VARCHAR VARCHAR INTEGER", "VARCHAR", _whole_quotient)
    registry.add_scalar("pg_remainder", "VARCHAR VARCHAR INTEGER", "VARCHAR", _remainder)


def _multiply(a: str, b: str, scale: int, rounds: bool) -> str:
    """Returns a * b at `scale` decimals; 22003 if a decimal that it drops is not zero.

    One that `rounds` drops those of a product of more than 38 decimals, for which no layout has room.
    """
    product = _EXACT.multiply(Decimal(a), Decimal(b))
    text = format_at_scale(product, scale)
    if Decimal(text) != product:
        decimals = -int(product.normalize(_EXACT).as_tuple().exponent)
        if not rounds or decimals <= DIGITS:
            raise numeric_overflow(lost=True)
    return text


def format_at_scale(value: Decimal, scale: int) -> str:
    """Formats a value at `scale` decimals; 22003 beyond 38 digits."""
    result = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if result and result.adjusted() >= DIGITS - scale:
        raise numeric_overflow()
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

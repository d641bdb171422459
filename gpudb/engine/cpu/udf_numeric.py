"""Exact numeric arithmetic beyond what 128 bits take on the way to a result of 38 digits."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

from gpudb.engine.cpu.udfs import Registry
from gpudb.errors import NumericOutOfRange, SqlError

DIGITS = 38
HELD_SCALE = 20
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)


def register(registry: Registry) -> None:
    """Adds wide quotients and products."""
    registry.scalar("pg_wide_quotient", "VARCHAR VARCHAR INTEGER INTEGER", "VARCHAR", _quotient)
    registry.scalar("pg_wide_product", "VARCHAR VARCHAR INTEGER", "VARCHAR", _product)


def _quotient(a: str, b: str, shift: int, scale: int) -> str:
    """a / b * 10^shift at `scale` decimals, halves away from zero."""
    left, right = int(a), int(b)
    if right == 0:
        raise SqlError.of("division_by_zero", "division by zero")
    up, down = 10 ** max(shift + scale, 0), 10 ** max(-shift - scale, 0)
    whole, rest = divmod(abs(left) * up, abs(right) * down)
    whole += 2 * rest >= abs(right) * down
    return fitted(Decimal(whole if (left < 0) == (right < 0) else -whole).scaleb(-scale, _EXACT), HELD_SCALE)


def _product(a: str, b: str, scale: int) -> str:
    """a * b at `scale` decimals, halves away from zero."""
    return fitted(_EXACT.multiply(Decimal(a), Decimal(b)), scale)


def fitted(value: Decimal, scale: int) -> str:
    """A value's digits at `scale` decimals; 22003 beyond 38."""
    made = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if made and made.adjusted() >= DIGITS - scale:
        raise NumericOutOfRange("value overflows numeric format")
    return format(made, "f")

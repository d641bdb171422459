"""Mathematical functions that DuckDB lacks: roots, powers and logarithms of numeric (numeric.c)."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Any

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import numeric_overflow
from gpudb.values import numeric_powers
from gpudb.values.wide_numerics import scale_of

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)
_DIGITS = 38
_OF_ONE: dict[str, Callable[[Decimal], Decimal]] = {
    "sqrt": numeric_powers.square_root,
    "exp": numeric_powers.exponential,
    "ln": numeric_powers.logarithm,
    "log10": numeric_powers.decimal_logarithm,
}
_OF_TWO: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "power": numeric_powers.power,
    "log": numeric_powers.logarithm_to_base,
    "gcd": numeric_powers.greatest_divisor,
    "lcm": numeric_powers.least_multiple,
}


def register(registry: FunctionRegistry) -> None:
    """Registers the functions.

    A numeric is passed as text that keeps its display scale; behind the operands is the most decimals of the result.
    """
    for name, one in _OF_ONE.items():
        registry.add_scalar(f"pg_numeric_{name}", "VARCHAR INTEGER", "VARCHAR", _narrow(one))
    registry.add_scalar("pg_numeric_trim", "VARCHAR", "VARCHAR", _trim)
    for name, two in _OF_TWO.items():
        registry.add_scalar(f"pg_numeric_{name}", "VARCHAR VARCHAR INTEGER", "VARCHAR", _narrow(two))
    registry.add_scalar("pg_erf", "DOUBLE", "DOUBLE", math.erf)
    registry.add_scalar("pg_erfc", "DOUBLE", "DOUBLE", math.erfc)
    registry.add_scalar("pg_bit_count", "BLOB", "BIGINT", lambda b: int.from_bytes(b).bit_count())


# ---------------------------------------------------------------------------------------------- numeric


@cache
def _unit(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def _round(value: Decimal, most: int) -> str:
    """Returns a value at its display scale, of at most 38 decimals; 22003 unless it has `most` decimals at most."""
    scale = scale_of(value)
    if value and value.adjusted() >= _DIGITS - most:
        raise numeric_overflow()
    if scale == numeric_powers.MOST_SHOWN:
        raise numeric_overflow(lost=True)
    if scale <= min(most, _DIGITS):
        return format(value if value else value.copy_abs(), "f")
    if _EXACT.remainder(value.scaleb(most, _EXACT), Decimal(1)):
        raise numeric_overflow(lost=True)
    # zeros at its end are not shown where they have no room
    result = value.quantize(_unit(min(scale, _DIGITS)), context=_EXACT)
    return format(result if result else result.copy_abs(), "f")


def _narrow(function: Callable[..., Decimal]) -> Callable[..., str]:
    """Returns a function of texts, whose last operand is the most decimals of its result."""

    def run(*operands: Any) -> str:
        values = [Decimal(text) for text in operands[:-1]]
        return _round(function(*values), operands[-1])

    return run


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text

"""Roots, powers, exponentials, logarithms, angles and buckets of floats, with PostgreSQL's errors.

The last digit depends on the machine: a GPU's library and the host's round some results differently, as two hosts'
libraries do. Functions that users expect to return whole numbers stay on the host: logarithms to base 10, cube roots,
angles in degrees.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from operator import methodcaller

import polars as pl

from gpudb.engine.gpu.lower.error_codes import (
    BUCKET,
    COMPLEX_POWER,
    INPUT,
    NEGATIVE_LOGARITHM,
    OVERFLOW,
    ROOT,
    UNDERFLOW,
    ZERO_LOGARITHM,
    ZERO_POWER,
    Error,
    error_if,
    first_error,
)
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Value, minimum
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import SqlType

RADIANS_PER_DEGREE = 0.0174532925199432957692
Made = Callable[[pl.Expr], pl.Expr]


def _declare(names: str, result: Made, *domain: tuple[Made, int]) -> None:
    """Declares a function of one float; each `domain` entry is a predicate of invalid values, and the error code."""

    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        value = args[0].expr.cast(pl.Float64)
        error: Error = first_error(*(error_if(outside(value), code) for outside, code in domain))
        for outside, _code in domain:
            value = pl.when(outside(value)).then(None).otherwise(value)
        return Value(kind, result(value), error)


def _beyond_one(value: pl.Expr) -> pl.Expr:
    return (value.abs() > 1) & value.is_not_nan()


_declare("sqrt(float8) dsqrt", methodcaller("sqrt"), (lambda value: value < 0, ROOT))
_declare(
    "ln(float8) dlog1",
    methodcaller("log"),
    (lambda value: value == 0, ZERO_LOGARITHM),
    (lambda value: value < 0, NEGATIVE_LOGARITHM),
)
for _name in ("sin", "cos", "tan"):
    _declare(_name, methodcaller(_name), (methodcaller("is_infinite"), INPUT))
for _name in ("asin", "acos"):
    _declare(_name, methodcaller(f"arc{_name[1:]}"), (_beyond_one, INPUT))
_declare("atan", methodcaller("arctan"))
for _name in ("sinh", "cosh", "tanh"):
    _declare(_name, methodcaller(_name))
_declare("asinh", methodcaller("arcsinh"))
_declare("acosh", methodcaller("arccosh"), (lambda value: value < 1, INPUT))
_declare("atanh", methodcaller("arctanh"), (_beyond_one, INPUT))


def _check_result(result: pl.Expr, kind: SqlType, finite: pl.Expr, nonzero: pl.Expr) -> Value:
    """Returns a result with overflow for finite operands, and underflow for `nonzero` ones, as errors."""
    over, under = error_if(result.is_infinite() & finite, OVERFLOW), error_if((result == 0) & nonzero, UNDERFLOW)
    return Value(kind, result, first_error(over, under))


@lowers("exp(float8) dexp")
def _exponential(args: tuple[Value, ...], kind: SqlType) -> Value:
    value = args[0].expr.cast(pl.Float64)
    return _check_result(value.exp(), kind, value.is_finite(), value.is_finite())


@lowers("radians")
def _radians(args: tuple[Value, ...], kind: SqlType) -> Value:
    value = args[0].expr.cast(pl.Float64)
    return _check_result(value * RADIANS_PER_DEGREE, kind, value.is_finite(), value != 0)


@lowers("degrees")
def _degrees(args: tuple[Value, ...], kind: SqlType) -> Value:
    value = args[0].expr.cast(pl.Float64)
    return _check_result(value / RADIANS_PER_DEGREE, kind, value.is_finite(), value != 0)


@lowers("power(float8,float8) pow(float8,float8) dpow")
def _power(args: tuple[Value, ...], kind: SqlType) -> Value:
    base, exponent = (each.expr.cast(pl.Float64) for each in args)
    undefined = (base == 0) & (exponent < 0)
    unreal = (base < 0) & exponent.is_finite() & (exponent != exponent.floor())
    errors = first_error(error_if(undefined, ZERO_POWER), error_if(unreal, COMPLEX_POWER))
    kept = pl.when(undefined | unreal).then(None).otherwise(base)
    finite = base.is_finite() & exponent.is_finite()
    result = _check_result(kept.pow(exponent), kind, finite, finite & (base != 0))
    return result.with_error(first_error(errors, result.error))


@lowers("width_bucket(float8,float8,float8,int4)")
def _bucket(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Lowers width_bucket between constant bounds, which may descend; the host raises the errors of invalid ones."""
    if not all(each.constant for each in args[1:]):
        raise NotSupportedOnWorkers("width_bucket between bounds that are not constant")
    low, high, count = (pl.select(each.expr).item() for each in args[1:])
    if None in (low, high, count) or not isfinite(high - low) or high == low or not 0 < count < 2**31 - 1:
        raise NotSupportedOnWorkers("width_bucket between these bounds")
    value = args[0].expr.cast(pl.Float64)
    before, beyond = (value < low, value >= high) if low < high else (value > low, value <= high)
    inside = pl.when(before | beyond | value.is_nan()).then(None).otherwise((value - low) / (high - low) * count)
    place = minimum(inside.cast(pl.Int32), pl.lit(count - 1, pl.Int32)) + 1
    result = pl.when(before).then(0).when(beyond).then(count + 1).when(inside.is_null()).then(None).otherwise(place)
    return Value(kind, result.cast(pl.Int32), error_if(value.is_nan(), BUCKET), (0, count + 1))

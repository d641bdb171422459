"""Rounding of numerics and floats, and numerics' sign and remainder."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from gpudb.engine.gpu.lower.error_codes import DIVISION, error_if
from gpudb.engine.gpu.lower.functions.numeric import numeric_result, rescale, round_to_scale
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import MAX_INT64, Bounds, Value
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import MAX_DIGITS, SqlType

Rounding = Callable[[Value, int], tuple[pl.Expr, Bounds]]
"""From a numeric and a smaller scale, which may be negative, to digits and their bounds."""


def _parts(value: Value, factor: int) -> tuple[pl.Expr, pl.Expr, Bounds]:
    """Returns the digits, the absolute value divided by `factor`, and its bounds."""
    limits = value.limits
    wide = limits is None or max(-limits[0], limits[1], factor) > MAX_INT64
    expr = value.expr.cast(pl.Int128 if wide else pl.Int64)
    bounds = (-(max(-limits[0], 0) // factor) - 1, max(limits[1], 0) // factor + 1) if limits else None
    return expr, expr.abs() // factor, bounds


def _towards_zero(value: Value, scale: int) -> tuple[pl.Expr, Bounds]:
    expr, size, bounds = _parts(value, 10 ** (value.scale - scale))
    return pl.when(expr < 0).then(0 - size).otherwise(size), bounds


def _up(value: Value, scale: int) -> tuple[pl.Expr, Bounds]:
    factor = 10 ** (value.scale - scale)
    expr, size, bounds = _parts(value, factor)
    more = size + pl.when(size * factor == expr.abs()).then(0).otherwise(1)
    return pl.when(expr < 0).then(0 - size).otherwise(more), bounds


def _down(value: Value, scale: int) -> tuple[pl.Expr, Bounds]:
    factor = 10 ** (value.scale - scale)
    expr, size, bounds = _parts(value, factor)
    more = size + pl.when(size * factor == expr.abs()).then(0).otherwise(1)
    return pl.when(expr < 0).then(0 - more).otherwise(size), bounds


def _round(value: Value, places: int, kind: SqlType, rounding: Rounding) -> Value:
    """Rounds a numeric to at most `places` decimals, at the result type's scale."""
    if kind.is_carried:
        raise NotSupportedOnWorkers("rounding to a scale that is not constant")
    scale = kind.numeric_digits[1]
    # A value with no more decimals is unchanged.
    result, bounds = rounding(value, places) if places < value.scale else rescale(value, value.scale)
    if scale < min(places, value.scale):
        raise NotSupportedOnWorkers("rounding to a larger scale than its type's")
    factor = 10 ** (scale - min(places, value.scale))
    if bounds is not None and max(-bounds[0], bounds[1]) * factor <= MAX_INT64:
        return Value(kind, result * factor if factor > 1 else result, None, (bounds[0] * factor, bounds[1] * factor))
    whole = None if bounds is None else (bounds[0] * factor, bounds[1] * factor)
    wide = result.cast(pl.Int128) * factor if factor > 1 else result.cast(pl.Int128)
    return numeric_result(wide, result.cast(pl.Float64) * float(factor), kind, whole)


def _declare_rounding(names: str, rounding: Rounding) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        places: int | None = 0
        if len(args) > 1:
            places = pl.select(args[1].expr).item() if args[1].constant else None
        if places is None or abs(places) >= MAX_DIGITS:
            raise NotSupportedOnWorkers("rounding to a scale that is not constant")
        return _round(args[0], places, kind, rounding)


_declare_rounding("round(numeric) round(numeric,int4)", round_to_scale)
_declare_rounding("trunc(numeric) trunc(numeric,int4)", _towards_zero)
_declare_rounding("ceil(numeric) ceiling(numeric)", _up)
_declare_rounding("floor(numeric)", _down)


@lowers("sign(numeric)")
def _sign(args: tuple[Value, ...], kind: SqlType) -> Value:
    value = args[0].expr
    result = pl.when(value > 0).then(1).when(value < 0).then(-1).when(value == 0).then(0).otherwise(None)
    return Value(kind, result.cast(pl.Int64), None, (-1, 1))


@lowers("numeric_mod mod(numeric,numeric)")
def _remainder(args: tuple[Value, ...], kind: SqlType) -> Value:
    """The remainder of truncating division, with the sign of the dividend."""
    if kind.is_carried or any(each.type.is_carried for each in args):
        raise NotSupportedOnWorkers("a remainder of numerics of varying scale")
    (a, limits), (b, others) = (rescale(each, kind.numeric_digits[1]) for each in args)
    if any(each is None or max(-each[0], each[1]) > MAX_INT64 for each in (limits, others)):
        raise NotSupportedOnWorkers("a remainder of more than 64 bits")
    assert others is not None
    a, b = a.cast(pl.Int64), b.cast(pl.Int64)
    size = pl.when(b == 0).then(None).otherwise(b.abs())
    rest = a.abs() - a.abs() // size * size
    most = max(-others[0], others[1])
    error = None if args[1].constant and others != (0, 0) else error_if((b == 0) & a.is_not_null(), DIVISION)
    return Value(kind, pl.when(a < 0).then(0 - rest).otherwise(rest), error, (-most, most))


def _declare_float(names: str, result: Callable[[pl.Expr], pl.Expr]) -> None:
    @lowers(names)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        return Value(kind, result(args[0].expr.cast(pl.Float64)))


_declare_float("ceil(float8) ceiling(float8)", lambda value: value.ceil())
_declare_float("floor(float8)", lambda value: value.floor())
_declare_float("round(float8)", lambda value: value.round(0, mode="half_to_even"))
_declare_float("trunc(float8)", lambda value: pl.when(value < 0).then(value.ceil()).otherwise(value.floor()))


@lowers("sign(float8)")
def _float_sign(args: tuple[Value, ...], kind: SqlType) -> Value:
    """The sign of a float; 0 for NaN too."""
    value = args[0].expr
    nothing = value.is_nan() | (value == 0)
    signs = pl.when(nothing).then(0.0).when(value > 0).then(1.0).when(value < 0).then(-1.0)
    return Value(kind, signs.otherwise(None))

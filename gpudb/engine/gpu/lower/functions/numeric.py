"""Exact arithmetic on unscaled numerics: in 64 bits if bounds prove them sufficient, else in 128."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.error_codes import FORMAT, NUMERIC, Error, error_if
from gpudb.engine.gpu.lower.functions.arithmetic import result_bounds
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import MAX_INT64, Bounds, Value, maximum, minimum
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import MAX_DIGITS, SqlType

_LIMIT = 10**MAX_DIGITS


def rescale(value: Value, scale: int, *, wide: bool | None = None) -> tuple[pl.Expr, Bounds]:
    """Rescales an integer or numeric to at least as many decimals as it has; returns digits and bounds."""
    factor = 10 ** (scale - value.scale)
    limits = value.limits
    bounds = (limits[0] * factor, limits[1] * factor) if limits else None
    if wide is None:
        wide = bounds is None or max(-bounds[0], bounds[1], factor) > MAX_INT64
    expr = value.expr.cast(pl.Int128 if wide else pl.Int64)
    return (expr * factor if factor > 1 else expr), bounds


def rescale_checked(value: Value, kind: SqlType, code: int = FORMAT) -> tuple[pl.Expr, Bounds, Error]:
    """Rescales an integer or numeric to the scale of a type with at least as many decimals.

    Returns digits, bounds and error: NULL and the code where the type's precision is exceeded.
    """
    precision, scale = kind.numeric_digits
    limit = 10**precision - 1
    expr, bounds = rescale(value, scale)
    if bounds is not None and -limit <= bounds[0] and bounds[1] <= limit:
        return expr, bounds, None
    # Checked before scaling, which may overflow 128 bits.
    edge = limit // 10 ** (scale - value.scale)
    overflows = (value.expr > edge) | (value.expr < -edge)
    return pl.when(overflows).then(None).otherwise(expr), (-limit, limit), error_if(overflows, code)


def rescale_for_comparison(value: Value, scale: int) -> pl.Expr:
    """Rescales an integer or numeric for comparison; values beyond 38 digits compare beyond all others."""
    expr, bounds = rescale(value, scale)
    if bounds is not None and max(-bounds[0], bounds[1]) < _LIMIT:
        return expr
    factor = 10 ** (scale - value.scale)
    edge = (_LIMIT - 1) // factor
    above, below = (pl.lit(digits, pl.Int128) for digits in (edge + 1, -edge - 1))
    bound = pl.when(value.expr > 0).then(above).otherwise(below)
    return pl.when((value.expr > edge) | (value.expr < -edge)).then(bound * factor).otherwise(expr)


def numeric_result(
    expr: pl.Expr, size: pl.Expr, kind: SqlType, bounds: Bounds, others: tuple[tuple[str, pl.Expr], ...] = ()
) -> Value:
    """Returns a numeric result: 22003 beyond 38 digits, unless its bounds rule that out.

    `size` is the result in floating point, which detects an overflow of 128 bits.
    """
    if bounds is not None and max(-bounds[0], bounds[1]) < _LIMIT:
        return Value(kind, expr, None, bounds, others)
    overflows = size.abs() >= float(_LIMIT)
    safe = pl.when(overflows).then(None).otherwise(expr)
    return Value(kind, safe, error_if(overflows, FORMAT), (1 - _LIMIT, _LIMIT - 1), others)


def _scale_column(kind: SqlType, result: Callable[[], pl.Expr]) -> tuple[tuple[str, pl.Expr], ...]:
    return (("s", result()),) if kind.is_carried else ()


def _declare_sum(name: str, op: Callable[[Any, Any], Any]) -> None:
    @lowers(name)
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        scale = kind.numeric_digits[1]
        (_, a), (_, b) = (rescale(each, scale) for each in args)
        found = [op(x, y) for x in a or () for y in b or ()]
        bounds = _narrow_bounds((min(found), max(found)), kind)
        wide = max(-bounds[0], bounds[1], *(abs(x) for x in (*(a or ()), *(b or ())))) > MAX_INT64
        left, right = (rescale(each, scale, wide=wide)[0] for each in args)
        # From unscaled operands, as scaled ones may overflow 128 bits; the sum of the wrapped values is correct
        # nevertheless.
        sizes = [each.expr.cast(pl.Float64) * float(10 ** (scale - each.scale)) for each in args]
        shown = _scale_column(kind, lambda: maximum(args[0].display_scale, args[1].display_scale))
        return numeric_result(op(left, right), op(*sizes), kind, bounds, shown)


def _narrow_bounds(bounds: tuple[int, int], kind: SqlType) -> tuple[int, int]:
    """Narrows bounds to those of the type's precision, which hold for every value that is not an error."""
    limit = 10 ** kind.numeric_digits[0] - 1
    if kind.numeric_digits[0] == MAX_DIGITS:
        return bounds
    return max(bounds[0], -limit), min(bounds[1], limit)


_declare_sum("numeric_add", operator.add)
_declare_sum("numeric_sub", operator.sub)


@lowers("numeric_mul")
def _multiply(args: tuple[Value, ...], kind: SqlType) -> Value:
    left, right = args
    if left.scale + right.scale != kind.numeric_digits[1]:
        raise NotSupportedOnWorkers("a product of more than 38 decimal digits")
    bounds = result_bounds(left, right, operator.mul)
    assert bounds is not None
    wide = max(-bounds[0], bounds[1]) > MAX_INT64 or left.is_wide or right.is_wide
    a, b = (each.expr.cast(pl.Int128 if wide else pl.Int64) for each in args)
    limit = kind.numeric_digits[1]
    shown = _scale_column(
        kind, lambda: minimum((left.display_scale + right.display_scale).cast(pl.Int8), pl.lit(limit, pl.Int8))
    )
    return numeric_result(a * b, a.cast(pl.Float64) * b.cast(pl.Float64), kind, bounds, shown)


@lowers("numeric_uminus")
def _minus(args: tuple[Value, ...], kind: SqlType) -> Value:
    limits = args[0].limits
    assert limits is not None
    return Value(kind, 0 - args[0].expr, None, (-limits[1], -limits[0]), args[0].others)


@lowers("numeric_abs abs(numeric)")
def _absolute(args: tuple[Value, ...], kind: SqlType) -> Value:
    limits = args[0].limits
    assert limits is not None
    return Value(kind, args[0].expr.abs(), None, (0, max(-limits[0], limits[1])), args[0].others)


def round_to_scale(value: Value, scale: int) -> tuple[pl.Expr, Bounds]:
    """Rounds to fewer decimals, half away from zero."""
    factor = 10 ** (value.scale - scale)
    limits = value.limits
    wide = limits is None or max(-limits[0], limits[1]) + factor > MAX_INT64
    expr = value.expr.cast(pl.Int128 if wide else pl.Int64)
    half = factor // 2
    size = (expr.abs() + half) // factor
    bounds = (-((-limits[0] + half) // factor) - 1, (limits[1] + half) // factor + 1) if limits else None
    return pl.when(expr < 0).then(0 - size).otherwise(size), bounds


def to_numeric(value: Value, kind: SqlType) -> Value:
    """Casts an integer or numeric to another numeric type: rounds, and 22003 if the declared precision is exceeded."""
    precision, scale = kind.numeric_digits
    code = FORMAT if kind.modifier == -1 else NUMERIC
    if kind.is_carried and value.type.is_carried and value.type.numeric_digits == kind.numeric_digits:
        return Value(kind, value.expr, None, value.bounds, value.others)
    if kind.is_carried and scale < value.scale:
        raise NotSupportedOnWorkers("a numeric whose decimals may have no room")
    others = _scale_column(kind, lambda: minimum(value.display_scale, pl.lit(scale, pl.Int8)))
    if scale >= value.scale:
        expr, bounds, error = rescale_checked(value, kind, code)
        return Value(kind, expr, error, bounds, others)
    expr, bounds = round_to_scale(value, scale)
    limit = 10**precision - 1
    if bounds is not None and -limit <= bounds[0] and bounds[1] <= limit:
        return Value(kind, expr, None, bounds, others)
    error = error_if((expr > limit) | (expr < -limit), code)
    safe = pl.when((expr <= limit) & (expr >= -limit)).then(expr).otherwise(None)
    return Value(kind, safe, error, (-limit, limit), others)

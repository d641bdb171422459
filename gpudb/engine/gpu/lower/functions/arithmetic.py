"""Arithmetic on integers and floats: 22003 beyond the range of PostgreSQL's type, unless bounds rule that out."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.error_codes import (
    DIVISION,
    OUT_OF_RANGE,
    OVERFLOW,
    UNDERFLOW,
    error_if,
    first_error,
)
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Bounds, Value, divide, type_bounds
from gpudb.types import SqlType
from gpudb.types.facts import INTEGER_LIMITS

_FAMILIES = "int2{0} int4{0} int8{0} int24{0} int42{0} int28{0} int82{0} int48{0} int84{0}"
_FLOATS = "float4{0} float8{0} float48{0} float84{0}"
INTEGER_DTYPES = {"int2": pl.Int16, "int4": pl.Int32, "int8": pl.Int64}


def integer_result(expr: pl.Expr, kind: SqlType, bounds: Bounds) -> Value:
    """Returns an integer result computed in sufficient width; checks its range unless `bounds` prove it."""
    low, high = INTEGER_LIMITS[kind.name]
    if bounds is not None and low <= bounds[0] and bounds[1] <= high:
        return Value(kind, expr.cast(INTEGER_DTYPES[kind.name]), None, bounds)
    error = error_if((expr < low) | (expr > high), OUT_OF_RANGE[kind.name])
    safe = pl.when((expr >= low) & (expr <= high)).then(expr).otherwise(None)
    return Value(kind, safe.cast(INTEGER_DTYPES[kind.name]), error, (low, high))


def result_bounds(left: Value, right: Value, op: Callable[[int, int], int]) -> Bounds:
    """Returns the bounds of a sum, difference or product from its operands' bounds."""
    a, b = left.limits, right.limits
    if a is None or b is None:
        return None
    found = [op(x, y) for x in a for y in b]
    return min(found), max(found)


def widen_operands(bounds: Bounds, *values: Value) -> list[pl.Expr]:
    """Casts the operands to the width that a result within `bounds` needs."""
    wide = bounds is None or max(-bounds[0], bounds[1]) > INTEGER_LIMITS["int8"][1]
    return [each.expr.cast(pl.Int128 if wide else pl.Int64) for each in values]


def _declare_integers(suffix: str, op: Callable[[Any, Any], Any]) -> None:
    @lowers(_FAMILIES.format(suffix))
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        bounds = result_bounds(args[0], args[1], op)
        left, right = widen_operands(bounds, *args)
        return integer_result(op(left, right), kind, bounds)


_declare_integers("pl", operator.add)
_declare_integers("mi", operator.sub)
_declare_integers("mul", operator.mul)


def truncating_divide(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Truncating integer division; NULL for a divisor of 0."""
    safe = pl.when(right == 0).then(None).otherwise(right)
    floor = left // safe
    exact = floor * safe == left
    return pl.when(exact | ((left < 0) == (safe < 0))).then(floor).otherwise(floor + 1)


@lowers(_FAMILIES.format("div"))
def _divide(args: tuple[Value, ...], kind: SqlType) -> Value:
    left, right = args
    known = right.constant and right.bounds is not None and right.bounds[0] not in {0, -1}
    limits = left.limits
    a, b = widen_operands(None if not known and kind.name == "int8" else (0, 0), left, right)
    plain = known and right.bounds is not None and right.bounds[0] > 0 and limits is not None and limits[0] >= 0
    result = integer_result(
        a // b if plain else truncating_divide(a, b),
        kind,
        (min(limits[0], 0), max(limits[1], 0)) if known and limits else None,
    )
    return (
        result
        if known
        else result.with_error(first_error(result.error, error_if((b == 0) & a.is_not_null(), DIVISION)))
    )


@lowers("int2mod int4mod int8mod mod(int2,int2) mod(int4,int4) mod(int8,int8)")
def _modulo(args: tuple[Value, ...], kind: SqlType) -> Value:
    a, b = widen_operands((0, 0), *args)
    # The least bigint divided by -1 overflows; its remainder does not.
    safe = pl.when(b == -1).then(pl.lit(1, pl.Int64)).otherwise(b)
    rest = a - truncating_divide(a, safe) * safe
    error = None if args[1].constant and args[1].bounds != (0, 0) else error_if((b == 0) & a.is_not_null(), DIVISION)
    return Value(kind, rest.cast(INTEGER_DTYPES[kind.name]), error, _modulo_bounds(*args) or type_bounds(kind))


def _modulo_bounds(left: Value, right: Value) -> Bounds:
    """A remainder has the sign of the dividend, and is nearer to 0 than the divisor."""
    a, b = left.limits, right.limits
    if a is None or b is None:
        return None
    most = max(abs(b[0]), abs(b[1]), 1) - 1
    return max(-most, min(a[0], 0)), min(most, max(a[1], 0))


@lowers("int2um int4um int8um")
def _minus(args: tuple[Value, ...], kind: SqlType) -> Value:
    limits = args[0].limits
    bounds = (-limits[1], -limits[0]) if limits else None
    (a,) = widen_operands(bounds, args[0])
    return integer_result(0 - a, kind, bounds)


@lowers("int2up int4up int8up float4up float8up numeric_uplus")
def _plus(args: tuple[Value, ...], kind: SqlType) -> Value:
    return args[0]


@lowers("int2abs int4abs int8abs abs(int2) abs(int4) abs(int8)")
def _absolute(args: tuple[Value, ...], kind: SqlType) -> Value:
    limits = args[0].limits
    bounds = (0, max(-limits[0], limits[1])) if limits else None
    (a,) = widen_operands(bounds, args[0])
    return integer_result(a.abs(), kind, bounds)


def _declare_bits(name: str, op: Callable[[Any, Any], Any]) -> None:
    @lowers(f"int2{name} int4{name} int8{name}")
    def _(args: tuple[Value, ...], kind: SqlType) -> Value:
        bounds = _mask_bounds(*args) if name == "and" else None
        return Value(kind, op(args[0].expr, args[1].expr), None, bounds or type_bounds(kind))


def _mask_bounds(left: Value, right: Value) -> Bounds:
    """The common bits of two integers are at most either one that is not negative."""
    found = (each.limits for each in (left, right))
    most = [bounds[1] for bounds in found if bounds is not None and bounds[0] >= 0]
    return (0, min(most)) if most else None


_declare_bits("and", operator.and_)
_declare_bits("or", operator.or_)
_declare_bits("xor", operator.xor)


@lowers("int2not int4not int8not")
def _complement(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, (-1 - args[0].expr.cast(pl.Int64)).cast(INTEGER_DTYPES[kind.name]), None, type_bounds(kind))


# -------------------------------------------------------------------------------------------- floats


def _float_result(expr: pl.Expr, kind: SqlType, *operands: pl.Expr) -> Value:
    """Returns a float result: 22003 if finite operands give infinity."""
    result = expr.cast(pl.Float32) if kind.name == "float4" else expr
    finite = operands[0].is_finite()
    for each in operands[1:]:
        finite = finite & each.is_finite()
    return Value(kind, result, error_if(result.is_infinite() & finite, OVERFLOW))


def _doubles(args: tuple[Value, ...]) -> list[pl.Expr]:
    return [each.expr.cast(pl.Float64) for each in args]


@lowers(_FLOATS.format("pl"))
def _float_add(args: tuple[Value, ...], kind: SqlType) -> Value:
    a, b = _doubles(args)
    return _float_result(a + b, kind, a, b)


@lowers(_FLOATS.format("mi"))
def _float_subtract(args: tuple[Value, ...], kind: SqlType) -> Value:
    a, b = _doubles(args)
    return _float_result(a - b, kind, a, b)


@lowers(_FLOATS.format("mul"))
def _float_multiply(args: tuple[Value, ...], kind: SqlType) -> Value:
    a, b = _doubles(args)
    result = _float_result(a * b, kind, a, b)
    return result.with_error(first_error(result.error, error_if((result.expr == 0) & (a != 0) & (b != 0), UNDERFLOW)))


@lowers(_FLOATS.format("div"))
def _float_divide(args: tuple[Value, ...], kind: SqlType) -> Value:
    a, b = _doubles(args)
    result = _float_result(divide(a, b), kind, a)
    zero = error_if((b == 0) & ~a.is_nan(), DIVISION)
    under = error_if((result.expr == 0) & (a != 0) & b.is_finite(), UNDERFLOW)
    over = error_if(result.expr.is_infinite() & a.is_finite() & (b != 0), OVERFLOW)
    # Division by 0 has only its own error.
    return result.with_error(pl.when(b == 0).then(zero).otherwise(first_error(under, over)))


@lowers("float4um float8um")
def _float_minus(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, -args[0].expr)


@lowers("float4abs float8abs abs(float4) abs(float8)")
def _float_absolute(args: tuple[Value, ...], kind: SqlType) -> Value:
    return Value(kind, args[0].expr.abs())

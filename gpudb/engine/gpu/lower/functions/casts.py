"""Casts between types on the workers; a statement with any other cast runs on the embedded engine."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from gpudb.engine.gpu.lower.error_codes import LENGTH, OUT_OF_RANGE, error_if
from gpudb.engine.gpu.lower.functions.arithmetic import INTEGER_DTYPES, integer_result
from gpudb.engine.gpu.lower.functions.dates import to_date, to_timestamp
from gpudb.engine.gpu.lower.functions.intervals import from_microseconds, time_of_day
from gpudb.engine.gpu.lower.functions.numeric import round_to_scale, to_numeric
from gpudb.engine.gpu.lower.functions.text_output import to_text
from gpudb.engine.gpu.lower.values import Value, divide, is_keyed, is_packed, type_bounds
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import SqlType, exact_numeric
from gpudb.types.facts import FLOATS, INTEGER_LIMITS, INTEGERS

_PARTS = {
    ("time", "timestamp"),
    ("time", "timestamptz"),
    ("time", "interval"),
    ("time", "timetz"),
    ("interval", "time"),
}
_STRINGS = {"text", "varchar", "bpchar", "unknown", "name"}


def cast(value: Value, kind: SqlType, *, explicit: bool, utc: bool = False) -> Value:
    """Casts a value; the caller adds its error. `utc`: the session's time zone is UTC."""
    source, target = value.type, kind
    same = source.name == target.name and target.modifier == -1 and target.name != "numeric" and not is_keyed(target)
    same = same and not is_packed(source)
    # A cidr is stored like an inet.
    if source == target or same or (source.name, target.name) == ("cidr", "inet"):
        return Value(kind, value.expr, None, value.bounds, value.others, value.constant)
    if target.name == "numeric" and source.name in INTEGERS | {"numeric"}:
        return to_numeric(value, kind)
    if target.name in INTEGERS and source.name in INTEGERS:
        return integer_result(value.expr.cast(pl.Int64), kind, value.limits)
    if target.name in INTEGERS and source.name == "numeric":
        expr, bounds = round_to_scale(value, 0) if value.scale else (value.expr, value.limits)
        return integer_result(expr, kind, bounds)
    if target.name in INTEGERS and source.name in FLOATS:
        return _float_to_integer(value, kind)
    if target.name in INTEGERS and source.name == "bool":
        return Value(kind, value.expr.cast(pl.Int32), None, (0, 1))
    if target.name in FLOATS:
        return _to_float(value, kind)
    if target.name in _STRINGS and source.name in _STRINGS:
        return _to_string(value, kind, explicit=explicit)
    if target.name in {"text", "varchar"} and target.length is None:
        return replace(to_text(value), type=kind)
    if target.modifier == -1 and (target.name, source.name) in _PARTS:
        if source.name == "timestamptz" and not utc:
            raise NotSupportedOnWorkers("the time of day in a time zone")
        result = time_of_day(value) if target.name == "time" else value.expr
        return from_microseconds(kind, result) if target.name == "interval" else Value(kind, result)
    if source.name == "money" and target.name == "numeric":
        return to_numeric(Value(exact_numeric(19, 2), value.expr, None, type_bounds(SqlType("int8"))), kind)
    moments = {"timestamp", "timestamptz", "date"} if utc else {"timestamp", "date"}
    if target.name in moments and source.name in moments and target.modifier == -1:
        result = to_date(value.expr, source) if target.name == "date" else to_timestamp(value.expr, source)
        return Value(kind, result)
    raise NotSupportedOnWorkers(f"cast from {source.plain} to {target.plain}")


def _float_to_integer(value: Value, kind: SqlType) -> Value:
    low, high = INTEGER_LIMITS[kind.name]
    result = _half_even(value.expr.cast(pl.Float64))
    fits = (result >= float(low)) & (result < float(high) + 1)
    dtype = INTEGER_DTYPES[kind.name]
    safe = pl.when(fits).then(result).otherwise(None)
    error = error_if(value.expr.is_not_null() & ~fits, OUT_OF_RANGE[kind.name])
    return Value(kind, safe.cast(dtype), error, (low, high))


def _half_even(value: pl.Expr) -> pl.Expr:
    return value.round(0, mode="half_to_even")


def _to_float(value: Value, kind: SqlType) -> Value:
    dtype = pl.Float32() if kind.name == "float4" else pl.Float64()
    if value.type.name in INTEGERS | FLOATS:
        if value.type.name == "float8" and kind.name == "float4":
            raise NotSupportedOnWorkers("cast from double precision to real")
        return Value(kind, value.expr.cast(dtype))
    if value.type.name == "numeric":
        # By way of its text, which rounds once; the quotient of two integers below 2⁵³ is also exact.
        limits = value.limits
        if limits is not None and max(-limits[0], limits[1]) < 2**53 and value.scale <= 22:
            return Value(kind, divide(value.expr.cast(pl.Float64), pl.lit(float(10**value.scale))).cast(dtype))
        result = pl.concat_str(value.expr.cast(pl.String), pl.lit(f"e-{value.scale}")).cast(pl.Float64)
        return Value(kind, result.cast(dtype))
    raise NotSupportedOnWorkers(f"cast from {value.type.plain} to {kind.plain}")


def _to_string(value: Value, kind: SqlType, *, explicit: bool) -> Value:
    expr = value.expr
    if kind.name == "bpchar":
        expr = expr.str.strip_chars_end(" ")
    if kind.length is None:
        return Value(kind, expr, constant=value.constant and kind.name != "bpchar")
    if explicit:
        cut = expr.str.head(kind.length)
        return Value(kind, cut.str.strip_chars_end(" ") if kind.name == "bpchar" else cut)
    rest = expr.str.slice(kind.length).str.strip_chars_end(" ")
    return Value(kind, expr.str.head(kind.length), error_if(rest != "", LENGTH))

"""Constants whose physical columns DuckDB computes: jsonb, arrays, records, ranges, networks, bit strings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import polars as pl

from gpudb.engine.gpu.lower.expressions.host_fallback import HostFallback, HostStep
from gpudb.engine.gpu.lower.values import Value, physical_columns
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.sql import bound


def constant_value(expr: bound.Constant | bound.Parameter, host: HostFallback) -> Value:
    """Returns a constant or parameter that has no literal, with all its physical columns.

    NotSupportedOnWorkers if one is a list or struct, of which Polars has no literals.
    """
    if any(dtype.is_nested() for dtype in physical_columns(expr.type).values()):
        raise NotSupportedOnWorkers(f"a constant of type {expr.type.plain}")
    first, *rest = _evaluate(host.expression_step("v", expr))
    others = tuple((result.name.removeprefix("v"), _literal(result)) for result in rest)
    return Value(expr.type, _literal(first), None, None, others, True)


def comparison_key(expr: Any, host: HostFallback) -> Value:
    """Returns the comparison key alone of a constant of any type, or of an expression of constants."""
    return Value(expr.type, _literal(_evaluate(host.expression_step("v", expr))[0]), constant=True)


@lru_cache(512)
def _evaluate(step: HostStep) -> list[pl.Series]:
    """Returns the physical columns of a step that reads no columns, for one row."""
    return step.evaluate(pl.DataFrame({"c": [None]})).get_columns()


def _literal(result: pl.Series) -> pl.Expr:
    if result.dtype == pl.Int128 or result.dtype.is_temporal():
        # Polars cannot extract a value of 128 bits, or a timestamp beyond Python's calendar.
        raise NotSupportedOnWorkers("a constant of 128 bits or outside the calendar")
    return pl.lit(result.item(), result.dtype)

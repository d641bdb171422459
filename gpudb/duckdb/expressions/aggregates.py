"""Aggregates and window calls as DuckDB SQL."""

from __future__ import annotations

from dataclasses import replace

from gpudb.duckdb import aggregate_frames
from gpudb.duckdb.distinct_aggregates import needs_value_list, render_distinct
from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind, sort_direction
from gpudb.duckdb.rendered_sql import RenderedSql
from gpudb.functions import equality
from gpudb.functions.numeric import NARROW
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Aggregate) -> RenderedSql:
    inner = replace(renderer, grouped=())  # an aggregate's arguments are per row, whether grouped by or not
    keys = expr.order_by or expr.within_group
    sorts = aggregate_frames.guard_arguments([key.expr for key in expr.order_by], expr.filter)
    order_by = [replace(key, expr=each) for key, each in zip(expr.order_by, sorts, strict=True)]
    order = f" ORDER BY {inner.render_sort_keys(order_by)}" if order_by else ""
    keep = f" FILTER (WHERE {inner.render_value(expr.filter)})" if expr.filter is not None else ""
    distinct = "DISTINCT " if expr.distinct else ""

    def call(name: str, *given: str) -> str:
        sort = order
        if expr.distinct and name not in {"list", "string_agg"}:
            sort = ""
        elif expr.distinct and (not order_by or (len(order_by) == 1 and order_by[0].expr == args[0])):
            # PostgreSQL sorts to find distinct values, and an aggregate that lists them shows that order
            by = sort_direction(order_by[0].descending, order_by[0].nulls_first) if order_by else " ASC NULLS LAST"
            sort = f" ORDER BY {given[0]}{by}"
        return f"{name}({distinct}{', '.join(given)}{sort}){keep}"

    if expr.within_group:  # its direct arguments are outside the aggregate
        args = (
            *expr.args,
            *aggregate_frames.guard_arguments(tuple(key.expr for key in expr.within_group), expr.filter),
        )
    else:
        args = aggregate_frames.guard_arguments(expr.args, expr.filter)
    if expr.distinct and needs_value_list(expr):
        return render_distinct(inner, expr, args, order_by, keep)
    token = NARROW.set(renderer.narrow)
    try:
        operands = inner.render_operands(args, expr.type, call)
    finally:
        NARROW.reset(token)
    # DuckDB takes a constant argument of mode() for a fraction; a constant needs no order
    if expr.within_group and (expr.function.name != "mode" or reads_columns(keys[0].expr)):
        # an ordered-set aggregate's own order
        key = equality.render_sort_key(operands.sql[-1], keys[0].expr.type) + (" DESC" if keys[0].descending else "")
        operands = replace(operands, call=lambda name, *args: f"{name}({', '.join(args)} ORDER BY {key}){keep}")
    return renderer.apply_function(expr.function, operands)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Grouping) -> RenderedSql:
    plain = replace(renderer, grouped=())
    return RenderedSql(f"CAST(GROUPING({', '.join(map(plain.render_key, expr.args))}) AS INTEGER)")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Window) -> RenderedSql:
    if expr.function.name == "ntile":  # ignores the frame, and needs the whole partition
        expr = replace(expr, frame=aggregate_frames.WHOLE_PARTITION)
    parts = []
    if expr.partition_by:
        parts.append("PARTITION BY " + ", ".join(map(renderer.render_key, expr.partition_by)))
    wide = aggregate_frames.has_integer_offsets(expr)
    if wide:
        key = expr.order_by[0]
        parts.append(
            f"ORDER BY {aggregate_frames.widen(renderer.render_value(key.expr))}"
            + sort_direction(key.descending, key.nulls_first)
        )
    elif expr.order_by:
        parts.append("ORDER BY " + renderer.render_sort_keys(expr.order_by))
    if expr.frame is not None:
        parts.append(aggregate_frames.render_frame(expr.frame, renderer.render_value, wide=wide))
    keep = f" FILTER (WHERE {renderer.render_value(expr.filter)})" if expr.filter is not None else ""
    over = f"{keep} OVER ({' '.join(parts)})"

    def call(name: str, *args: str) -> str:
        return f"{name}({', '.join(args)}){over}"

    return renderer.apply_function(
        expr.function,
        renderer.render_operands(aggregate_frames.guard_arguments(expr.args, expr.filter), expr.type, call),
    )

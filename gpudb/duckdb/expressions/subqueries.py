"""Subqueries in expressions as DuckDB SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpudb.duckdb.expressions.renderer import ExpressionRenderer, render_by_kind
from gpudb.duckdb.rendered_sql import RenderedSql, unpack
from gpudb.errors import FeatureNotSupported
from gpudb.functions import comparison, equality
from gpudb.functions.dimensions import gather_arrays
from gpudb.sql import bound
from gpudb.sql.traverse import outer_columns
from gpudb.types import SqlType

_SYMBOLS = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.ScalarSubquery) -> RenderedSql:
    return unpack(f"({renderer.render_query(expr.query)})", expr.type)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.ArraySubquery) -> RenderedSql:
    sql = f"coalesce(ARRAY({renderer.render_query(expr.query)}), CAST([] AS {expr.type.duckdb}))"
    return RenderedSql(gather_arrays(sql, expr.type) if expr.type.dims > 1 else sql)


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.Exists) -> RenderedSql:
    sql = renderer.render_query(expr.query)
    if not outer_columns(expr.query):
        # DuckDB adds LIMIT 1, and drops it above a join with a side that it knows to be empty
        sql = f"SELECT 1 FROM ({sql}) LIMIT 1 OFFSET 0"
    return RenderedSql(f"EXISTS ({sql})")


@render_by_kind.register
def _(renderer: ExpressionRenderer, expr: bound.AnySubquery) -> RenderedSql:
    symbols = {_SYMBOLS.get(function.name.rsplit("_", 1)[-1][-2:], "") for function in expr.functions}
    (symbol,) = symbols if len(symbols) == 1 else ("",)
    form = equality.render_equality_key if symbol in {"=", "<>"} else equality.render_sort_key
    lefts = [form(renderer.render_value(each), each.type) for each in expr.left]
    left = lefts[0] if len(lefts) == 1 else f"({', '.join(lefts)})"
    query = _render_comparable(renderer, expr.query, form)
    if (symbol, expr.all) in {("=", False), ("<>", True)}:
        # DuckDB takes a row in comparable form for several columns
        several = len(lefts) > 1 or (expr.left[0].type.fields and equality.has_many_representations(expr.left[0].type))
        if several and outer_columns(expr.query):
            kinds = [(each.type, c.type) for each, c in zip(expr.left, expr.query.columns, strict=True)]
            return RenderedSql(f"({'NOT ' if expr.all else ''}{_row_in_subquery(lefts, query, kinds)})")
        return RenderedSql(f"({left} {'NOT ' if expr.all else ''}IN ({query}))")
    if not symbol or len(lefts) > 1:
        raise FeatureNotSupported("this comparison with a subquery is not supported")
    if symbol in {"=", "<>"} and expr.left[0].type.name == "interval":  # DuckDB only orders these
        if expr.all:
            return RenderedSql(f"({left} <= ALL ({query}) AND {left} >= ALL ({query}))")
        return RenderedSql(f"({left} < ANY ({query}) OR {left} > ANY ({query}))")
    return RenderedSql(f"({left} {symbol} {'ALL' if expr.all else 'ANY'} ({query}))")


def _render_comparable(renderer: ExpressionRenderer, query: bound.Query, form: Callable[[str, SqlType], str]) -> str:
    """Renders the subquery of a comparison, its columns in the form that is compared."""
    text = renderer.render_query(query)
    if not any(equality.has_many_representations(column.type) for column in query.columns):
        return text
    names = [f"c{number}" for number in range(1, len(query.columns) + 1)]
    items = (
        form(unpack(name, column.type).value, column.type) for name, column in zip(names, query.columns, strict=True)
    )
    return f"SELECT {', '.join(items)} FROM ({text}) AS pg_q({', '.join(names)})"


def _row_in_subquery(lefts: Sequence[str], query: str, kinds: Sequence[tuple[SqlType, SqlType]]) -> str:
    """Renders whether a row is in a correlated subquery's result; DuckDB supports this for one column only."""
    names = [f"c{number}" for number in range(1, len(lefts) + 1)]
    equal = " AND ".join(
        comparison.compare_numbers("=", left, f"pg_q.{name}", *kind)
        for left, name, kind in zip(lefts, names, kinds, strict=True)
    )
    found = "CASE WHEN bool_or(pg_m) THEN true WHEN bool_or(pg_m IS NULL) THEN NULL ELSE false END"
    return f"(SELECT {found} FROM (SELECT {equal} AS pg_m FROM ({query}) AS pg_q({', '.join(names)})))"

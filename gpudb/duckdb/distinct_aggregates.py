"""DISTINCT aggregates that use a value more than once: variances, sums of intervals, JSON aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpudb.duckdb.rendered_sql import RenderedSql, pack, unpack
from gpudb.functions.equality import has_many_representations, render_sort_key
from gpudb.functions.registry import MISSING, Function, Operands
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns, walk

_LISTS = frozenset({"array_agg", "string_agg"})
_VARIANCES = frozenset({"var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"})


class ArgumentRenderer(Protocol):
    """What rendering a DISTINCT aggregate needs of `ExpressionRenderer`."""

    def render_value(self, expr: bound.Expr) -> str: ...

    def render_packed(self, expr: bound.Expr) -> str: ...

    def render_sort_keys(self, keys: Sequence[bound.SortKey]) -> str: ...

    def apply_function(self, function: Function, operands: Operands) -> RenderedSql: ...


def needs_value_list(expr: bound.Aggregate) -> bool:
    """Returns whether the aggregate needs a list of distinct values instead of DuckDB's DISTINCT.

    DuckDB's DISTINCT would apply to what the aggregate's SQL computes of a value (its square, its parts, its text), or
    would ignore separators that vary by row. An ORDER BY that repeats a subquery is another value to DuckDB.
    """
    name = expr.function.name
    if name in {"min", "max"}:  # DISTINCT changes nothing
        return False
    if name.startswith("json") or (name in _LISTS and _contains_subquery(expr.args)):
        return True
    if name == "string_agg" and reads_columns(expr.args[1]):
        return True
    if expr.type.wide:
        return True  # it is computed from whole values, of which equal ones may show several scales
    if any(
        has_many_representations(arg.type) and (name == "array_agg" or not arg.type.is_carried) for arg in expr.args
    ):
        return True
    return len(expr.args) == 1 and (name in _VARIANCES or expr.args[0].type.name == "interval")


def _contains_subquery(args: Sequence[bound.Expr]) -> bool:
    """Returns whether any argument contains a subquery."""
    return any(isinstance(node, bound.SUBQUERIES) for arg in args for node in walk(arg))


def render_distinct(
    renderer: ArgumentRenderer,
    expr: bound.Aggregate,
    args: Sequence[bound.Expr],
    order_by: Sequence[bound.SortKey],
    keep: str,
) -> RenderedSql:
    """Renders the aggregate over a sorted list of distinct values.

    `keep` is the FILTER clause; the arguments are evaluated only for rows that it keeps. `order_by` refers
    to some of the arguments.
    """
    types = tuple(arg.type for arg in args)
    fields = [f"x{number} := {renderer.render_packed(arg)}" for number, arg in enumerate(args)]
    one = len(fields) == 1
    kept = renderer.render_packed(args[0]) if one else f"struct_pack({', '.join(fields)})"
    several = bool(order_by) or any(map(has_many_representations, types))
    if several:
        keys = (render_sort_key(renderer.render_value(arg), arg.type) for arg in args)
        kept = f"struct_pack(k := row({', '.join(keys)}), x := {kept})"
    if order_by:
        named = {key.expr for key in order_by}
        rest = (bound.SortKey(arg, descending=False, nulls_first=False) for arg in args if arg not in named)
        rows = f"coalesce(list({kept} ORDER BY {renderer.render_sort_keys((*order_by, *rest))}){keep}, [])"
    else:
        rows = f"list_sort(coalesce(list(DISTINCT {kept}){keep}, []), 'ASC', 'NULLS LAST')"
    operands_sql = [unpack("pg_d" if one else f"(pg_d).x{number}", item) for number, item in enumerate(types)]
    if several:
        # 1.0 and 1.00 are one value; the first of equal values is kept
        first = "list_filter(pg_l, lambda pg_d, pg_i: pg_i = 1 OR (pg_d).k IS DISTINCT FROM (pg_l[pg_i - 1]).k)"
        rows = f"list_transform([{rows}], lambda pg_l: list_transform({first}, lambda pg_d: (pg_d).x))[1]"

    def call(name: str, *args: str) -> str:
        listed = f"list_transform(pg_l, lambda pg_d: {args[0]})"
        more = "".join(f", {arg}" for arg in args[1:])
        # DuckDB's list aggregate of no rows is NULL, not an empty list.
        whole = f"(CASE WHEN len(pg_l) > 0 THEN {listed} END)"
        return whole if name == "list" else f"list_aggregate({listed}, '{name}'{more})"

    values, scales = tuple(each.value for each in operands_sql), tuple(each.scale for each in operands_sql)
    operands = Operands(values, scales, types, (MISSING,) * len(types), expr.type, call)
    result = renderer.apply_function(expr.function, operands)
    whole = pack(result, expr.type) if expr.type.is_carried else result.value
    return unpack(f"list_transform([{rows}], lambda pg_l: {whole})[1]", expr.type)

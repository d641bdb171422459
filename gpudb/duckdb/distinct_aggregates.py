"""DISTINCT aggregates that use a value more than once: variances, sums of intervals, JSON aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudb.functions.equality import order, several_forms
from gpudb.functions.registry import MISSING, Operands
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns, walk

if TYPE_CHECKING:
    from gpudb.duckdb.expressions import Expressions

_LISTS = frozenset({"array_agg", "string_agg"})
_VARIANCES = frozenset({"var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev"})


def looks_often(expr: bound.Aggregate) -> bool:
    """Returns whether the aggregate needs a list of distinct values instead of DuckDB's DISTINCT.

    DuckDB's DISTINCT would apply to what the aggregate's SQL computes of a value (its square, its parts, its text), or
    would ignore separators that vary by row. An ORDER BY that repeats a subquery is another value to DuckDB.
    """
    name = expr.function.name
    if name in {"min", "max"}:  # DISTINCT changes nothing
        return False
    if name.startswith("json") or (name in _LISTS and _asks(expr.args)):
        return True
    if name == "string_agg" and reads_columns(expr.args[1]):
        return True
    if any(several_forms(arg.type) and (name == "array_agg" or not arg.type.carried) for arg in expr.args):
        return True
    return len(expr.args) == 1 and (name in _VARIANCES or expr.args[0].type.name == "interval")


def _asks(args: Sequence[bound.Expr]) -> bool:
    """Returns whether any argument contains a subquery."""
    return any(isinstance(node, bound.SUBQUERIES) for arg in args for node in walk(arg))


def of_distinct(
    made: Expressions, expr: bound.Aggregate, args: Sequence[bound.Expr], order_by: Sequence[bound.SortKey], keep: str
) -> tuple[str, str]:
    """Renders the aggregate over a sorted list of distinct values.

    `keep` is the FILTER clause; the arguments are evaluated only for rows that it keeps. `order_by` refers
    to some of the arguments.
    """
    types = tuple(arg.type for arg in args)
    fields = [f"x{number} := {made.whole(arg)}" for number, arg in enumerate(args)]
    one = len(fields) == 1
    kept = made.whole(args[0]) if one else f"struct_pack({', '.join(fields)})"
    several = bool(order_by) or any(map(several_forms, types))
    if several:
        keys = (order(made.value(arg), arg.type) for arg in args)
        kept = f"struct_pack(k := row({', '.join(keys)}), x := {kept})"
    if order_by:
        named = {key.expr for key in order_by}
        rest = (bound.SortKey(arg, descending=False, nulls_first=False) for arg in args if arg not in named)
        rows = f"coalesce(list({kept} ORDER BY {made.sort_keys((*order_by, *rest))}){keep}, [])"
    else:
        rows = f"list_sort(coalesce(list(DISTINCT {kept}){keep}, []), 'ASC', 'NULLS LAST')"
    lanes = [made.opened("pg_d" if one else f"(pg_d).x{number}", item) for number, item in enumerate(types)]
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

    values, scales = tuple(each.value for each in lanes), tuple(each.scale for each in lanes)
    made_of = Operands(values, scales, types, (MISSING,) * len(types), expr.type, call)
    result = made.applied(expr.function, made_of)
    whole = made.joined(*result, expr.type) if expr.type.carried else result.value
    return made.opened(f"list_transform([{rows}], lambda pg_l: {whole})[1]", expr.type)

"""Aggregates of DISTINCT values that look at their values more than once: a variance, a sum of intervals, JSON."""

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
    """Whether DISTINCT would mean the squares, the parts or the texts of the values, in place of themselves, or the
    values without their own separators; or the order that lists them names a subquery anew, which DuckDB takes for
    another value."""
    name = expr.function.name
    if name in {"min", "max"}:  # which are those of all values
        return False
    if name.startswith("json") or (name in _LISTS and _asks(expr.args)):
        return True
    if name == "string_agg" and reads_columns(expr.args[1]):
        return True
    if any(several_forms(arg.type) and (name == "array_agg" or not arg.type.carried) for arg in expr.args):
        return True
    return len(expr.args) == 1 and (name in _VARIANCES or expr.args[0].type.name == "interval")


def _asks(args: Sequence[bound.Expr]) -> bool:
    """Whether a subquery is among what is aggregated."""
    return any(isinstance(node, bound.SUBQUERIES) for arg in args for node in walk(arg))


def of_distinct(
    made: Expressions, expr: bound.Aggregate, args: Sequence[bound.Expr], order_by: Sequence[bound.SortKey], keep: str
) -> tuple[str, str]:
    """The aggregate over a sorted list of the values that differ, as its lanes; `keep` is its FILTER clause, and what
    the others compute is computed for its rows alone. `order_by` names some of the arguments."""
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
        # 1.0 and 1.00 are one value, of which the first is kept
        first = "list_filter(pg_l, lambda pg_d, pg_i: pg_i = 1 OR (pg_d).k IS DISTINCT FROM (pg_l[pg_i - 1]).k)"
        rows = f"list_transform([{rows}], lambda pg_l: list_transform({first}, lambda pg_d: (pg_d).x))[1]"

    def call(name: str, *args: str) -> str:
        listed = f"list_transform(pg_l, lambda pg_d: {args[0]})"
        more = "".join(f", {arg}" for arg in args[1:])
        # A list of no rows is NULL.
        whole = f"(CASE WHEN len(pg_l) > 0 THEN {listed} END)"
        return whole if name == "list" else f"list_aggregate({listed}, '{name}'{more})"

    values, scales = tuple(each.value for each in lanes), tuple(each.scale for each in lanes)
    made_of = Operands(values, scales, types, (MISSING,) * len(types), expr.type, call)
    result = made.applied(expr.function, made_of)
    whole = made.joined(*result, expr.type) if expr.type.carried else result.value
    return made.opened(f"list_transform([{rows}], lambda pg_l: {whole})[1]", expr.type)

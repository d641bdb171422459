"""Subqueries as values, each made a scalar subquery over one aggregate: the form that the planner decorrelates.

`EXISTS` is a count, `IN` under OR three counts, a value of at most one row the aggregate `single_value`, which raises
21000 for a second row. What is computed from aggregates is computed outside the subquery, since a group that is not
there must still count 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.functions.library import Function, functions_by_name
from gpudb.plan.errors import NotCarried
from gpudb.plan.predicates import equality, is_plain_core
from gpudb.plan.symbols import FIRST, SINGLE
from gpudb.plan.traversal import transform
from gpudb.sql import bound
from gpudb.types import BOOL, INT8, SqlType

_COUNTS = {"count", "regr_count"}
HELD = 0
"""The OID of an aggregate that has been pulled out already: its NULL for no group is mended outside."""


def pulled_out(subquery: bound.ScalarSubquery) -> Any:
    """A correlated scalar subquery as an expression over subqueries of one aggregate each; itself if it is one."""
    query = subquery.query
    if not isinstance(query, bound.Select) or query.grouping_sets is not None or query.having is not None:
        raise NotCarried("a correlated subquery of this shape")
    if query.grouped:
        return _over_aggregates(subquery, query)
    target = query.targets[0]
    one = isinstance(query.limit, bound.Constant) and query.limit.value == 1 and query.offset is None
    if one and query.distinct is False:
        call = bound.Aggregate(FIRST, (target,), target.type, order_by=query.order_by)
    elif query.limit is None and query.offset is None and isinstance(query.distinct, bool):
        call = bound.Aggregate(SINGLE, (target,), target.type, distinct=query.distinct)
    else:
        raise NotCarried("a correlated subquery with LIMIT")
    return replace(subquery, query=_only(query, call))


def _over_aggregates(subquery: bound.ScalarSubquery, query: bound.Select) -> Any:
    target = query.targets[0]
    if query.group_by:
        raise NotCarried("a correlated subquery with GROUP BY")
    if query.offset is not None or (query.limit is not None and not _is_positive(query.limit)):
        raise NotCarried("a correlated subquery with LIMIT")
    if isinstance(target, bound.Aggregate) and (target.function.name not in _COUNTS or target.function.oid == HELD):
        return subquery if query.limit is None and not query.order_by else replace(subquery, query=_only(query, target))

    def change(each: Any) -> Any:
        if isinstance(each, bound.Window):
            raise NotCarried("a window function in a correlated subquery")
        if not isinstance(each, bound.Aggregate):
            return None
        counted = each.function.name in _COUNTS
        call = replace(each, function=replace(each.function, oid=HELD)) if counted else each
        held = bound.ScalarSubquery(_only(query, call), each.type)
        return bound.Choice("COALESCE", (held, bound.Constant(0, each.type)), each.type) if counted else held

    return transform(target, change)


def _is_positive(limit: Any) -> bool:
    return isinstance(limit, bound.Constant) and (limit.value is None or int(str(limit.value)) > 0)


def _only(query: bound.Select, call: bound.Aggregate) -> bound.Select:
    column = bound.OutputColumn(call.function.name, call.type)
    return replace(
        query,
        columns=(column,),
        targets=(call,),
        grouped=True,
        distinct=False,
        order_by=(),
        limit=None,
    )


def _function(name: str, *args: SqlType) -> Function:
    for function in functions_by_name()[name]:
        if tuple(each.name for each in function.args) == tuple(each.name for each in args):
            return function
    raise LookupError(name)


def _counted(query: bound.Query, rel: int, where: Any | None = None) -> Any:
    """`(SELECT count(*) FROM (query) WHERE …) > 0`; `where` is over the query's own relations, or over `rel`."""
    count = bound.Aggregate(_function("count"), (), INT8, star=True)
    if is_plain_core(query) and isinstance(query, bound.Select) and not query.grouped and rel == 0:
        parts = tuple(part for part in (query.where, where) if part is not None)
        condition = parts[0] if len(parts) == 1 else bound.BoolOp("AND", parts) if parts else None
        inner = _only(replace(query, where=condition), count)
    else:
        source = bound.Derived(rel, query)
        column = (bound.OutputColumn("count", INT8),)
        inner = bound.Select(column, (count,), source, where, grouped=True)
    subquery = bound.ScalarSubquery(inner, INT8)
    return bound.Call(_function("int8gt", INT8, INT8), (subquery, bound.Constant(0, INT8)), BOOL)


def exists_as_count(exists: bound.Exists, fresh: Callable[[], int] | None = None) -> Any:
    """EXISTS as a value: whether the count of its rows is positive."""
    query = exists.query
    plain = is_plain_core(query) and isinstance(query, bound.Select) and not query.grouped
    if plain:
        return _counted(query, 0)
    if fresh is None:
        raise NotCarried("EXISTS over this subquery outside WHERE")
    return _counted(query, fresh())


def any_as_counts(expr: bound.AnySubquery, fresh: Callable[[], int]) -> Any:
    """`x IN (subquery)` as a value: true for a match, else NULL if x or any of the rows is NULL, else false."""
    if expr.all or len(expr.left) != 1:
        raise NotCarried("ALL of a subquery, or rows IN a subquery, outside WHERE")
    query, left = expr.query, expr.left[0]
    kind = query.columns[0].type
    rel = fresh()
    right: Any = bound.Column(rel, 0, kind)
    call = bound.Call(expr.functions[0], (left, right), BOOL)
    if equality(call) is None:
        raise NotCarried("ANY of a subquery outside WHERE")
    plain = is_plain_core(query) and isinstance(query, bound.Select) and not query.grouped
    if plain:
        assert isinstance(query, bound.Select)
        rel, right = 0, query.targets[0]
    matched = _counted(query, rel, bound.Call(expr.functions[0], (left, right), BOOL))
    other = 0 if plain else fresh()
    unknown_right = bound.Test(right if plain else bound.Column(other, 0, kind), "NULL")
    unknown = _counted(query, other, unknown_right)
    some = _counted(query, 0 if plain else fresh())
    null_left = bound.BoolOp("AND", (bound.Test(left, "NULL"), some))
    null = bound.Constant(None, BOOL)
    branches = ((matched, bound.Constant(True, BOOL)), (bound.BoolOp("OR", (null_left, unknown)), null))
    return bound.Case(branches, bound.Constant(False, BOOL), BOOL)

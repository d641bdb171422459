"""Rewrites scalar subqueries to subqueries over one aggregate each, the form that `unnest` joins.

A value of at most one row becomes the aggregate `single_value`, which raises 21000 for a second row. What is computed
from aggregates is computed outside the subquery, since a missing group must still count 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.functions import COUNTS, FIRST, SINGLE
from gpudb.plan.tree.traversal import transform
from gpudb.sql import bound

PULLED_OUT_OID = 0
"""OID that marks an aggregate that is pulled out already: the NULL of a missing group is replaced outside."""


def pull_out_aggregates(subquery: bound.ScalarSubquery) -> Any:
    """Returns a correlated scalar subquery as an expression over subqueries of one aggregate each; itself if it is
    one.
    """
    query = subquery.query
    if not isinstance(query, bound.Select) or query.grouping_sets is not None or query.having is not None:
        raise NotSupportedOnWorkers("a correlated subquery of this shape")
    if query.grouped:
        return _pull_out_of_target(subquery, query)
    target = query.targets[0]
    one = isinstance(query.limit, bound.Constant) and query.limit.value == 1 and query.offset is None
    if one and query.distinct is False:
        call = bound.Aggregate(FIRST, (target,), target.type, order_by=query.order_by)
    elif query.limit is None and query.offset is None and isinstance(query.distinct, bool):
        call = bound.Aggregate(SINGLE, (target,), target.type, distinct=query.distinct)
    else:
        raise NotSupportedOnWorkers("a correlated subquery with LIMIT")
    return replace(subquery, query=_select_only(query, call))


def _pull_out_of_target(subquery: bound.ScalarSubquery, query: bound.Select) -> Any:
    target = query.targets[0]
    if query.group_by:
        raise NotSupportedOnWorkers("a correlated subquery with GROUP BY")
    if query.offset is not None or (query.limit is not None and not _is_positive(query.limit)):
        raise NotSupportedOnWorkers("a correlated subquery with LIMIT")
    if isinstance(target, bound.Aggregate) and (
        target.function.name not in COUNTS or target.function.oid == PULLED_OUT_OID
    ):
        return (
            subquery
            if query.limit is None and not query.order_by
            else replace(subquery, query=_select_only(query, target))
        )

    def change(each: Any) -> Any:
        if isinstance(each, bound.Window):
            raise NotSupportedOnWorkers("a window function in a correlated subquery")
        if not isinstance(each, bound.Aggregate):
            return None
        counted = each.function.name in COUNTS
        call = replace(each, function=replace(each.function, oid=PULLED_OUT_OID)) if counted else each
        held = bound.ScalarSubquery(_select_only(query, call), each.type)
        return bound.Choice("COALESCE", (held, bound.Constant(0, each.type)), each.type) if counted else held

    return transform(target, change)


def _is_positive(limit: Any) -> bool:
    return isinstance(limit, bound.Constant) and (limit.value is None or int(str(limit.value)) > 0)


def _select_only(query: bound.Select, call: bound.Aggregate) -> bound.Select:
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

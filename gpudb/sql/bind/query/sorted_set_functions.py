"""ORDER BY a set-returning function that is not selected: computed in a subquery, sorted outside."""

from __future__ import annotations

from dataclasses import replace

from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Query, Select, SetReturning
from gpudb.sql.traverse import walk


def wrap_sorted_sets(binder: Binder, query: Query) -> Query:
    """Wraps a query with such a sort key; returns any other query as it is."""
    if not isinstance(query, Select) or query.distinct:
        return query
    unseen = [key.expr for key in query.order_by if key.expr not in query.targets]
    if not any(isinstance(node, SetReturning) for expr in unseen for node in walk(expr)):
        return query
    rel = binder.new_rel()
    targets = (*query.targets, *unseen)
    outputs = (*query.columns, *(OutputColumn(f"key{n}", expr.type) for n, expr in enumerate(unseen, 1)))
    below = replace(query, columns=outputs, targets=targets, order_by=(), limit=None, offset=None)

    def column(expr: Expr) -> Column:
        at = targets.index(expr)
        return Column(rel, at, expr.type, outputs[at].name)

    order = tuple(replace(key, expr=column(key.expr)) for key in query.order_by)
    shown = tuple(Column(rel, at, each.type, each.name) for at, each in enumerate(query.columns))
    return Select(query.columns, shown, Derived(rel, below), order_by=order, limit=query.limit, offset=query.offset)

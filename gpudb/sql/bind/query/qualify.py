"""QUALIFY: filters the rows of a query by a condition over its window functions.

The query becomes a subquery with the condition as one more column; DISTINCT, ORDER BY and LIMIT stay outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.scope import Scope
from gpudb.sql.bind.types.conversions import coerce_condition
from gpudb.sql.bound import Column, Derived, Expr, OutputColumn, Select
from gpudb.sql.parse.parser import inner
from gpudb.sql.parse.qualify import WINDOW


def bind_qualify(binder: Binder, scope: Scope, node: Any, targets: Sequence[tuple[str, Expr]]) -> Expr | None:
    """Binds the condition of a SelectStmt message, which also sees outputs by name; None if there is none."""
    for each in map(inner, node.window_clause):
        if each.name == WINDOW:
            scope.clause, scope.outputs = "QUALIFY", tuple(targets)
            try:
                return coerce_condition(
                    binder, bind_expression(binder, scope, inner(each.order_clause[0]).node), "QUALIFY"
                )
            finally:
                scope.outputs = ()
    return None


def apply_qualify(binder: Binder, query: Select, test: Expr, outer_aggregates: Sequence[Expr]) -> Select:
    """Wraps a query in one whose WHERE is the QUALIFY condition."""
    if outer_aggregates:
        raise FeatureNotSupported("QUALIFY beside an aggregate within a subquery is not supported")
    on = query.distinct if isinstance(query.distinct, tuple) else ()
    rel = binder.new_rel()
    parts = [*query.targets, test]
    for part in (*on, *(key.expr for key in query.order_by)):
        if part not in parts:
            parts.append(part)

    names = [*(c.name for c in query.columns), *("part" for _ in parts[len(query.columns) :])]

    def column(part: Expr) -> Expr:
        index = parts.index(part)
        return Column(rel, index, part.type, names[index])

    extra = tuple(OutputColumn("part", part.type) for part in parts[len(query.targets) :])
    below = replace(
        query,
        columns=(*query.columns, *extra),
        targets=tuple(parts),
        distinct=False,
        order_by=(),
        limit=None,
        offset=None,
        ctes=(),
    )
    return Select(
        query.columns,
        tuple(Column(rel, index, c.type, c.name) for index, c in enumerate(query.columns)),
        Derived(rel, below),
        Column(rel, len(query.targets), test.type),
        distinct=tuple(map(column, on)) if on else query.distinct,
        order_by=tuple(replace(key, expr=column(key.expr)) for key in query.order_by),
        limit=query.limit,
        offset=query.offset,
        ctes=query.ctes,
    )

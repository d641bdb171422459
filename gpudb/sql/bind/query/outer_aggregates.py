"""Aggregates of an outer query that are written in its subqueries: `(SELECT max(outer.x))`.

Such a query is split. The inner part groups, and returns its keys and aggregates as columns. The outer part does the
rest, so that subqueries refer to plain columns of an outer query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.sql.bind.base import Binder
from gpudb.sql.bound import Aggregate, Column, Derived, Expr, Grouping, OutputColumn, Select, SetOperation, Values
from gpudb.sql.traverse import children, replace_nodes


def split_grouped(binder: Binder, query: Select, outer_aggregates: Sequence[Expr]) -> Select:
    """Splits a grouped query; `outer_aggregates` are its aggregates within subqueries."""
    rel = binder.new_rel()
    parts: list[Expr] = list(query.group_by)

    def collect(node: Any, below: bool) -> None:
        if isinstance(node, Aggregate | Grouping) and (not below or node in outer_aggregates):
            if node not in parts:
                parts.append(node)
            return
        below = below or isinstance(node, Select | SetOperation | Values)
        for child in children(node):
            collect(child, below)

    above = (*query.targets, *query.order_by, *([query.having] if query.having is not None else []))
    for each in above:
        collect(each, False)

    def column(node: Any) -> Any:
        if isinstance(node, Select | SetOperation | Values):
            return replace_nodes(node, column_below)
        return Column(rel, parts.index(node), node.type) if node in parts else None

    def column_below(node: Any) -> Expr | None:
        """A subquery has aggregates of its own, which may equal one of this level: count(*)."""
        if isinstance(node, Aggregate | Grouping) and node not in outer_aggregates:
            return None
        return Column(rel, parts.index(node), node.type) if node in parts else None

    below = Select(
        tuple(OutputColumn("part", part.type) for part in parts),
        tuple(parts),
        query.source,
        query.where,
        True,
        query.group_by,
        query.grouping_sets,
    )
    distinct = query.distinct
    if isinstance(distinct, tuple):
        distinct = tuple(replace_nodes(each, column) for each in distinct)
    return replace(
        query,
        targets=tuple(replace_nodes(each, column) for each in query.targets),
        source=Derived(rel, below),
        where=None if query.having is None else replace_nodes(query.having, column),
        grouped=False,
        group_by=(),
        grouping_sets=None,
        having=None,
        distinct=distinct,
        order_by=tuple(replace_nodes(each, column) for each in query.order_by),
    )

"""Replaces unused columns of subqueries by NULL, because computing one may raise an error (21000, 22012).

PostgreSQL removes them when it plans (remove_unused_subquery_outputs, and the pull-up of subqueries).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gpudb.sql.bound import (
    Call,
    Column,
    Constant,
    Cte,
    CteScan,
    Derived,
    Expr,
    Query,
    ScalarSubquery,
    Select,
    SetReturning,
)
from gpudb.sql.traverse import is_volatile, replace_nodes, walk


def remove_unused_columns(query: Query) -> Query:
    """Returns the query with NULL for each unused column whose computation may raise an error."""
    while True:
        nodes = list(walk(query))
        if not any(isinstance(node, Derived | Cte) and _removable_columns(node.query) for node in nodes):
            return query
        result = _prune(query, nodes)
        if result is query:
            return query
        query = result


def _prune(query: Query, nodes: list[Any]) -> Query:
    read = {(node.rel, node.index) for node in nodes if isinstance(node, Column)}
    scans = Counter(node.cte for node in nodes if isinstance(node, CteScan))
    rels = {node.rel: node.cte for node in nodes if isinstance(node, CteScan)}
    read_of = {(rels[rel], index) for rel, index in read if rel in rels}

    def change(node: Any) -> Any:
        if isinstance(node, Derived):
            result = _replace_unused(node.query, {index for rel, index in read if rel == node.rel})
        elif isinstance(node, Cte) and not node.recursive and _is_inlined(node, scans[node.number]):
            result = _replace_unused(node.query, {index for number, index in read_of if number == node.number})
        else:
            return None
        return None if result is node.query else replace(node, query=result)

    changed: Query = replace_nodes(query, change)
    return changed


def _is_inlined(cte: Cte, scans: int) -> bool:
    """Whether PostgreSQL inlines a WITH query, and so prunes its columns."""
    return cte.materialized is False or (cte.materialized is None and scans == 1)


def _removable_columns(query: Query) -> list[int]:
    """Returns the indexes of columns that may be removed and whose computation may raise an error."""
    if not isinstance(query, Select) or query.distinct:
        return []
    return [index for index, target in enumerate(query.targets) if _may_fail(target) and not _is_kept(query, target)]


def _is_kept(query: Select, target: Expr) -> bool:
    if target in query.group_by or target in [key.expr for key in query.order_by]:
        return True
    return any(isinstance(n, SetReturning) or is_volatile(n) for n in walk(target))


def _may_fail(target: Expr) -> bool:
    """Whether a column has a scalar subquery, or a call over constants alone."""
    nodes = list(walk(target))
    if any(isinstance(node, ScalarSubquery) for node in nodes):
        return True
    calls = [node for node in nodes if isinstance(node, Call)]
    return any(not any(isinstance(below, Column) for below in walk(call)) for call in calls)


def _replace_unused(query: Query, read: Collection[int]) -> Query:
    unused = [index for index in _removable_columns(query) if index not in read]
    if not unused or not isinstance(query, Select):
        return query
    targets = (Constant(None, t.type) if index in unused else t for index, t in enumerate(query.targets))
    return replace(query, targets=tuple(targets))

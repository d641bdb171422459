"""Columns of subqueries that nothing reads are not computed: one of them may end in an error (21000, 22012).

PostgreSQL drops them when it plans (remove_unused_subquery_outputs, and the pulling up of subqueries).
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
from gpudb.sql.traverse import mapped, walk


def without_unread(query: Query) -> Query:
    """The query with NULL for what nothing reads and might end in an error."""
    while True:
        nodes = list(walk(query))
        if not any(isinstance(node, Derived | Cte) and _suspects(node.query) for node in nodes):
            return query
        made = _pruned(query, nodes)
        if made is query:
            return query
        query = made


def _pruned(query: Query, nodes: list[Any]) -> Query:
    read = {(node.rel, node.index) for node in nodes if isinstance(node, Column)}
    scans = Counter(node.cte for node in nodes if isinstance(node, CteScan))
    rels = {node.rel: node.cte for node in nodes if isinstance(node, CteScan)}
    read_of = {(rels[rel], index) for rel, index in read if rel in rels}

    def change(node: Any) -> Any:
        if isinstance(node, Derived):
            made = _without(node.query, {index for rel, index in read if rel == node.rel})
        elif isinstance(node, Cte) and not node.recursive and _inlined(node, scans[node.number]):
            made = _without(node.query, {index for number, index in read_of if number == node.number})
        else:
            return None
        return None if made is node.query else replace(node, query=made)

    changed: Query = mapped(query, change)
    return changed


def _inlined(cte: Cte, scans: int) -> bool:
    """Whether PostgreSQL puts a WITH query in the places where it is read, each with what that reads of it."""
    return cte.materialized is False or (cte.materialized is None and scans == 1)


def _suspects(query: Query) -> list[int]:
    """The columns of a query that may be left out, and whose computing may end in an error though nothing is wrong."""
    if not isinstance(query, Select) or query.distinct:
        return []
    return [index for index, target in enumerate(query.targets) if _may_fail(target) and not _is_kept(query, target)]


def _is_kept(query: Select, target: Expr) -> bool:
    if target in query.group_by or target in [key.expr for key in query.order_by]:
        return True
    return any(isinstance(n, SetReturning) or (isinstance(n, Call) and n.function.volatile) for n in walk(target))


def _may_fail(target: Expr) -> bool:
    """Whether a column is a subquery of one value, or computed of constants alone."""
    nodes = list(walk(target))
    if any(isinstance(node, ScalarSubquery) for node in nodes):
        return True
    calls = [node for node in nodes if isinstance(node, Call)]
    return any(not any(isinstance(below, Column) for below in walk(call)) for call in calls)


def _without(query: Query, read: Collection[int]) -> Query:
    gone = [index for index in _suspects(query) if index not in read]
    if not gone or not isinstance(query, Select):
        return query
    targets = (Constant(None, t.type) if index in gone else t for index, t in enumerate(query.targets))
    return replace(query, targets=tuple(targets))

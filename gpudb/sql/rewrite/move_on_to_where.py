"""Moves conditions with subqueries from ON of inner joins to WHERE, where the planner joins subqueries.

A condition of an inner join removes rows as WHERE does, unless an outer join adds rows for those that it removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes, walk


def move_on_to_where(query: bound.Query) -> bound.Query:
    """Returns the query with such conditions in WHERE, after those that it has."""

    def change(node: Any) -> Any:
        if not isinstance(node, bound.Select) or node.source is None:
            return None
        moved: list[bound.Expr] = []
        source = _take_conditions(node.source, moved)
        if not moved:
            return None
        where = _and([*_conjuncts(node.where), *moved])
        return replace_nodes(replace(node, source=source, where=where), change)

    result: bound.Query = replace_nodes(query, change)
    return result


def _take_conditions(source: bound.From, moved: list[bound.Expr]) -> bound.From:
    """Returns a relation without such conditions, and adds them to `moved`.

    Those below an outer join stay: its own condition may fail for rows that they leave out.
    """
    if not isinstance(source, bound.Join) or source.kind not in {"INNER", "CROSS"}:
        return source
    left, right = _take_conditions(source.left, moved), _take_conditions(source.right, moved)
    kind, on = source.kind, source.on
    if kind == "INNER":
        parts = _conjuncts(on)
        kept = [each for each in parts if not _has_subquery(each)]
        if len(kept) < len(parts):
            moved += [each for each in parts if _has_subquery(each)]
            kind, on = ("INNER", _and(kept)) if kept else ("CROSS", None)
    if left is source.left and right is source.right and on is source.on:
        return source
    return replace(source, kind=kind, left=left, right=right, on=on)


def _has_subquery(expr: bound.Expr) -> bool:
    return any(isinstance(each, bound.SUBQUERIES) for each in walk(expr))


def _conjuncts(expr: bound.Expr | None) -> list[bound.Expr]:
    if expr is None:
        return []
    if isinstance(expr, bound.BoolOp) and expr.op == "AND":
        return [part for each in expr.args for part in _conjuncts(each)]
    return [expr]


def _and(parts: list[bound.Expr]) -> bound.Expr:
    return parts[0] if len(parts) == 1 else bound.BoolOp("AND", tuple(parts))

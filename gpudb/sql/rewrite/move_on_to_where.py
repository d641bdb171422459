"""Moves conditions with subqueries from ON of inner joins to WHERE, where the planner joins subqueries.

A condition of an inner join removes rows as WHERE does, unless an outer join adds rows for those that it removed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import has_subquery, join_conjuncts, replace_nodes, split_conjuncts


def move_on_to_where(query: bound.Query) -> bound.Query:
    """Returns the query with such conditions in WHERE, after those that it has."""

    def change(node: Any) -> Any:
        if not isinstance(node, bound.Select) or node.source is None:
            return None
        moved: list[bound.Expr] = []
        source = _take_conditions(node.source, moved)
        if not moved:
            return None
        where = join_conjuncts((*split_conjuncts(node.where), *moved))
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
        parts = split_conjuncts(on)
        kept = tuple(each for each in parts if not has_subquery(each))
        if len(kept) < len(parts):
            moved += [each for each in parts if has_subquery(each)]
            kind, on = "INNER" if kept else "CROSS", join_conjuncts(kept)
    if left is source.left and right is source.right and on is source.on:
        return source
    return replace(source, kind=kind, left=left, right=right, on=on)

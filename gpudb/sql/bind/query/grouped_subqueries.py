"""Subqueries of GROUP BY or of an output that other clauses repeat, which PostgreSQL recognizes as equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from gpudb.sql.bound import (
    SUBQUERIES,
    Aggregate,
    Column,
    Cte,
    CteScan,
    Expr,
    Fold,
)
from gpudb.sql.traverse import replace_nodes, walk
from gpudb.sql.tree import TreeNode

_NUMBERED = {
    Cte: {"number": "query"},
    CteScan: {"rel": "relation", "cte": "query"},
    Fold: {"rel": "relation", "item": "relation"},
}
_OTHERS = {"rel": "relation"}
"""The kinds of number that fields of nodes hold."""


def list_subqueries(keys: Sequence[Expr]) -> list[Any]:
    """Returns the subqueries in the keys of GROUP BY."""
    return [each for key in keys for each in walk(key) if isinstance(each, SUBQUERIES)]


def replace_grouped(node: Any, known: Sequence[Any]) -> Any:
    """Replaces each subquery outside aggregates by the `known` subquery that equals it."""

    def change(each: Any) -> Any:
        if isinstance(each, Aggregate):
            return each
        return next((key for key in known if isinstance(each, SUBQUERIES) and is_equivalent(each, key)), None)

    return replace_nodes(node, change) if known else node


def find_equivalent(expr: Expr, others: Iterable[Expr]) -> Expr:
    """Returns the first of `others` that equals an expression with a subquery, else the expression."""
    return next((each for each in others if is_equivalent(each, expr)), expr) if list_subqueries([expr]) else expr


def is_equivalent(one: Any, other: Any) -> bool:
    """Whether two expressions are equal up to the numbers of the relations that they define."""
    return _Pairing(one, other).same(one, other)


def _defined_numbers(expr: Any) -> set[tuple[str, int]]:
    """Returns the relations and WITH queries that an expression defines."""
    found = {("relation", node.rel) for node in walk(expr) if hasattr(node, "rel") and not isinstance(node, Column)}
    found |= {("relation", node.item) for node in walk(expr) if isinstance(node, Fold)}
    return found | {("query", node.number) for node in walk(expr) if isinstance(node, Cte)}


class _Pairing:
    """Pairs the relations that two expressions define, and compares the expressions under that pairing."""

    def __init__(self, one: Any, other: Any) -> None:
        self._own = _defined_numbers(one), _defined_numbers(other)
        self._pairs: tuple[dict[tuple[str, int], int], dict[tuple[str, int], int]] = {}, {}

    def same(self, one: Any, other: Any) -> bool:
        if type(one) is not type(other):
            return False
        if isinstance(one, tuple):
            return len(one) == len(other) and all(map(self.same, one, other))
        if not isinstance(one, TreeNode):
            return bool(one == other)
        numbered = _NUMBERED.get(type(one), _OTHERS)
        return all(
            self._paired(numbered[each.name], getattr(one, each.name), getattr(other, each.name))
            if each.name in numbered
            else self.same(getattr(one, each.name), getattr(other, each.name))
            for each in fields(one)
            if each.compare
        )

    def _paired(self, kind: str, one: int, other: int) -> bool:
        a, b = (kind, one), (kind, other)
        if a not in self._own[0] or b not in self._own[1]:
            return a == b and a not in self._own[0] and b not in self._own[1]
        return self._pairs[0].setdefault(a, other) == other and self._pairs[1].setdefault(b, one) == one

"""Computes subplans that occur in a plan several times once: joins, aggregates and what is built on them.

Two subplans are equal if their nodes are equal field by field, apart from column names. A subplan with a volatile
function is not shared, nor is a plain scan, whose columns are resident anyway.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import Any

from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node, Shared
from gpudb.plan.tree.traversal import transform, walk_nodes
from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile

MIN_ROWS = 20_000
"""Minimum rows that a subplan reads; below that another stage costs more than it saves."""
_COSTLY = (nodes.Join, nodes.AsofJoin, nodes.Aggregate, nodes.Window, nodes.DistinctOn, nodes.SetOperation)


def share_subplans(root: Node) -> Node:
    """Replaces each repeated subplan by a `Shared` node, with one number per subplan."""
    every = list(walk_nodes(root))
    if sum(isinstance(node, _COSTLY) for node in every) < 2:
        return root
    # Only subplans that read a table, and read it again, are worth sharing.
    if max(Counter(node.table.oid for node in every if isinstance(node, nodes.Scan)).values(), default=0) < 2:
        return root
    known = _SubplanNumbers()
    counts: Counter[int] = Counter()
    _count(root, known, counts)
    if all(count < 2 for count in counts.values()):
        return root
    lowest = min((node.number for node in walk_nodes(root) if isinstance(node, Shared)), default=0)
    return _Sharer(known, counts, lowest - 1).share(root)


def _count(node: Node, known: _SubplanNumbers, counts: Counter[int]) -> None:
    """Counts the uses of each subplan, as if equal ones were shared."""
    number = known.number(node)
    counts[number] += 1
    if counts[number] == 1:
        for each in node.inputs:
            _count(each, known, counts)


class _SubplanNumbers:
    """Numbers subplans; equal subplans have one number."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        # The node is kept beside its number so that its id stays valid.
        self._by_id: dict[int, tuple[Node, int]] = {}
        self._fresh = 0

    def number(self, node: Node) -> int:
        found = self._by_id.get(id(node))
        if found is None:
            found = self._by_id[id(node)] = node, self._assign(node)
        return found[1]

    def _assign(self, node: Node) -> int:
        below = tuple(self.number(each) for each in node.inputs)
        self._fresh += 1
        if isinstance(node, Shared):
            return self._numbers.setdefault(("shared", node.number), self._fresh)
        own: list[Any] = [type(node).__name__, below]
        for each in fields(node):
            value = getattr(node, each.name)
            if isinstance(value, Node) or each.name == "labels":
                continue
            if each.name == "table":
                own.append((value.oid, value.files))
                continue
            try:
                hash(value)
            except TypeError:
                # Constants may hold lists.
                return self._fresh
            plain = _normalize(value)
            if plain is None:
                return self._fresh
            own.append(plain)
        return self._numbers.setdefault(tuple(own), self._fresh)


def _normalize(value: Any) -> Any | None:
    """Returns a node's field without column names; None if its value changes with each evaluation."""
    volatile = False

    def change(each: Any) -> Any:
        nonlocal volatile
        volatile = volatile or is_volatile(each)
        if isinstance(each, bound.Column) and each.name:
            return nodes.column(each.index, each.type)
        return None

    made = transform(value, change)
    return None if volatile else (made,)


class _Sharer:
    def __init__(self, known: _SubplanNumbers, counts: Counter[int], first: int) -> None:
        self._known = known
        self._counts = counts
        self._next = first
        self._made: dict[int, Shared] = {}

    def share(self, node: Node) -> Node:
        """Returns a node with its repeated subplans under `Shared` nodes."""
        number = self._known.number(node)
        if number in self._made:
            return self._made[number]
        made = node.with_inputs(*(self.share(each) for each in node.inputs))
        if self._counts[number] < 2 or isinstance(node, Shared) or not _is_costly(node):
            return made
        shared = self._made[number] = Shared(made, self._next)
        self._next -= 1
        return shared


def _is_costly(node: Node) -> bool:
    below = list(walk_nodes(node))
    if not any(isinstance(each, _COSTLY) for each in below):
        return False
    return sum(each.table.rows for each in below if isinstance(each, nodes.Scan)) >= MIN_ROWS

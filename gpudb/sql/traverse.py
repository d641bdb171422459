"""Walking bound trees: the children of any node, and all nodes below one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from gpudb.sql import bound

_KINDS: tuple[type, ...] = (
    *bound.Expr.__args__,
    *bound.From.__args__,
    *bound.Query.__args__,
    bound.SortKey,
    bound.Frame,
    bound.Cte,
)
_LEAVES = {"type", "function", "functions", "table", "columns", "value", "name"}
_FIELDS = {kind: tuple(each.name for each in fields(kind) if each.name not in _LEAVES) for kind in _KINDS}


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below a node: expressions, relations, queries, sort keys and frames."""
    for name in _FIELDS[type(node)]:
        yield from _nodes(getattr(node, name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif type(value) in _FIELDS:
        yield value


def walk(node: Any) -> Iterator[Any]:
    """A node and all below it, subqueries included, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)

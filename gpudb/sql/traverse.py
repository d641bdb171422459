"""Walking bound trees: the children of any node, all nodes below one, and a tree with nodes replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any

from gpudb.sql import bound

_NODES = (
    *bound.Expr.__args__,
    *bound.From.__args__,
    *bound.Query.__args__,
    bound.SortKey,
    bound.Frame,
    bound.Cte,
)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    skipped = {"type", "function", "functions", "table", "columns", "value", "name"}
    return tuple(each.name for each in fields(kind) if each.name not in skipped)


def children(node: Any) -> Iterator[Any]:
    """The nodes directly below a node: expressions, relations, queries, sort keys and frames."""
    for name in _fields(type(node)):
        yield from _nodes(getattr(node, name))


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)
    elif isinstance(value, _NODES):
        yield value


def walk(node: Any) -> Iterator[Any]:
    """A node and all below it, subqueries included, outermost first."""
    yield node
    for child in children(node):
        yield from walk(child)


def transform(node: Any, change: Callable[[Any], Any | None]) -> Any:
    """The tree with each node for which `change` gives another replaced by that; others are rebuilt as needed."""
    changed = change(node)
    if changed is not None:
        return changed
    if not is_dataclass(node):
        return node
    updates = {}
    for name in _fields(type(node)):
        old = getattr(node, name)
        new = _transformed(old, change)
        if new is not old:
            updates[name] = new
    return replace(node, **updates) if updates else node  # type: ignore[type-var]


def _transformed(value: Any, change: Callable[[Any], Any | None]) -> Any:
    if isinstance(value, tuple):
        items = tuple(_transformed(item, change) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return transform(value, change) if isinstance(value, _NODES) else value

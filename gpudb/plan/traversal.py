"""Walking and rebuilding plans and their expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

from gpudb.plan.nodes import INPUT, Node
from gpudb.sql import bound

_SKIPPED = {"type", "function", "functions", "table", "columns", "value", "name"}
_NODES = frozenset((*bound.Expr.__args__, bound.SortKey, bound.Frame))


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name not in _SKIPPED)


def walk_nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, outermost first."""
    yield node
    for each in node.inputs:
        yield from walk_nodes(each)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with `change` applied to every node, inputs first."""
    return change(node.with_inputs(*(rebuild(each, change) for each in node.inputs)))


def transform(expr: Any, change: Callable[[Any], Any]) -> Any:
    """An expression rebuilt from the top: where `change` gives something other than None, that takes its place.

    Subqueries are left as they are.
    """
    changed = change(expr)
    if changed is not None:
        return changed
    kind = expr.__class__
    if kind is tuple:
        made = [transform(each, change) for each in expr]
        return tuple(made) if any(a is not b for a, b in zip(made, expr, strict=True)) else expr
    if kind not in _NODES:
        return expr
    parts: dict[str, Any] = {}
    for name in _fields(kind):
        before = getattr(expr, name)
        after = transform(before, change)
        if after is not before:
            parts[name] = after
    return replace(expr, **parts) if parts else expr


def shifted(expr: Any, by: int) -> Any:
    """An expression whose input's columns all moved to the right by some places."""
    return moved(expr, lambda index: index + by)


def moved(expr: Any, place: Callable[[int], int]) -> Any:
    """An expression over an input whose columns have other positions now."""

    def change(each: Any) -> Any:
        if isinstance(each, bound.Column) and each.rel == INPUT:
            return replace(each, index=place(each.index))
        return None

    return transform(expr, change)


def substituted(expr: Any, values: tuple[Any, ...]) -> Any:
    """An expression over a projection's output as one over its input: each column becomes what it was made from."""

    def change(each: Any) -> Any:
        return values[each.index] if isinstance(each, bound.Column) and each.rel == INPUT else None

    return transform(expr, change)


def used(expr: Any) -> frozenset[int]:
    """The positions of the input's columns that an expression reads."""
    found: set[int] = set()

    def look(each: Any) -> Any:
        if isinstance(each, bound.Column) and each.rel == INPUT:
            found.add(each.index)
        return None

    transform(expr, look)
    return frozenset(found)


def conjuncts(expr: Any | None) -> tuple[Any, ...]:
    """The conditions that an AND joins."""
    if expr is None:
        return ()
    if isinstance(expr, bound.BoolOp) and expr.op == "AND":
        return tuple(part for each in expr.args for part in conjuncts(each))
    return (expr,)


def conjunction(parts: tuple[Any, ...]) -> Any | None:
    """Conditions joined by AND; None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return bound.BoolOp("AND", tuple(parts))

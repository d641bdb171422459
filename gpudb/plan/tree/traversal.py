"""Walking and rebuilding plans and their expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from gpudb.plan.tree.nodes import INPUT, Node
from gpudb.sql import bound
from gpudb.sql.traverse import among, below

_NODES = (*bound.Expr.__args__, bound.SortKey, bound.Frame)
_HOLDING = ("Expr", "SortKey", "Frame", "bound.")


_HELD: dict[type, tuple[str, ...]] = {}


def holding(kind: type) -> tuple[str, ...]:
    """The fields of a plan's node, or of an expression, that hold expressions: a subquery's query is none."""
    found = _HELD.get(kind)
    if found is None:
        held = (each.name for each in fields(kind) if any(name in str(each.type) for name in _HOLDING))
        found = _HELD[kind] = tuple(held)
    return found


_PARTS = {kind: holding(kind) for kind in _NODES}
_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in _NODES}


def parts(expr: Any) -> list[Any]:
    """The expressions, sort keys and frames directly below one."""
    return below(expr, _PARTS)


def flat(values: tuple[Any, ...]) -> list[Any]:
    """The expressions of a tuple, and of tuples in it."""
    return among(values, _PARTS)


def walk_nodes(node: Node) -> Iterator[Node]:
    """A node and all below it, outermost first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.inputs)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with `change` applied to every node, inputs first."""
    inputs = node.inputs
    return change(node.with_inputs(*[rebuild(each, change) for each in inputs]) if inputs else node)


def transform(expr: Any, change: Callable[[Any], Any]) -> Any:
    """An expression, or several in a tuple, rebuilt from the top: where `change` gives something other than None for an
    expression, that takes its place.

    Subqueries are left as they are.
    """
    kind = expr.__class__
    if kind is tuple:
        made = [transform(each, change) for each in expr]
        for one, other in zip(made, expr, strict=True):
            if one is not other:
                return tuple(made)
        return expr
    names = _PARTS.get(kind)
    if names is None:
        return expr
    changed = change(expr)
    if changed is not None or not names:
        return expr if changed is None else changed
    changes: dict[str, Any] = {}
    for name in names:
        before = getattr(expr, name)
        if before is not None:
            after = transform(before, change)
            if after is not before:
                changes[name] = after
    if not changes:
        return expr
    # Half of what `replace` takes.
    return kind(*[changes[name] if name in changes else getattr(expr, name) for name in _FIELDS[kind]])


def shifted(expr: Any, by: int) -> Any:
    """An expression whose input's columns all moved to the right by some places."""
    return moved(expr, lambda index: index + by)


def moved(expr: Any, place: Callable[[int], int]) -> Any:
    """An expression over an input whose columns have other positions now."""

    def change(each: Any) -> Any:
        if each.__class__ is bound.Column and each.rel == INPUT:
            index = place(each.index)
            return each if index == each.index else bound.Column(INPUT, index, each.type, each.name)
        return None

    return (change(expr) or expr) if expr.__class__ is bound.Column else transform(expr, change)


def substituted(expr: Any, values: tuple[Any, ...]) -> Any:
    """An expression over a projection's output as one over its input: each column becomes what it was made from."""

    def change(each: Any) -> Any:
        return values[each.index] if each.__class__ is bound.Column and each.rel == INPUT else None

    return transform(expr, change)


def used(expr: Any) -> set[int]:
    """The positions of the input's columns that an expression, or several in a tuple, read."""
    found: set[int] = set()
    waiting = [expr]
    while waiting:
        each = waiting.pop()
        kind = each.__class__
        if kind is bound.Column:
            if each.rel == INPUT:
                found.add(each.index)
        elif kind is tuple:
            waiting += each
        else:
            waiting += [getattr(each, name) for name in _PARTS.get(kind, ())]
    return found


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

"""Traverses and rebuilds plans and their expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

from gpudb.plan.tree.nodes import INPUT, Node
from gpudb.sql import bound
from gpudb.sql.traverse import children_of_kinds, filter_nodes

_NODES = (*bound.Expr.__args__, bound.SortKey, bound.Frame)
_HOLDING = ("Expr", "SortKey", "Frame", "bound.")


_HELD: dict[type, tuple[str, ...]] = {}


def expression_fields(kind: type) -> tuple[str, ...]:
    """Returns the fields of a node or expression class that hold expressions; a subquery's query is not one."""
    found = _HELD.get(kind)
    if found is None:
        held = (each.name for each in fields(kind) if any(name in str(each.type) for name in _HOLDING))
        found = _HELD[kind] = tuple(held)
    return found


_PARTS = {kind: expression_fields(kind) for kind in _NODES}
_FIELDS = {kind: tuple(each.name for each in fields(kind)) for kind in _NODES}


def child_exprs(expr: Any) -> list[Any]:
    """Returns the expressions, sort keys and frames directly below one."""
    return children_of_kinds(expr, _PARTS)


def flatten(values: tuple[Any, ...]) -> list[Any]:
    """Returns the expressions of a tuple and of the tuples nested in it."""
    return filter_nodes(values, _PARTS)


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yields a node and all nodes below it, outermost first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.inputs)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Returns the plan with `change` applied to every node, inputs first."""
    inputs = node.inputs
    return change(node.with_inputs(*[rebuild(each, change) for each in inputs]) if inputs else node)


def transform(expr: Any, change: Callable[[Any], Any]) -> Any:
    """Rebuilds an expression, or several in a tuple, from the top.

    Where `change` returns something other than None for an expression, that replaces it. Subqueries are left unchanged.
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
    # Takes half the time of `replace`.
    return kind(*[changes[name] if name in changes else getattr(expr, name) for name in _FIELDS[kind]])


def shift_columns(expr: Any, by: int) -> Any:
    """Shifts an expression's input columns to the right by `by` positions."""
    return remap_columns(expr, lambda index: index + by)


def remap_columns(expr: Any, place: Callable[[int], int]) -> Any:
    """Remaps an expression's input columns to other positions."""

    def change(each: Any) -> Any:
        if each.__class__ is bound.Column and each.rel == INPUT:
            index = place(each.index)
            return each if index == each.index else bound.Column(INPUT, index, each.type, each.name)
        return None

    return (change(expr) or expr) if expr.__class__ is bound.Column else transform(expr, change)


def substitute(expr: Any, values: tuple[Any, ...]) -> Any:
    """Rewrites an expression over a projection's output as one over its input: a column becomes its defining
    expression.
    """

    def change(each: Any) -> Any:
        return values[each.index] if each.__class__ is bound.Column and each.rel == INPUT else None

    return transform(expr, change)


def columns_read(expr: Any) -> set[int]:
    """Returns the positions of the input columns that an expression, or several in a tuple, reads."""
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


def split_conjuncts(expr: Any | None) -> tuple[Any, ...]:
    """Returns the conditions that an AND joins."""
    if expr is None:
        return ()
    if isinstance(expr, bound.BoolOp) and expr.op == "AND":
        return tuple(part for each in expr.args for part in split_conjuncts(each))
    return (expr,)


def join_conjuncts(parts: tuple[Any, ...]) -> Any | None:
    """Joins conditions by AND; None for none."""
    if len(parts) < 2:
        return parts[0] if parts else None
    return bound.BoolOp("AND", tuple(parts))

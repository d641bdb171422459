"""Traverses and rebuilds plans and their expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpudb.plan.tree.nodes import INPUT, Node, Shared
from gpudb.sql import bound, tree

_EXPRESSIONS = tree.kinds_of(*bound.Expr.__args__, bound.SortKey, bound.Frame)


def child_exprs(expr: Any) -> list[Any]:
    """Returns the expressions, sort keys and frames directly below one; a subquery's query is not one."""
    return tree.children(expr, _EXPRESSIONS)


def flatten(values: tuple[Any, ...]) -> list[Any]:
    """Returns the expressions of a tuple and of the tuples nested in it."""
    return tree.nodes_in(values, _EXPRESSIONS)


def walk_nodes(node: Node) -> Iterator[Node]:
    """Yields a node and all nodes below it, outermost first."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += reversed(each.inputs)


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """Returns the plan with `change` applied to every node, inputs first; once to what several nodes share."""
    return _rebuild(node, change, {})


def _rebuild(node: Node, change: Callable[[Node], Node], shared: dict[int, Node]) -> Node:
    """Rebuilds a plan; `shared` has what was made of shared subplans, by their identity."""
    is_shared = node.__class__ is Shared
    if is_shared and (made := shared.get(id(node))) is not None:
        return made
    inputs = node.inputs
    made = change(node.with_inputs(*[_rebuild(each, change, shared) for each in inputs]) if inputs else node)
    if is_shared:
        shared[id(node)] = made
    return made


def transform(expr: Any, change: Callable[[Any], Any]) -> Any:
    """Rebuilds an expression, or several in a tuple, from the top.

    Where `change` returns something other than None for an expression, that replaces it. Subqueries are left unchanged.
    """
    return tree.rewrite(expr, change, _EXPRESSIONS)


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
            waiting += [getattr(each, name) for name in _EXPRESSIONS.get(kind, ())]
    return found

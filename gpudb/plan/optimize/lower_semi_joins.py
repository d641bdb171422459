"""Moves semi-joins and anti-joins below joins that would multiply the rows that they remove.

Like a filter they keep rows of one relation by its own columns, so they may stand directly above it. One whose keys or
condition may fail stays in place, since further down it would see rows that a join removes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.tree.nodes import Join, Node, Project
from gpudb.plan.tree.traversal import columns_read, rebuild, remap_columns, substitute
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import split_conjuncts


def lower_semi_joins(root: Node) -> Node:
    """Moves each semi-join and anti-join down to the input with the fewest rows that it can filter."""
    return rebuild(root, _lower)


def _lower(node: Node) -> Node:
    if not isinstance(node, Join) or node.kind not in {"SEMI", "ANTI"}:
        return node
    parts = [each for pair in node.keys for each in pair] + list(split_conjuncts(node.condition))
    return node if any(map(may_fail, parts)) else _lower_into_left(node) or node


def _lower_into_left(node: Join) -> Node | None:
    """Returns the semi-join inside its left input; None where it is best in place."""
    input_node = node.left
    match input_node:
        case Project(exprs=exprs) if all(isinstance(expr, bound.Column) for expr in exprs):
            keys, condition = _over_projection_input(node, exprs, len(input_node.input.types))
            inner = replace(node, left=input_node.input, keys=keys, condition=condition)
            made = _lower_into_left(inner)
            return None if made is None else replace(input_node, input=made)
        case Join(kind="INNER" | "LEFT" as kind, left=left, right=right):
            width = len(left.types)
            reads = _left_columns_read(node)
            if not reads:
                return None
            if max(reads) < width and estimate(left) <= estimate(input_node):
                condition = _shift_right_columns(node.condition, len(input_node.types), width)
                inner = replace(node, left=left, condition=condition)
                return replace(input_node, left=_lower_into_left(inner) or inner)
            if min(reads) >= width and kind == "INNER" and estimate(right) <= estimate(input_node):
                keys = tuple((remap_columns(a, lambda index: index - width), b) for a, b in node.keys)
                condition = (
                    remap_columns(node.condition, lambda index: index - width) if node.condition is not None else None
                )
                inner = replace(node, left=right, keys=keys, condition=condition)
                return replace(input_node, right=_lower_into_left(inner) or inner)
    return None


def _left_columns_read(node: Join) -> set[int]:
    """Returns the columns of the left input that a semi-join reads."""
    found = {index for a, _ in node.keys for index in columns_read(a)}
    return found | {index for index in columns_read(node.condition) if index < len(node.left.types)}


def _over_projection_input(
    node: Join, exprs: tuple[Any, ...], width: int
) -> tuple[tuple[tuple[Any, Any], ...], Any | None]:
    """Rewrites a semi-join's keys and condition from a projection, its left input, to that projection's input."""
    keys = tuple((substitute(a, exprs), b) for a, b in node.keys)
    if node.condition is None:
        return keys, None
    places = {index: expr.index for index, expr in enumerate(exprs)}
    own = len(exprs)
    return keys, remap_columns(node.condition, lambda index: places[index] if index < own else index - own + width)


def _shift_right_columns(condition: Any | None, before: int, now: int) -> Any | None:
    """Rewrites a condition for a left input with fewer columns: the right input's columns follow earlier."""
    if condition is None:
        return None
    return remap_columns(condition, lambda index: index if index < before else index - before + now)

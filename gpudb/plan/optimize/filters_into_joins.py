"""Conditions above an inner join become its keys, its condition, or conditions of one side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.nodes import Filter, Join, Node, Scan
from gpudb.plan.restore import joined
from gpudb.plan.traversal import conjunction, conjuncts, moved, rebuild, used


def filters_into_joins(root: Node) -> Node:
    """Every filter moved as far down as inner joins and scans let it."""
    return rebuild(root, _lowered)


def filtered(node: Node, parts: list[Any]) -> Node:
    """A node under more conditions, each as far down as it goes."""
    condition = conjunction(tuple(parts))
    return node if condition is None else _lowered(Filter(node, condition))


def _lowered(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    below = node.input
    if isinstance(below, Filter):
        return filtered(below.input, [*conjuncts(below.condition), *conjuncts(node.condition)])
    if isinstance(below, Scan):
        parts = (*conjuncts(below.filter), *conjuncts(node.condition))
        return replace(below, filter=conjunction(parts))
    if not isinstance(below, Join) or below.kind != "INNER":
        return node
    width = len(below.left.types)
    left: list[Any] = []
    right: list[Any] = []
    both: list[Any] = list(conjuncts(below.condition))
    for part in conjuncts(node.condition):
        places = used(part)
        if places and max(places) < width:
            left.append(part)
        elif places and min(places) >= width:
            right.append(moved(part, lambda index: index - width))
        else:
            both.append(part)
    one, other = filtered(below.left, left), filtered(below.right, right)
    made = joined("INNER", one, other, tuple(both))
    return replace(made, keys=below.keys + made.keys)

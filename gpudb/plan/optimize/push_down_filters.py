"""Pushes conditions down to scans: below projections, groups and semi-joins, and into inner joins.

An outer join whose NULL-extended rows a condition removes becomes a narrower join on the way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.tree.joins import build_join
from gpudb.plan.tree.nodes import Aggregate, AsofJoin, Filter, Join, Node, Project, ProjectSet, Scan, column
from gpudb.plan.tree.null_extension import narrow_outer_join
from gpudb.plan.tree.traversal import columns_read, rebuild, remap_columns, substitute
from gpudb.sql.traverse import join_conjuncts, split_conjuncts


def push_down_filters(root: Node) -> Node:
    """Moves every filter as far down as joins and scans allow."""
    return rebuild(root, _push_down)


def add_filters(node: Node, parts: list[Any]) -> Node:
    """Adds conditions to a node, each as far down as possible."""
    condition = join_conjuncts(tuple(parts))
    return node if condition is None else _push_down(Filter(node, condition))


def _push_down(node: Node) -> Node:
    if not isinstance(node, Filter):
        return node
    match node.input:
        case Filter() as below:
            return add_filters(below.input, [*split_conjuncts(below.condition), *split_conjuncts(node.condition)])
        case Scan() as below:
            parts = (*split_conjuncts(below.filter), *split_conjuncts(node.condition))
            return replace(below, filter=join_conjuncts(parts))
        case Project() as below:
            return _push_into_first(node, below, below.exprs)
        case Aggregate() as below:
            return _push_into_first(node, below, below.keys)
        case (ProjectSet() | AsofJoin() | Join(kind="SEMI" | "ANTI")) as below:
            return _push_into_first(node, below, _columns(below.inputs[0]))
        case Join(kind="INNER") as below:
            return _push_into_inner(node, below)
        case Join() as below:
            made = narrow_outer_join(below, node.condition)
            if made is not below:
                return _push_down(Filter(made, node.condition))
            return _push_into_first(node, below, _columns(below.left)) if below.kind == "LEFT" else node
        case _:
            return node


def _columns(node: Node) -> tuple[Any, ...]:
    return tuple(column(index, kind) for index, kind in enumerate(node.types))


def _push_into_first(node: Filter, below: Node, values: tuple[Any, ...]) -> Node:
    """Pushes down the conditions that read only the first columns of `below`, which are `values` over its first
    input.
    """
    parts = split_conjuncts(node.condition)
    lower = [part for part in parts if (places := columns_read(part)) and max(places) < len(values)]
    if not lower:
        return node
    first, *others = below.inputs
    made = below.with_inputs(add_filters(first, [substitute(part, values) for part in lower]), *others)
    rest = join_conjuncts(tuple(part for part in parts if part not in lower))
    return made if rest is None else Filter(made, rest)


def _push_into_inner(node: Filter, below: Join) -> Node:
    width = len(below.left.types)
    left: list[Any] = []
    right: list[Any] = []
    both: list[Any] = list(split_conjuncts(below.condition))
    for part in split_conjuncts(node.condition):
        places = columns_read(part)
        if places and max(places) < width:
            left.append(part)
        elif places and min(places) >= width:
            right.append(remap_columns(part, lambda index: index - width))
        else:
            both.append(part)
    one, other = add_filters(below.left, left), add_filters(below.right, right)
    made = build_join("INNER", one, other, tuple(both))
    return replace(made, keys=below.keys + made.keys)

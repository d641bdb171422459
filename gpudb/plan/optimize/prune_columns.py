"""Removes columns that nothing above reads, so that they are not computed, moved or read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node, Project, column
from gpudb.plan.tree.traversal import columns_read, remap_columns


def prune_columns(root: Node) -> Node:
    """Returns the plan with only the columns that it needs."""
    every = range(len(root.types))
    pruning = _Pruner()
    made, places = pruning.prune(root, every)
    if pruning.required:
        # A shared subplan returns the columns that any use reads, which are known after all uses have been visited.
        made, places = _Pruner(pruning.required).prune(root, every)
    return _project_exactly(made, places, every)


Required = Sequence[int]


def _project_exactly(node: Node, places: dict[int, int], needed: Required) -> Node:
    """Projects a node to just the required columns, in their order."""
    order = [places[index] for index in needed]
    if order == list(range(len(node.types))):
        return node
    exprs = tuple(column(place, node.types[place], node.names[place]) for place in order)
    return Project(node, exprs)


class _Pruner:
    """Maps a node and its required columns to a node that returns them, and their positions in it."""

    def __init__(self, needed: dict[int, set[int]] | None = None) -> None:
        self.required: dict[int, set[int]] = {}
        self._wanted = needed
        self._shared: dict[int, tuple[Node, dict[int, int]]] = {}

    def prune(self, node: Node, needed: Required) -> tuple[Node, dict[int, int]]:
        return _prune(node, sorted(set(needed)), self)

    def prune_input(self, node: Node, needed: Required, *exprs: Any) -> tuple[Node, dict[int, int]]:
        """Prunes a node's input to the required columns and those that expressions read."""
        every = set(needed)
        for each in exprs:
            every |= columns_read(each)
        return self.prune(node, sorted(every))

    def prune_shared(self, node: nodes.Shared, needed: Required) -> tuple[Node, dict[int, int]]:
        """Prunes a shared subplan to the columns that all uses require; in the first pass only records what this use
        requires.
        """
        if self._wanted is None:
            self.required.setdefault(node.number, set()).update(needed)
            below, places = self.prune(node.input, needed)
            return replace(node, input=below), places
        if node.number not in self._shared:
            kept = sorted(self._wanted[node.number])
            below, places = self.prune(node.input, kept)
            self._shared[node.number] = replace(node, input=_project_exactly(below, places, kept)), _positions(kept)
        return self._shared[node.number]


def _positions(needed: Required) -> dict[int, int]:
    return {index: place for place, index in enumerate(needed)}


@singledispatch
def _prune(node: Any, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    """Keeps all columns of a node without a rule of its own."""
    inputs = []
    for each in node.inputs:
        made, places = pruning.prune(each, range(len(each.types)))
        inputs.append(_project_exactly(made, places, range(len(each.types))))
    return node.with_inputs(*inputs), _positions(range(len(node.types)))


@_prune.register
def _(node: nodes.Scan, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    read = sorted({*needed, *columns_read(node.filter)})
    places = _positions(read)
    condition = remap_columns(node.filter, places.__getitem__) if node.filter is not None else None
    made = replace(node, columns=tuple(node.columns[index] for index in read), filter=condition)
    # Columns that the filter alone reads are dropped above it.
    return _project_exactly(made, places, needed), _positions(needed)


@_prune.register
def _(node: nodes.Values, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    return node, _positions(range(len(node.types)))


@_prune.register
def _(node: nodes.Filter, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    below, places = pruning.prune_input(node.input, needed, node.condition)
    return nodes.Filter(below, remap_columns(node.condition, places.__getitem__)), places


@_prune.register
def _(node: Project, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    exprs = [node.exprs[index] for index in needed]
    below, places = pruning.prune_input(node.input, (), *exprs)
    names = tuple(node.names[index] for index in needed)
    return Project(below, tuple(remap_columns(expr, places.__getitem__) for expr in exprs), names), _positions(needed)


@_prune.register
def _(node: nodes.Join, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    width = len(node.left.types)
    every = {*needed, *columns_read(node.condition)}
    left, one = pruning.prune_input(node.left, [i for i in every if i < width], *(a for a, _ in node.keys))
    right, other = pruning.prune_input(node.right, [i - width for i in every if i >= width], *(b for _, b in node.keys))
    places = one | {index + width: place + len(left.types) for index, place in other.items()}
    keys = tuple((remap_columns(a, one.__getitem__), remap_columns(b, other.__getitem__)) for a, b in node.keys)
    condition = remap_columns(node.condition, places.__getitem__) if node.condition is not None else None
    made = replace(node, left=left, right=right, keys=keys, condition=condition)
    return made, one if node.kind in {"SEMI", "ANTI"} else places


@_prune.register
def _(node: nodes.AsofJoin, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    pairs = nodes.Join("INNER", node.left, node.right, (*node.keys, node.times), node.condition)
    made, places = _prune(pairs, needed, pruning)
    assert isinstance(made, nodes.Join)
    *keys, times = made.keys
    pruned = replace(node, left=made.left, right=made.right, keys=tuple(keys), times=times, condition=made.condition)
    return pruned, places


@_prune.register
def _(node: nodes.Aggregate, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    width = len(node.keys)
    kept = [number for number in range(len(node.calls)) if number + width in needed]
    calls = [node.calls[number] for number in kept]
    below, places = pruning.prune_input(node.input, (), *node.keys, *calls)
    keys = tuple(remap_columns(key, places.__getitem__) for key in node.keys)
    made = replace(node, input=below, keys=keys, calls=tuple(remap_columns(call, places.__getitem__) for call in calls))
    found = _positions(range(width)) | {number + width: width + place for place, number in enumerate(kept)}
    return made, found


@_prune.register
def _(node: nodes.Window, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    width = len(node.input.types)
    below, places = pruning.prune_input(node.input, [i for i in needed if i < width], *node.calls)
    calls = tuple(remap_columns(call, places.__getitem__) for call in node.calls)
    found = places | {width + n: len(below.types) + n for n in range(len(calls))}
    return nodes.Window(below, calls), found


@_prune.register
def _(node: nodes.Sort, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    below, places = pruning.prune_input(node.input, needed, *node.keys)
    return replace(node, input=below, keys=remap_columns(node.keys, places.__getitem__)), places


@_prune.register
def _(node: nodes.DistinctOn, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    below, places = pruning.prune_input(node.input, needed, *node.keys, *node.order)
    keys, order = remap_columns(node.keys, places.__getitem__), remap_columns(node.order, places.__getitem__)
    return nodes.DistinctOn(below, keys, order), places


@_prune.register
def _(node: nodes.SetOperation, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    if node.op != "UNION":
        needed = range(len(node.types))
    left, right = (_project_exactly(*pruning.prune(each, needed), needed) for each in (node.left, node.right))
    return node.with_inputs(left, right), _positions(needed)


@_prune.register
def _(node: nodes.Shared, needed: Required, pruning: _Pruner) -> tuple[Node, dict[int, int]]:
    return pruning.prune_shared(node, needed)

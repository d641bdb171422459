"""Finds the text columns of a stage's scans that are worth coding: those that group, join, sort or partition rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpudb.engine.gpu.lower.expressions.text_codes import TEXTS
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import INPUT, Node
from gpudb.plan.tree.stage_nodes import Partial, Receive
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import columns_read, walk_nodes
from gpudb.sql import bound

CODED_ROWS = 10_000
"""Least rows of one of a stage's tables for which texts are coded."""


def find_coded_columns(root: Node, coded: Collection[int] = ()) -> Mapping[int, frozenset[int]]:
    """Returns the positions of columns that scans should return as codes, by the ids of the scans.

    `coded` are the positions of the stage's own texts that are wanted as codes. Without them there are none where all
    tables are small.
    """
    if not coded and not _reads_many_rows(root):
        return {}
    uses = _Uses()
    uses.visit(root, set(coded))
    return {scan: frozenset(places) for scan, places in uses.scanned.items()}


def mark_coded_outputs(stages: Sequence[Stage]) -> list[Stage]:
    """Returns stages with the texts marked that later stages group, join, sort or partition by."""
    if not any(_reads_many_rows(stage.root) for stage in stages):
        return list(stages)
    uses = _Uses()
    marked: list[Stage] = []
    for stage in reversed(stages):
        coded = uses.received.get(stage.number, set())
        uses.visit(stage.root, coded)
        marked.append(replace(stage, coded=tuple(sorted(coded))) if coded else stage)
    return marked[::-1]


def _reads_many_rows(root: Node) -> bool:
    return any(isinstance(each, nodes.Scan) and each.table.rows >= CODED_ROWS for each in walk_nodes(root))


class _Uses:
    """The text columns of scans, by their ids, and of earlier stages, by their numbers, that are used as codes."""

    def __init__(self) -> None:
        self.scanned: defaultdict[int, set[int]] = defaultdict(set)
        self.received: defaultdict[int, set[int]] = defaultdict(set)

    def visit(self, node: Node, wanted: set[int]) -> None:
        """Visits a node of whose rows the columns `wanted` would be used as codes."""
        match node:
            case nodes.Scan():
                self.scanned[id(node)] |= {place for place in wanted if node.types[place].name in TEXTS}
            case Receive():
                self.received[node.stage] |= {place for place in wanted if node.types[place].name in TEXTS}
            case nodes.Filter() | nodes.AssignUniqueId():
                self.visit(node.input, wanted)
            case nodes.Project():
                self.visit(node.input, _texts_of(node.exprs[place] for place in wanted))
            case nodes.Join():
                width = len(node.left.types)
                pairs = [(_texts_of((one,)), _texts_of((other,))) for one, other in node.keys]
                left = {place for place in wanted if place < width}
                right = {place - width for place in wanted if place >= width}
                for one, other in pairs:
                    left |= one
                    right |= other
                self.visit(node.left, left)
                self.visit(node.right, right)
            case nodes.Aggregate() | Partial():
                aggregate = node.aggregate if isinstance(node, Partial) else node
                counted = [arg for call in aggregate.calls if call.function.name == "count" for arg in call.args]
                self.visit(node.input, _texts_of([*aggregate.keys, *counted]))
            case nodes.Sort():
                self.visit(node.input, wanted | _texts_of(key.expr for key in node.keys))
            case nodes.Window():
                width = len(node.input.types)
                keys = _texts_of(key for call in node.calls for key in call.partition_by)
                self.visit(node.input, {place for place in wanted if place < width} | keys)
            case nodes.SetOperation():
                self.visit(node.left, wanted)
                self.visit(node.right, wanted)
            case Fused():
                for each in (node.root, *node.builds):
                    self.visit(each, set())
            case _:
                for each in node.inputs:
                    self.visit(each, set())


def _texts_of(exprs: Iterable[Any]) -> set[int]:
    """Returns the text columns that are expressions, or of which alone texts are computed."""
    found: set[int] = set()
    for expr in exprs:
        read = columns_read(expr) if expr.type.name in TEXTS else set()
        if isinstance(expr, bound.Column) and expr.rel != INPUT:
            continue
        found |= read if len(read) == 1 else set()
    return found

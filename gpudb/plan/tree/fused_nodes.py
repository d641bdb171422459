"""Nodes of a fused kernel: a part of a plan over one table, and the build sides that it probes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from gpudb.plan.tree.nodes import DeclaredLeaf, Node
from gpudb.types import SqlType


@dataclass(frozen=True, slots=True)
class BuildSideScan(DeclaredLeaf):
    """The rows of build side `number` inside a fused part; `rows` is their estimate, `base` the row count of their
    table.
    """

    number: int
    columns: tuple[tuple[str, SqlType], ...]
    rows: int = 1
    base: int = 1


@dataclass(frozen=True, slots=True)
class Fused(Node):
    """One pass over a table. `root` is the part of the plan that it computes, down to one Scan and the Builts.

    `builds` are the nodes that produce the rows of the Builts. Every worker has all of those rows.
    """

    children = ("builds",)
    apart = ("root",)

    root: Node
    builds: tuple[Node, ...]

    def _compute_inputs(self) -> tuple[Node, ...]:
        return self.builds

    def with_inputs(self, *inputs: Node) -> Self:
        if all(a is b for a, b in zip(inputs, self.builds, strict=True)):
            return self
        return replace(self, builds=inputs)

    def _compute_types(self) -> tuple[SqlType, ...]:
        return self.root.types

    def _compute_names(self) -> tuple[str, ...]:
        return self.root.names

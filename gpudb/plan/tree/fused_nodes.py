"""Nodes of what runs as one kernel: a part of a plan over one table, and the build sides that it looks up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from gpudb.plan.tree.nodes import Named, Node
from gpudb.types import SqlType


@dataclass(frozen=True)
class Built(Named):
    """In a fused part, the rows of its build side `number`, thought to be so many, of a table that has `base` rows."""

    number: int
    columns: tuple[tuple[str, SqlType], ...]
    rows: int = 1
    base: int = 1


@dataclass(frozen=True)
class Fused(Node):
    """One pass over a table: `root` is the part of the plan that it computes, down to one Scan and the Builts.

    `builds` are the nodes whose rows the Builts are; every worker has all of them.
    """

    root: Node
    builds: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.builds

    def with_inputs(self, *inputs: Node) -> Self:
        if all(a is b for a, b in zip(inputs, self.builds, strict=True)):
            return self
        return replace(self, builds=inputs)

    @cached_property
    def types(self) -> tuple[SqlType, ...]:
        return self.root.types

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.root.names

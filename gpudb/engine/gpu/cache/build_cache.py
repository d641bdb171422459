"""Stages whose fused parts all workers have bound: what only their build sides would read need not run again.

Each worker tells of its own; the coordinator asks all of them to leave such stages out, so that none waits for rows
that another one does not make. A worker that has let go of a part by then says so, and all runs once more as a whole.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpudb.plan.physical.stages import Stage
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.traversal import walk_nodes

_KEPT = 4096
_Key = tuple[bytes, bytes, tuple[str, ...]]
"""A plan's digest, its parameters, and the workers of its shares."""


class BoundStages:
    """The coordinator's side, on its event loop: what the workers have told."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[int, ...]] = OrderedDict()

    def of(self, digest: bytes, parameters: bytes, peers: tuple[str, ...]) -> tuple[int, ...]:
        """The numbers of a plan's stages that these workers have bound."""
        return self._known.get((digest, parameters, peers), ())

    def learn(
        self, digest: bytes, parameters: bytes, peers: tuple[str, ...], told: Iterable[Sequence[Sequence[int]]]
    ) -> None:
        """Each worker has told which of the stages that it ran it has bound, and which not; none was left out."""
        loose, every = set[int](), set[int]()
        for bound, other in told:
            every |= set(bound)
            loose |= set(other)
        self._known[digest, parameters, peers] = tuple(sorted(every - loose))
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def forget(self, digest: bytes, parameters: bytes, peers: tuple[str, ...]) -> None:
        """A worker has let go of some of it."""
        self._known.pop((digest, parameters, peers), None)


def fused_parts(stage: Stage) -> list[Fused]:
    """A stage's fused parts, those of their build sides too; none for one whose scans its rows narrow each time."""
    return [] if stage.narrows else [node for node in walk_nodes(stage.root) if isinstance(node, Fused)]


def without(stages: Sequence[Stage], bound: Iterable[int]) -> tuple[list[Stage], set[int]]:
    """A plan's stages without what only the build sides of `bound` ones read: stages that do not run read nothing, and
    bound ones read what is left. And the numbers of those that run."""
    numbers = set(bound)
    again = {id(part): part for stage in stages if stage.number in numbers for part in fused_parts(stage)}
    wanted = needed(stages, again)
    left = []
    for stage in stages:
        reads: set[int | None] = {*wanted}
        if stage.number in numbers:
            reads = {*received(stage.root, again), stage.sample}
        if stage.number not in wanted:
            reads = set()
        left.append(replace(stage, inputs=tuple(number for number in stage.inputs if number in reads)))
    return left, wanted


def needed(stages: Sequence[Stage], again: Mapping[int, object]) -> set[int]:
    """The numbers of the stages that run: all that the last one reads, but for the build sides of bound parts."""
    found = {stages[-1].number}
    for stage in reversed(stages):
        if stage.number in found:
            found |= received(stage.root, again)
            found |= {stage.sample} - {None}  # type: ignore[arg-type]
    return found


def received(node: Node, again: Mapping[int, object]) -> set[int]:
    """The stages whose rows a node reads, but for the build sides of bound parts."""
    if id(node) in again:
        return set()
    if isinstance(node, Receive):
        return {node.stage}
    return {number for each in node.inputs for number in received(each, again)}

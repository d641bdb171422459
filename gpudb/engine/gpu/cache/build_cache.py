"""Caches which stages' fused parts all workers have bound, and prunes the stages that only their build sides read.

Each worker reports its own bound stages. The coordinator asks all workers to leave such stages out, so that none waits
for rows that another one does not produce. A worker that has evicted a bound part reports it, and the statement runs
once more in full.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from gpudb.engine.gpu.cache.partition import Partition
from gpudb.lru import LruCache
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import walk_nodes

_Key = tuple[bytes, bytes, tuple[str, ...]]
"""A plan's digest, its parameters, and the addresses of its partitions' workers."""


class BuildCache:
    """The coordinator's record of bound stages; used on its event loop."""

    def __init__(self) -> None:
        self._bound: LruCache[_Key, tuple[int, ...]] = LruCache(4096)

    def get(self, digest: bytes, parameters: bytes, peers: tuple[str, ...]) -> tuple[int, ...]:
        """Returns the numbers of a plan's stages that these workers have bound."""
        return self._bound.get((digest, parameters, peers)) or ()

    def record(
        self, digest: bytes, parameters: bytes, peers: tuple[str, ...], reports: Iterable[Sequence[Sequence[int]]]
    ) -> None:
        """Records the stages that each worker has run and bound, and run and not bound; no stage was left out."""
        loose, every = set[int](), set[int]()
        for bound, other in reports:
            every |= set(bound)
            loose |= set(other)
        self._bound.put((digest, parameters, peers), tuple(sorted(every - loose)))

    def invalidate(self, digest: bytes, parameters: bytes, peers: tuple[str, ...]) -> None:
        """Removes a plan's record after a worker has evicted a bound part."""
        self._bound.pop((digest, parameters, peers))


def fused_parts(stage: Stage) -> list[Fused]:
    """Returns a stage's fused parts, those of build sides included; none if its scans are narrowed on each run."""
    return [] if stage.dynamic_filters else [node for node in walk_nodes(stage.root) if isinstance(node, Fused)]


def prune_stages(stages: Sequence[Stage], bound: Iterable[int]) -> tuple[list[Stage], set[int]]:
    """Returns a plan's stages without what only the build sides of `bound` ones read, and the numbers of those that
    run.

    Stages that do not run have no inputs; bound ones keep the inputs that remain.
    """
    numbers = set(bound)
    bound_parts = {id(part): part for stage in stages if stage.number in numbers for part in fused_parts(stage)}
    wanted = required_stages(stages, bound_parts)
    left = []
    for stage in stages:
        reads: set[int | None] = {*wanted}
        if stage.number in numbers:
            reads = {*received_stages(stage.root, bound_parts), stage.sample}
        if stage.number not in wanted:
            reads = set()
        left.append(replace(stage, inputs=tuple(number for number in stage.inputs if number in reads)))
    return left, wanted


def required_stages(stages: Sequence[Stage], bound_parts: Mapping[int, object]) -> set[int]:
    """Returns the numbers of the stages that run: all inputs of the last one, except build sides of bound parts."""
    found = {stages[-1].number}
    for stage in reversed(stages):
        if stage.number in found:
            found |= received_stages(stage.root, bound_parts)
            found |= {stage.sample} - {None}  # type: ignore[arg-type]
    return found


def received_stages(node: Node, bound_parts: Mapping[int, object]) -> set[int]:
    """Returns the stages whose rows a node reads, except those of build sides of bound parts."""
    if id(node) in bound_parts:
        return set()
    if isinstance(node, Receive):
        return {node.stage}
    return {number for each in node.inputs for number in received_stages(each, bound_parts)}


def binding_key(parameters: bytes, partition: Partition) -> Hashable:
    """Returns the key under which fused parts are bound: everything that they depend on, besides the plan."""
    return parameters, partition


def is_bound(node: Node, bound_parts: Mapping[int, object]) -> bool:
    """Returns whether a stage reads only fused parts that are bound, which `bound_parts` has by their ids."""
    if id(node) in bound_parts:
        return True
    return not isinstance(node, Scan | Fused) and all(is_bound(each, bound_parts) for each in node.inputs)

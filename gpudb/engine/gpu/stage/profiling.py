"""Measures the operators of a stage for EXPLAIN ANALYZE, which computes them one by one."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from gpudb.engine.figures import OperatorFigures
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.cache.host_columns import pruned_files
from gpudb.engine.gpu.cache.partition import Partition, scan_partition
from gpudb.engine.gpu.lower.expressions.lowered_frame import Frame
from gpudb.plan.tree import nodes
from gpudb.plan.tree.stage_nodes import Defer, Final, Partial, Receive
from gpudb.plan.tree.traversal import walk_nodes


class OperatorProfiler:
    """Computes the nodes of a stage's `root` one by one, as they are lowered, and measures each."""

    def __init__(
        self,
        root: nodes.Node,
        partition: Partition,
        parameters: Sequence[object],
        received: Mapping[int, Sequence[ComputedFrame]],
        backend: Backend,
    ) -> None:
        self._numbers = number_nodes(root)
        self._partition, self._parameters = partition, parameters
        self._received, self._backend = received, backend
        self._outputs: dict[int, tuple[int, int]] = {}
        self._last = time.perf_counter()
        self.figures: list[OperatorFigures] = []

    def __call__(self, node: nodes.Node, frame: Frame) -> Frame:
        """Returns a node's frame, computed."""
        if isinstance(node, Receive):
            parts = self._received[node.stage]
            self._outputs[id(node)] = sum(part.rows for part in parts), sum(part.bytes for part in parts)
            return frame
        if id(node) not in self._numbers:
            return frame
        held = self._backend.compute(frame.lazy)
        self._outputs[id(node)] = held.rows, held.bytes
        now = time.perf_counter()
        spent, self._last = 1000 * (now - self._last), now
        hashed = self._hash_size(node, held)
        self.figures.append(OperatorFigures(self._numbers[id(node)], self._input_rows(node), held.rows, *hashed, spent))
        return Frame(held.lazy, frame.bounds, held, frame.texts)

    def _input_rows(self, node: nodes.Node) -> int:
        """Returns the input rows of a filter; 0 for other operators."""
        scan = node.input if isinstance(node, Defer) else node
        if isinstance(scan, nodes.Scan) and scan.filter is not None:
            wanted = scan_partition(scan, self._partition).row_ranges(scan.table)
            return sum(len(range(*wanted[file.id])) for file in pruned_files(scan, self._parameters))
        return self._outputs.get(id(node.input), (0, 0))[0] if isinstance(node, nodes.Filter) else 0

    def _hash_size(self, node: nodes.Node, given: ComputedFrame) -> tuple[int, int]:
        """Returns rows and bytes of a join's right side, or of an aggregate's groups."""
        if isinstance(node, nodes.Join):
            return self._outputs.get(id(node.right), (0, 0)) if node.keys else (0, 0)
        if isinstance(node, Final) and node.whole:
            return 0, 0
        grouped = node.aggregate if isinstance(node, Partial | Final) else node
        keyed = isinstance(grouped, nodes.Aggregate) and bool(grouped.keys)
        return (given.rows, given.bytes) if keyed else (0, 0)


def number_nodes(root: nodes.Node) -> dict[int, int]:
    """Returns the index of each node of a stage, by the node's id."""
    return {id(node): place for place, node in enumerate(walk_nodes(root))}

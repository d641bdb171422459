"""Estimated cost of a statement's plan on the workers, by which it is admitted."""

from __future__ import annotations

from gpudb.engine.admission import Cost
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.plan.cost.estimate import estimate
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node

_BYTES_A_SECOND = 10**8
"""Estimated bytes per second of a CPU worker; below, of a GPU and of its kernels."""
_GPU_BYTES_A_SECOND = 10**10
_KERNELS_BYTES_A_SECOND = 10**12


def estimate_cost(root: Node, workers: int, *, gpu: bool = False) -> Cost:
    """Estimates a plan's cost from the rows of its nodes, at 8 bytes per column.

    Kernels keep none of what they read.
    """
    seconds = most = 0.0
    each, read = (_GPU_BYTES_A_SECOND, _KERNELS_BYTES_A_SECOND) if gpu else (_BYTES_A_SECOND, _BYTES_A_SECOND)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        size = 8 * estimate(node) * max(len(node.types), 1)
        seconds, most = seconds + size / each, max(most, size)
        if isinstance(node, Fused):
            scan = find_scan(node.root)
            seconds += 8 * scan.table.rows * len(scan.types) / read
        waiting += node.inputs
    return Cost(int(most) // workers, seconds / workers)

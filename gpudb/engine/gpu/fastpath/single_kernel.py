"""Detects single-kernel plans: one kernel's groups and a final stage, which reads the kernel's columns without frames.

Whether a plan has this form does not depend on data, so it is analysed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.engine.gpu.backend.base import ComputedFrame
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.finalize.host import FinalResult, FinalStage, compile_final_stage
from gpudb.engine.gpu.finalize.merge import KernelStates
from gpudb.engine.gpu.fused.runner import NumpyRunner, ReadyPart
from gpudb.engine.gpu.fused.translate.result_columns import to_frame
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Partial, Receive
from gpudb.plan.tree.stages import Stage


@dataclass(frozen=True, slots=True)
class SingleKernelPlan:
    """The kernel's `part` of stage `number`, and the final stage over its groups."""

    number: int
    part: Fused
    final_stage: FinalStage

    def run(self, kernels: NumpyRunner, ready: ReadyPart, parameters: Sequence[object]) -> FinalResult | ComputedFrame:
        """Returns the result's rows, or the kernel's output for the last stage to continue with.

        `ready` is the bound part.
        """
        lanes = kernels.run_quietly(ready)
        if not isinstance(lanes, list):
            return lanes
        few = lanes[0].rows <= HOST_ROWS
        return (few and self.final_stage.finalize([KernelStates(lanes)], parameters)) or HostFrame(to_frame(lanes))


def match_single_kernel(stages: Sequence[Stage]) -> SingleKernelPlan | None:
    """Analyses a plan for one worker; None if it has another form."""
    last = stages[-1]
    node: Node = last.root
    while len(node.inputs) == 1 and not isinstance(node, Receive):
        (node,) = node.inputs
    if not isinstance(node, Receive) or last.dynamic_filters:
        return None
    stage = stages[node.stage]
    part, tail = stage.root, compile_final_stage(last.root)
    if tail is None or stage.dynamic_filters or not isinstance(part, Fused) or not isinstance(part.root, Partial):
        return None
    return SingleKernelPlan(stage.number, part, tail)

"""Statements that are one kernel's groups and their finish: answered of the columns that the kernel leaves, no frames
between. What a plan is does not depend on data, so it is looked at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpudb.engine.gpu.backend.base import FEW, Held, HostHeld
from gpudb.engine.gpu.finalize.host import Finished, Tail, tail_of
from gpudb.engine.gpu.finalize.merge import OfLanes
from gpudb.engine.gpu.fused.runner import Ready, Twin
from gpudb.engine.gpu.fused.translate.result_columns import frame_of
from gpudb.plan.physical.stages import Stage
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Partial, Receive


@dataclass(frozen=True, slots=True)
class Straight:
    """The kernel's `part`, of the stage `number`, and what becomes of its groups."""

    number: int
    part: Fused
    tail: Tail

    def answer(self, kernels: Twin, ready: Ready, parameters: Sequence[object]) -> Finished | Held:
        """The result's rows; else what the kernel gives, with which the last stage is to go on. `ready` is the part,
        bound."""
        lanes = kernels.lanes(ready)
        if not isinstance(lanes, list):
            return lanes
        few = lanes[0].rows <= FEW
        return (few and self.tail.rows([OfLanes(lanes)], parameters)) or HostHeld(frame_of(lanes))


def straight(stages: Sequence[Stage]) -> Straight | None:
    """What a plan for one worker is; None where it is more."""
    last = stages[-1]
    node: Node = last.root
    while len(node.inputs) == 1 and not isinstance(node, Receive):
        (node,) = node.inputs
    if not isinstance(node, Receive) or last.narrows:
        return None
    stage = stages[node.stage]
    part, tail = stage.root, tail_of(last.root)
    if tail is None or stage.narrows or not isinstance(part, Fused) or not isinstance(part.root, Partial):
        return None
    return Straight(stage.number, part, tail)

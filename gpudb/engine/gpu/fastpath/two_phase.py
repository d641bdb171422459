"""Splits a plan for several workers into two phases: what each computes alone, and what joins their rows.

A statement whose fused parts are bound then needs no exchange: every worker is asked for its first phase at once, and
the second phase runs over all rows in one place. This is for few rows; many rows are exchanged, and every worker
continues with its own part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpudb.engine.gpu.exchange import buffers
from gpudb.engine.gpu.exchange.state_codec import EncodedStates, decode_states
from gpudb.engine.gpu.finalize.host import FinalResult, FinalStage, compile_final_stage
from gpudb.engine.gpu.finalize.merge import FrameStates, KernelStates, States
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.stages import Stage

MAX_BYTES = 2**20
"""Byte limit for the first phase's rows of all workers."""


@dataclass(frozen=True)
class TwoPhasePlan:
    """The first phase, stages of fused parts that run on every worker, and the second phase, one stage that returns the
    result from all of their rows.
    """

    first: tuple[Stage, ...]
    second: Stage

    @cached_property
    def final_stage(self) -> FinalStage | None:
        """The second phase as a `FinalStage`, if it only finishes rows or the states of groups."""
        return compile_final_stage(self.second.root)


class NotSplittable(Exception):
    """The plan cannot be split into two phases."""


def split_phases(stages: Sequence[Stage]) -> TwoPhasePlan | None:
    """Splits a plan; None if a worker's first phase would read anything but fused parts."""
    last = stages[-1]
    parts: dict[int, Stage] = {}
    try:
        if _is_first_phase(last):
            parts[last.number] = last
            columns = tuple(zip(last.root.names, last.root.types, strict=True))
            root: Node = Receive(last.number, columns, last.rows)
        else:
            root = _join_phases(last.root, stages, parts, set())
    except NotSplittable:
        return None
    if not parts:
        return None
    alike = [replace(each, output="gather", keys=(), inputs=(), hash_name="") for _, each in sorted(parts.items())]
    return TwoPhasePlan(tuple(alike), replace(last, root=root, inputs=tuple(sorted(parts)), dynamic_filters=()))


def _is_first_phase(stage: Stage) -> bool:
    """Returns whether a stage reads only fused parts, apart from their build sides."""
    return not stage.single_worker and all(isinstance(each, Fused) for each in _iterate_leaves(stage.root))


def _iterate_leaves(node: Node) -> Iterator[Node]:
    if isinstance(node, Fused) or not node.inputs:
        yield node
        return
    for each in node.inputs:
        yield from _iterate_leaves(each)


def _join_phases(node: Node, stages: Sequence[Stage], parts: dict[int, Stage], read: set[int]) -> Node:
    """Returns a node over the outputs of the first phase, without the exchanges between."""
    if isinstance(node, Receive):
        stage = stages[node.stage]
        if stage.output == "range" or stage.sample is not None:
            raise NotSplittable  # many rows are expected
        if _is_first_phase(stage):
            parts[stage.number] = stage
            return node
        if stage.number in read:
            raise NotSplittable  # it would be computed twice
        read.add(stage.number)
        return _join_phases(stage.root, stages, parts, read)
    if isinstance(node, Fused) or not node.inputs:
        raise NotSplittable
    return node.with_inputs(*(_join_phases(each, stages, parts, read) for each in node.inputs))


def decode_output(data: bytes | EncodedStates) -> States:
    """Decodes a worker's output of one first-phase stage: an IPC stream, or a kernel's columns."""
    return FrameStates(buffers.decode_frame(data)) if isinstance(data, bytes) else KernelStates(*decode_states(data))


def finish_phases(
    phases: TwoPhasePlan, received: Mapping[int, Sequence[States]], parameters: Sequence[object]
) -> FinalResult | None:
    """Returns the result if the second phase only finishes few rows, or states of groups; else None."""
    if phases.final_stage is None:
        return None
    (states,) = received.values()
    return phases.final_stage.finalize(states, parameters)

"""A plan for several workers in two halves: what each computes of its share by itself, and what becomes of their rows.

So a statement whose fused parts are bound needs no exchange: every worker is asked for its half at once, and the other
half runs over all rows in one place. It is for few rows: many are exchanged, and every worker goes on with its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpudb.engine.gpu.exchange import buffers
from gpudb.engine.gpu.exchange.state_codec import Sent, taken
from gpudb.engine.gpu.finalize.host import Finished, Tail, tail_of
from gpudb.engine.gpu.finalize.merge import OfFrame, OfLanes, States
from gpudb.plan.physical.stages import Stage
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Receive

BYTES = 2**20
"""What all workers may give together."""


@dataclass(frozen=True)
class Scattered:
    """The `parts` are stages of fused parts alone, each of which runs on every worker; the `rest` is one stage, which
    gives the result where it receives all rows of theirs."""

    parts: tuple[Stage, ...]
    rest: Stage

    @cached_property
    def tail(self) -> Tail | None:
        """What the rest does with rows, or the states of groups, where these are all that is left to finish."""
        return tail_of(self.rest.root)


class _Whole(Exception):
    """A plan that is not cut so."""


def scattered(stages: Sequence[Stage]) -> Scattered | None:
    """A plan's halves; None where a worker's half would read what is not a fused part's."""
    last = stages[-1]
    parts: dict[int, Stage] = {}
    try:
        if _is_part(last):
            parts[last.number] = last
            columns = tuple(zip(last.root.names, last.root.types, strict=True))
            root: Node = Receive(last.number, columns, last.rows)
        else:
            root = _joined(last.root, stages, parts, set())
    except _Whole:
        return None
    if not parts:
        return None
    alike = [replace(each, output="gather", keys=(), inputs=(), by="") for _, each in sorted(parts.items())]
    return Scattered(tuple(alike), replace(last, root=root, inputs=tuple(sorted(parts)), narrows=()))


def _is_part(stage: Stage) -> bool:
    """Whether all that a stage reads is what fused parts give; their build sides are not looked at."""
    return not stage.alone and all(isinstance(each, Fused) for each in _leaves(stage.root))


def _leaves(node: Node) -> Iterator[Node]:
    if isinstance(node, Fused) or not node.inputs:
        yield node
        return
    for each in node.inputs:
        yield from _leaves(each)


def _joined(node: Node, stages: Sequence[Stage], parts: dict[int, Stage], read: set[int]) -> Node:
    """A node over what workers' halves give, without the exchanges between."""
    if isinstance(node, Receive):
        stage = stages[node.stage]
        if stage.output == "range" or stage.sample is not None:
            raise _Whole  # many rows are thought to come
        if _is_part(stage):
            parts[stage.number] = stage
            return node
        if stage.number in read:
            raise _Whole  # it would be computed twice
        read.add(stage.number)
        return _joined(stage.root, stages, parts, read)
    if isinstance(node, Fused) or not node.inputs:
        raise _Whole
    return node.with_inputs(*(_joined(each, stages, parts, read) for each in node.inputs))


def read(data: bytes | Sent) -> States:
    """What a worker has sent of a part: an IPC stream, or a kernel's columns."""
    return OfFrame(buffers.read(data)) if isinstance(data, bytes) else OfLanes(*taken(data))


def finished(
    halves: Scattered, received: Mapping[int, Sequence[States]], parameters: Sequence[object]
) -> Finished | None:
    """The result, where workers' rows, or states of groups, are few and all that is left to finish; else None."""
    if halves.tail is None:
        return None
    (states,) = received.values()
    return halves.tail.rows(states, parameters)

"""A worker's side of a two-phase statement: its first phase, and the second phase for all workers."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping, Sequence

from gpudb.engine.gpu.backend.base import FEW, ComputedFrame, HostFrame, Offloaded
from gpudb.engine.gpu.cache.partition import WHOLE, Partition
from gpudb.engine.gpu.exchange.buffers import encode_frame
from gpudb.engine.gpu.exchange.result_codec import encode_batch, to_batch
from gpudb.engine.gpu.exchange.state_codec import EncodedStates, encode_states
from gpudb.engine.gpu.fastpath.two_phase import BYTES, decode_output
from gpudb.engine.gpu.worker.executor import INLINE_BYTES, Executor, Figures
from gpudb.engine.gpu.worker.stage_executor import StageTask
from gpudb.engine.gpu.worker.worker_plan import WorkerPlan
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan


class TwoPhaseWorker:
    """The phases of a plan's `stages` on one worker of `count`; computes in the caller's thread."""

    def __init__(self, computing: Executor, plan: WorkerPlan, count: int, parameters: bytes) -> None:
        self._computing, self._count, self._sent = computing, count, parameters
        self._parameters, self._timezone = pickle.loads(parameters)
        self._types = plan.stages[-1].root.types
        self._halves = plan.two_phase
        self._most = BYTES // count

    def ready(self, shares: Sequence[int], measured: Sequence[Figures]) -> bool:
        """Returns whether the first phase is bound over these partitions and returned few rows."""
        if self._halves is None:
            return False
        for share in (Partition(index, self._count) for index in shares):
            again = self._computing.again(self._halves.parts, binding_key(self._sent, share))
            if not all(is_bound(part.root, again) for part in self._halves.parts):
                return False
        numbers = {part.number for part in self._halves.parts}
        given = [figures for figures in measured if figures[0] in numbers]
        return all(figures[2] <= FEW for figures in given) and sum(figures[3] for figures in given) <= self._most

    def rows(self, index: int) -> bytes | None:
        """Returns the first phase's rows over a partition; None if it is not bound, or the rows are many."""
        if self._halves is None:
            return None
        share = Partition(index, self._count)
        key = binding_key(self._sent, share)
        again = self._computing.again(self._halves.parts, key)
        if not all(is_bound(part.root, again) for part in self._halves.parts):
            return None
        given = share, self._parameters, self._timezone
        found: list[bytes | EncodedStates] = []
        for part in self._halves.parts:
            plain = isinstance(part.root, Fused) and not part.narrows
            rows = self._lanes(part.root, key) if plain else self._frame(StageTask(part, *given, key, again))  # type: ignore[arg-type]
            if rows is None:
                return None
            found.append(rows)
        data = pickle.dumps(found)
        # The measured size, or a little more: the rows were in several parts then.
        return data if len(data) <= 2 * self._most else None

    def _lanes(self, part: Fused, key: Hashable) -> bytes | EncodedStates | None:
        """Returns a bound part's rows; None if it is not bound, or the rows are many."""
        kernels = self._computing.kernels
        ready = kernels.kept(part, key) if kernels is not None else None
        if kernels is None or ready is None:
            return None
        made = kernels.lanes(ready)
        if isinstance(made, list):
            return encode_states(made) if made[0].rows <= FEW else None
        return self._written(made)

    def _frame(self, task: StageTask) -> bytes | None:
        """Returns the rows of a stage that is more than a kernel; None if they are many."""
        return self._written(self._computed(task, {}))

    def _written(self, rows: ComputedFrame) -> bytes | None:
        return encode_frame(rows.frame()) if rows.rows <= FEW and rows.bytes <= 2 * self._most else None

    def rest(self, given: Sequence[bytes]) -> bytes | None:
        """Runs the second phase over the rows of all workers; None if the result is large."""
        if self._halves is None:
            return None
        by_part = zip(*map(pickle.loads, given), strict=True)
        received = {
            part.number: [HostFrame(decode_output(each).frame) for each in rows]
            for part, rows in zip(self._halves.parts, by_part, strict=True)
        }
        made = self._computed(StageTask(self._halves.rest, WHOLE, self._parameters, self._timezone), received)
        return encode_batch(to_batch(made.frame(), self._types)) if made.bytes <= INLINE_BYTES else None

    def _computed(self, task: StageTask, received: Mapping[int, Sequence[ComputedFrame]]) -> ComputedFrame:
        ((made,), _) = self._computing.computed(task, received)
        assert not isinstance(made, Offloaded)
        return made


def binding_key(parameters: bytes, share: Partition) -> Hashable:
    """Returns the key under which fused parts are bound: everything that they depend on, besides the plan."""
    return parameters, share


def is_bound(node: Node, again: Mapping[int, object]) -> bool:
    """Returns whether a stage reads only bound parts, which `again` has by their ids."""
    if id(node) in again:
        return True
    return not isinstance(node, Scan | Fused) and all(is_bound(each, again) for each in node.inputs)

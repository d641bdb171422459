"""A worker's side of a two-phase statement: its first phase, and the second phase for all workers."""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping, Sequence

from gpudb.engine.figures import StageFigures
from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cache.build_cache import binding_key, is_bound
from gpudb.engine.gpu.cache.partition import WHOLE, Partition
from gpudb.engine.gpu.exchange.buffers import encode_frame
from gpudb.engine.gpu.exchange.result_codec import encode_batch, to_batch
from gpudb.engine.gpu.exchange.state_codec import EncodedStates, encode_states
from gpudb.engine.gpu.fastpath.two_phase import MAX_BYTES, decode_output
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.engine.gpu.stage.stage_executor import StageTask
from gpudb.engine.gpu.worker.executor import INLINE_BYTES, Executor
from gpudb.engine.gpu.worker.worker_plan import WorkerPlan
from gpudb.plan.tree.fused_nodes import Fused


class TwoPhaseWorker:
    """The phases of a plan's `stages` on one worker of `count`; computes in the caller's thread."""

    def __init__(self, computing: Executor, plan: WorkerPlan, count: int, parameters: bytes) -> None:
        self._executor, self._count, self._encoded_parameters = computing, count, parameters
        self._parameters, self._timezone, self._nearest = pickle.loads(parameters)
        self._types = plan.stages[-1].root.types
        self._phases = plan.two_phase
        self._max_bytes = MAX_BYTES // count

    def is_ready(self, partitions: Sequence[int], measured: Sequence[StageFigures]) -> bool:
        """Returns whether the first phase is bound over these partitions and returned few rows."""
        if self._phases is None:
            return False
        for partition in (Partition(index, self._count) for index in partitions):
            bound_parts = self._executor.bound_parts(
                self._phases.first, binding_key(self._encoded_parameters, partition)
            )
            if not all(is_bound(part.root, bound_parts) for part in self._phases.first):
                return False
        numbers = {part.number for part in self._phases.first}
        first_phase = [each for each in measured if each.stage in numbers]
        return (
            all(each.rows <= HOST_ROWS for each in first_phase)
            and sum(each.bytes for each in first_phase) <= self._max_bytes
        )

    def run_first(self, index: int) -> bytes | None:
        """Returns the first phase's rows over a partition; None if it is not bound, or the rows are many."""
        if self._phases is None:
            return None
        partition = Partition(index, self._count)
        key = binding_key(self._encoded_parameters, partition)
        bound_parts = self._executor.bound_parts(self._phases.first, key)
        if not all(is_bound(part.root, bound_parts) for part in self._phases.first):
            return None
        arguments = partition, self._parameters, self._timezone
        found: list[bytes | EncodedStates] = []
        for part in self._phases.first:
            if isinstance(part.root, Fused) and not part.dynamic_filters:
                rows = self._run_kernel(part.root, key)
            else:
                rows = self._run_task(StageTask(part, *arguments, key, bound_parts, nearest=self._nearest))
            if rows is None:
                return None
            found.append(rows)
        data = pickle.dumps(found)
        # The measured size, or a little more: the rows were in several parts then.
        return data if len(data) <= 2 * self._max_bytes else None

    def _run_kernel(self, part: Fused, key: Hashable) -> bytes | EncodedStates | None:
        """Returns a bound part's rows; None if it is not bound, or the rows are many."""
        kernels = self._executor.kernels
        ready = kernels.get(part, key) if kernels is not None else None
        if kernels is None or ready is None:
            return None
        made = kernels.run_quietly(ready)
        if isinstance(made, list):
            return encode_states(made) if made[0].rows <= HOST_ROWS else None
        return self._encode(made)

    def _run_task(self, task: StageTask) -> bytes | None:
        """Returns the rows of a stage that is more than a kernel; None if they are many."""
        return self._encode(self._execute(task, {}))

    def _encode(self, rows: ComputedFrame) -> bytes | None:
        return encode_frame(rows.to_polars()) if rows.rows <= HOST_ROWS and rows.bytes <= 2 * self._max_bytes else None

    def run_second(self, first_phase: Sequence[bytes]) -> bytes | None:
        """Runs the second phase over the rows of all workers; None if the result is large."""
        if self._phases is None:
            return None
        by_part = zip(*map(pickle.loads, first_phase), strict=True)
        received = {
            part.number: [HostFrame(decode_output(each).frame) for each in rows]
            for part, rows in zip(self._phases.first, by_part, strict=True)
        }
        made = self._execute(StageTask(self._phases.second, WHOLE, self._parameters, self._timezone), received)
        return encode_batch(to_batch(made.to_polars(), self._types)) if made.bytes <= INLINE_BYTES else None

    def _execute(self, task: StageTask, received: Mapping[int, Sequence[ComputedFrame]]) -> ComputedFrame:
        ((made,), _) = self._executor.execute(task, received)
        assert not isinstance(made, Offloaded)
        return made

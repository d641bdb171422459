"""A statement on a worker: runs its stages as their inputs arrive, and reports to the coordinator."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Awaitable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Protocol

from gpudb.engine.figures import ExchangeFigures, StageFigures
from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.cache.build_cache import binding_key, fused_parts, is_bound, prune_stages, required_stages
from gpudb.engine.gpu.cache.partition import WHOLE, Partition
from gpudb.engine.gpu.exchange.buffers import ExchangeBuffers
from gpudb.engine.gpu.exchange.client import FetchTiming
from gpudb.engine.gpu.exchange.result_codec import encode_batch, to_batch
from gpudb.engine.gpu.exchange.routing import consumers, order_by_dependents, producers, stage_partitions
from gpudb.engine.gpu.fastpath.server import FastPathRequest
from gpudb.engine.gpu.fastpath.single_kernel import SingleKernelPlan
from gpudb.engine.gpu.finalize.host import FinalResult
from gpudb.engine.gpu.fused.planning.matching import find_scan
from gpudb.engine.gpu.fused.runner import NumpyRunner, ReadyPart
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.engine.gpu.rpc.errors import PartitionLost, TooLarge, encode_error
from gpudb.engine.gpu.rpc.messages import Failed, FastPathUse, FetchFailed, Refusal, Refused, RunReply, RunResult
from gpudb.engine.gpu.stage.stage_executor import BoundPart, StageTask
from gpudb.engine.gpu.worker.executor import INLINE_BYTES, Executor
from gpudb.engine.gpu.worker.query_registry import RunningQuery
from gpudb.engine.gpu.worker.two_phase import TwoPhaseWorker
from gpudb.engine.gpu.worker.worker_plan import WorkerPlan
from gpudb.engine.sharing import SharePlace
from gpudb.errors import OutOfMemory
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Join
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import walk_nodes

_MANY_ROWS = 10_000_000
_RECEIVE_COPIES, _SORT_COPIES = 2, 4
"""Copies of rows that one worker must hold together, while they are received, and beside them while they are sorted."""
_SUSPECT_COPIES = 16
"""If memory has room for this many copies, something else exhausted it."""
_SHORT_MILLISECONDS = 100.0
"""Milliseconds of stages above which a statement counts as long."""


class Fetch(Protocol):
    """Fetches a stage's output of producing partitions for a partition from a worker's address. Raises PartitionLost.

    Fills in `timing` if the worker is another one.
    """

    def __call__(
        self,
        address: str,
        statement: int,
        stage: int,
        producers: Sequence[int],
        consumer: int,
        timing: FetchTiming | None = None,
    ) -> Awaitable[ComputedFrame]: ...


class NotBound(Exception):
    """A fused part of a statement is not bound, or a part of it is none."""


class QueryRun:
    """The stages of one statement on this worker."""

    def __init__(
        self,
        executor: Executor,
        fetch: Fetch,
        running: RunningQuery,
        plan: WorkerPlan,
        peers: tuple[str, ...],
        chunks: int,
        parameters: bytes,
        measure: bool = False,
        bound: Sequence[int] = (),
        *,
        share: SharePlace = SharePlace.NONE,
        measure_exchanges: bool = False,
    ) -> None:
        """The coordinator assumes that all workers have bound the fused parts of `bound` stages.

        Their inputs are left out. `share` is where the result stays. With `measure_exchanges` the figures have what the
        stages have fetched from other workers.
        """
        self._executor, self._fetch = executor, fetch
        stages = plan.stages
        self._running, self._plan, self._peers = running, plan, peers
        self._bound_stages = bound
        self._share, self._measure_exchanges = share, measure_exchanges
        self._stages, self._stage_numbers = (
            prune_stages(stages, bound) if bound else (stages, {each.number for each in stages})
        )
        self._kept_parts: dict[tuple[int, int], Mapping[int, BoundPart]] = {}
        self._chunks, self._count = chunks, len(peers) * chunks
        self._encoded_parameters, self._measure = parameters, measure
        self._parameters, self._timezone, self._nearest = pickle.loads(parameters)
        self._whole_key = binding_key(parameters, WHOLE)
        running.types = stages[-1].root.types
        self._figures: list[StageFigures] = []
        self._results: list[tuple[int, bytes | None]] = []
        self._finished: FinalResult | None = None
        self._declined: set[int] = set()

    async def run(self, partitions: tuple[int, ...]) -> RunReply:
        """Runs each stage as soon as its inputs are available; returns the figures of each, and the result."""
        if not self._keep_bound(partitions):
            return Refused(Refusal.PART_EVICTED)
        try:
            if self._count == 1:
                await self._run_in_sequence()
            elif self._chunks > 1:
                await self._run_chunked(partitions)
            else:
                async with asyncio.TaskGroup() as group:
                    for stage in order_by_dependents(self._stages):
                        for partition in (
                            self._local_partitions(stage, partitions) if stage.number in self._stage_numbers else ()
                        ):
                            group.create_task(self._run_stage(stage, partition, {}))
        except BaseExceptionGroup as failed:
            return await self._encode_failure(_first_error(failed))
        except Exception as error:
            return await self._encode_failure(error)
        return RunResult(
            tuple(self._figures),
            tuple(self._results),
            self._find_fast_path_use(partitions),
            *self._report_bound(partitions),
        )

    def _local_partitions(self, stage: Stage, partitions: Sequence[int]) -> list[int]:
        """Returns those of the given partitions on which a stage runs."""
        return sorted(set(partitions).intersection(stage_partitions(stage, self._count)))

    def _find_bound(self, stage: Stage, partition: int) -> Mapping[int, BoundPart] | None:
        """Returns a stage's fused parts if all of them are bound over a partition."""
        parts = fused_parts(stage)
        found = (
            self._executor.bound_parts(
                [stage], binding_key(self._encoded_parameters, Partition(partition, self._count))
            )
            if parts
            else {}
        )
        return found if parts and all(id(part) in found for part in parts) else None

    def _keep_bound(self, partitions: Sequence[int]) -> bool:
        """Returns whether this worker has bound what the coordinator assumes, and keeps it for the run."""
        for stage in (each for each in self._plan.stages if each.number in self._bound_stages):
            for partition in self._local_partitions(stage, partitions):
                found = self._find_bound(stage, partition)
                if found is None:
                    return False
                self._kept_parts[stage.number, partition] = found
        return True

    def _report_bound(self, partitions: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the stages that ran here, bound and not bound; empty if stages were left out."""
        bound: list[int] = []
        loose: list[int] = []
        if self._count == 1 or self._chunks > 1 or self._bound_stages:
            return (), ()
        for stage in self._plan.stages:
            here = self._local_partitions(stage, partitions)
            if here:
                whole = all(self._find_bound(stage, partition) is not None for partition in here)
                (bound if whole else loose).append(stage.number)
        return tuple(bound), tuple(loose)

    async def _encode_failure(self, error: BaseException) -> Failed | FetchFailed:
        if not isinstance(error, Exception) or isinstance(error, PartitionLost | NotSupportedOnWorkers):
            return encode_error(error, self._running.number)
        return await self._executor.encode_failure(error, self._running.number)

    def _plan_sequence(self) -> tuple[Mapping[int, BoundPart], list[Stage]]:
        """Returns the bound parts on the only worker, and the stages that remain to run."""
        bound_parts = self._executor.bound_parts(self._stages, self._whole_key)
        required = required_stages(self._stages, bound_parts)
        return bound_parts, [stage for stage in self._stages if stage.number in required]

    async def _run_in_sequence(self) -> None:
        """Runs all stages in sequence, without those that only build sides of bound parts read."""
        bound_parts, remaining = self._plan_sequence()
        # Columns may have to be read first, which may take long.
        self._running.short = self._running.short and all(
            rows < _MANY_ROWS for rows in _unbound_rows(self._stages, bound_parts)
        )
        outputs: dict[int, list[ComputedFrame]] = {}
        while remaining:
            run = partial(self._run_stages, remaining, outputs, bound_parts)
            remaining = await self._executor.run_queued(self._running, run)
        for rows in outputs.values():
            self._results.append((0, await self._keep_result(0, rows[0])))
        if self._finished is not None:
            self._results.append((0, encode_batch(self._finished.batch)))

    def _find_fast_path_use(self, partitions: Sequence[int]) -> FastPathUse:
        """Returns which further runs of the statement the fast path can answer, after a run with few rows."""
        if self._share or self._chunks > 1 or any(data is None for _, data in self._results):
            return FastPathUse.NEVER
        # The time that was measured, whatever was estimated
        short = sum(each.milliseconds for each in self._figures) <= _SHORT_MILLISECONDS
        use = FastPathUse.BOUND if short or self._running.short else FastPathUse.NEVER
        if self._count > 1:
            return use if self._two_phase.is_ready(partitions, self._figures) else FastPathUse.NEVER
        if any(each.rows > HOST_ROWS for each in self._figures):
            return FastPathUse.NEVER
        bound_parts, stages = self._plan_sequence()
        if not all(is_bound(stage.root, bound_parts) for stage in stages):
            use = FastPathUse.NEVER
        return use | FastPathUse.SHORT if short and not self._measure else use

    @property
    def _two_phase(self) -> TwoPhaseWorker:
        return TwoPhaseWorker(self._executor, self._plan, self._count, self._encoded_parameters)

    def answer_fast_path(self, request: FastPathRequest) -> bytes | None:
        """Answers a fast-path request about a bound statement in the caller's thread.

        None for many rows. Raises NotBound if a part is not bound.
        """
        if self._count > 1:
            phases = self._two_phase
            return (
                phases.run_second(request.first_phase) if request.first_phase else phases.run_first(request.partition)
            )
        kernels, single = self._executor.kernels, self._plan.single_kernel
        if kernels is not None and single is not None:
            ready = kernels.get(single.part, self._whole_key)
            if ready is None:
                raise NotBound
            return self._run_single_kernel(single, kernels, ready)
        bound_parts, stages = self._plan_sequence()
        if not all(is_bound(stage.root, bound_parts) for stage in stages):
            raise NotBound
        return self._run_to_end(stages, bound_parts)

    def run_unbound(self) -> bytes | None:
        """Runs the statement on the only worker in the caller's thread, which is a queue's.

        None for many rows, or once it has taken as long as long ones.
        """
        bound_parts, stages = self._plan_sequence()
        return self._run_to_end(stages, bound_parts)

    def _run_to_end(self, stages: list[Stage], bound_parts: Mapping[int, BoundPart]) -> bytes | None:
        outputs: dict[int, list[ComputedFrame]] = {}
        if self._run_stages(stages, outputs, bound_parts):
            return None
        if self._finished is not None:
            return encode_batch(self._finished.batch)
        ((rows,),) = outputs.values()
        return self._encode_result(rows)

    def _run_single_kernel(self, single: SingleKernelPlan, kernels: NumpyRunner, ready: ReadyPart) -> bytes | None:
        """Answers where only a kernel's groups are left to finish."""
        made = single.run(kernels, ready, self._parameters)
        if isinstance(made, FinalResult):
            return encode_batch(made.batch)
        task = StageTask(self._plan.stages[-1], WHOLE, self._parameters, self._timezone)
        ((rows,), _) = self._executor.execute(task, {single.number: [made]})
        assert not isinstance(rows, Offloaded)
        return self._encode_result(rows)

    def _encode_result(self, rows: ComputedFrame) -> bytes | None:
        """Encodes a result's rows; None if they are many."""
        return encode_batch(to_batch(rows.to_polars(), self._running.types)) if rows.bytes <= INLINE_BYTES else None

    def _run_stages(
        self, remaining: list[Stage], outputs: dict[int, list[ComputedFrame]], bound_parts: Mapping[int, BoundPart]
    ) -> list[Stage]:
        """Runs stages until the statement must change its queue, or ends; returns the remaining stages."""
        short = self._executor.is_short(self._running)
        task = self._running.task
        while remaining and self._executor.is_short(self._running) == short:
            if task is not None and task.cancelling():
                return []
            stage, *remaining = remaining
            work = self._make_task(stage, WHOLE, self._whole_key, bound_parts)
            received = {number: outputs[number] for number in stage.inputs if number in outputs}
            done = None if self._share else self._executor.finish(work, received)
            if done is not None:
                outputs.clear()
                self._finished, figures = done
            else:
                made, figures = self._executor.execute(work, received)
                outputs[stage.number] = [each for each in made if not isinstance(each, Offloaded)]
            self._figures.append(figures)
            self._running.finished += 1
            for number in outputs.keys() - {stage.number} - {number for each in remaining for number in each.inputs}:
                del outputs[number]
        return remaining

    def _make_task(
        self, stage: Stage, partition: Partition, key: Hashable, bound_parts: Mapping[int, BoundPart]
    ) -> StageTask:
        return StageTask(
            stage,
            partition,
            self._parameters,
            self._timezone,
            key,
            bound_parts,
            declined=self._declined,
            measure=self._measure,
            nearest=self._nearest,
        )

    async def _run_chunked(self, partitions: tuple[int, ...]) -> None:
        """Runs stage by stage, and each stage partition by partition, so that memory holds little at once.

        Every worker follows that order, so none waits for a worker that waits for it.
        """
        for stage in self._stages:
            shared: dict[int, list[ComputedFrame]] = {}
            for partition in sorted(set(partitions).intersection(stage_partitions(stage, self._count))):
                await self._run_stage(stage, partition, shared)

    async def _run_stage(self, stage: Stage, partition: int, shared: dict[int, list[ComputedFrame]]) -> None:
        """Runs a stage on a partition; the partitions that run here share rows that are broadcast."""
        if stage.single_worker and self._chunks > 1:
            # While rows are received, memory has them twice: in parts, and concatenated.
            self._check_memory(sum(each.bytes for each in self._figures if each.stage in stage.inputs), _RECEIVE_COPIES)
        exchanges: list[ExchangeFigures] | None = [] if self._measure_exchanges else None
        received = {
            number: shared.get(number) or await self._receive(number, partition, exchanges) for number in stage.inputs
        }
        shared |= {number: rows for number, rows in received.items() if self._stages[number].output == "broadcast"}
        part = Partition(partition, self._count, self._chunks)
        # A part that is bound over a chunk is read only once.
        key = binding_key(self._encoded_parameters, part) if self._chunks == 1 else None
        bound_parts = self._kept_parts.get((stage.number, partition))
        if bound_parts is None:
            bound_parts = self._executor.bound_parts([stage], key) if key is not None else {}
        if stage.single_worker and self._chunks > 1:
            self._check_memory(_total_bytes(received), _SORT_COPIES)
        task = self._make_task(stage, part, key, bound_parts)
        readers = consumers(self._stages, stage.number, partition, self._count, self._chunks)
        spill = self._running if self._chunks > 1 and readers else None
        work = partial(self._executor.execute, task, received, spill=spill)
        try:
            frames, figures = await self._executor.run_queued(self._running, work)
        except (MemoryError, OutOfMemory) as error:
            room = min(self._executor.available_memory(), self._executor.statement_bytes)
            if not self._gathers_all_rows(stage) or _SUSPECT_COPIES * _total_bytes(received) <= room:
                raise
            raise _too_large_error(_total_bytes(received), "whose memory ran out over them") from error
        self._figures.append(figures._replace(exchanges=tuple(exchanges)) if exchanges else figures)
        self._running.finished += 1
        if stage.output == "result":
            (rows,) = frames
            assert not isinstance(rows, Offloaded)
            self._results.append((partition, await self._keep_result(partition, rows)))
        else:
            self._running.output(stage.number, partition).set_result(ExchangeBuffers(frames, readers))

    async def _keep_result(self, partition: int, rows: ComputedFrame) -> bytes | None:
        if self._share:
            return await self._executor.share_result(self._running, rows, self._share)
        return await self._executor.store_result(self._running, partition, rows)

    def _gathers_all_rows(self, stage: Stage) -> bool:
        """Returns whether a stage receives the same rows however small chunks are; a join may run another way."""
        return (
            self._chunks > 1
            and stage.single_worker
            and not any(isinstance(node, Join) for node in walk_nodes(stage.root))
        )

    def _check_memory(self, size: int, copies: int) -> None:
        """Raises 53200 if memory lacks room for `copies` of the rows: their computation cannot be interrupted, and the
        memory watchdog would end this worker.
        """
        room = self._executor.available_memory()
        if copies * size > room:
            raise _too_large_error(size, f"which has room for {max(room, 0)}")

    async def _receive(
        self, number: int, partition: int, exchanges: list[ExchangeFigures] | None
    ) -> list[ComputedFrame]:
        """Receives a stage's rows for a partition: from each worker those of all its partitions at once."""
        if self._stages[number].output == "broadcast":
            partition -= partition % self._chunks
        found = producers(self._stages[number], partition, self._count)
        by_peer = [tuple(group) for _, group in groupby(found, lambda giver: giver // self._chunks)]
        groups = (self._fetch_group(number, group, partition, exchanges) for group in by_peer)
        return list(await asyncio.gather(*groups))

    async def _fetch_group(
        self, stage: int, producing: tuple[int, ...], consumer: int, exchanges: list[ExchangeFigures] | None
    ) -> ComputedFrame:
        source = producing[0] // self._chunks
        fetch = partial(self._fetch, self._peers[source], self._running.number, stage, producing, consumer)
        if exchanges is None:
            return await fetch()
        timing = FetchTiming()
        started, began = time.time(), time.perf_counter()
        rows = await fetch(timing)
        if timing.transport:
            moved = max(1000 * (time.perf_counter() - began) - timing.waited - timing.encoded, 0.0)
            times = timing.waited, timing.encoded, moved
            target = consumer // self._chunks
            exchanges.append(
                ExchangeFigures(stage, source, target, started, rows.rows, timing.bytes, *times, timing.transport)
            )
        return rows


def _total_bytes(received: Mapping[int, Sequence[ComputedFrame]]) -> int:
    """Returns the bytes of all rows that a stage has received."""
    return sum(each.bytes for rows in received.values() for each in rows)


def _too_large_error(size: int, why: str) -> TooLarge:
    detail = f"{size} bytes of rows come together on one worker, {why}."
    hint = "Partition the window by more columns, sort or group fewer rows, or raise the setting memory_limit."
    return TooLarge("out of memory", detail=detail, hint=hint)


def _unbound_rows(stages: Sequence[Stage], bound_parts: Mapping[int, object]) -> Iterator[int]:
    """Yields the row counts of the tables whose fused parts are not bound yet."""
    for node in (node for stage in stages for node in walk_nodes(stage.root)):
        if isinstance(node, Fused) and id(node) not in bound_parts:
            yield find_scan(node.root).table.rows


def _first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

"""Runs a statement's stages on the workers and fetches the result.

Each worker gets the whole plan in one message, and its reply has the figures of its partitions; workers fetch the
inputs of their stages from each other. A statement that loses a worker before any row was taken runs again (see
`run_again`). A statement that exhausts a worker's memory runs again over smaller chunks, as long as there are any.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import Any, TypeVar

from gpudb.engine.admission import Admission
from gpudb.engine.figures import FileReads, KernelFigures, NarrowedScan, OperatorFigures, StageFigures
from gpudb.engine.gpu.cluster.cluster import RETRY_SECONDS, RETURN_SECONDS, WAIT_EVENT, Cluster
from gpudb.engine.gpu.cluster.run_again import RunAgain, WorkerGone, worker_lost_error
from gpudb.engine.gpu.exchange.routing import stage_partitions
from gpudb.engine.gpu.planning.request_planner import PhysicalPlan
from gpudb.engine.gpu.rpc.errors import TooLarge
from gpudb.engine.gpu.rpc.messages import (
    ChunkRequest,
    Failed,
    FetchFailed,
    Refusal,
    Refused,
    ResultChunk,
    RpcRequest,
    RunRequest,
    RunResult,
)
from gpudb.engine.gpu.stage.batching import next_chunks
from gpudb.engine.protocol import Request
from gpudb.engine.sharing import SharedPart, SharePlace
from gpudb.errors import DeviceFailed, OutOfMemory, SqlError

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

Replan = Callable[[int], PhysicalPlan]
"""Plans a statement with `chunks` for each worker's partition."""


def encode_parameters(request: Request) -> bytes:
    """Encodes what workers need of a request on each run."""
    return pickle.dumps((request.parameters, request.settings.timezone, request.settings.nearest))


@dataclass
class StageMeasurements:
    """What a stage did on each worker that ran it, over all its chunks."""

    workers: tuple[int, ...] = ()
    rows: list[int] = field(default_factory=list)
    bytes: list[int] = field(default_factory=list)
    spilled: list[int] = field(default_factory=list)
    """Of the bytes, those written to files."""
    milliseconds: list[float] = field(default_factory=list)
    host: list[tuple[str, ...]] = field(default_factory=list)
    """Steps on the host of GPU workers."""
    launched: list[KernelFigures] = field(default_factory=list)
    """Kernels that were launched."""
    narrowed: list[NarrowedScan] = field(default_factory=list)
    """Scans that were narrowed."""
    reads: list[FileReads] = field(default_factory=list)
    """Reads of files as tables, of each worker."""

    observed: list[tuple[int, OperatorFigures]] = field(default_factory=list)
    """Figures of operators, each with its worker."""
    compiling: list[float] = field(default_factory=list)
    """Of the milliseconds, those of waits for kernels that are compiled."""
    loading: list[float] = field(default_factory=list)
    """Of the milliseconds, those in which columns were read into memory."""

    def add(self, worker: int, figures: StageFigures) -> None:
        """Adds the figures of a partition."""
        if worker not in self.workers:
            self.workers += (worker,)
            for each in (self.rows, self.bytes, self.spilled):
                each.append(0)
            for times in (self.milliseconds, self.compiling, self.loading):
                times.append(0.0)
            self.host.append(())
        place = self.workers.index(worker)
        self.rows[place] += figures.rows
        self.bytes[place] += figures.bytes
        self.spilled[place] += figures.spilled
        self.milliseconds[place] += figures.milliseconds
        self.compiling[place] += figures.compiling
        self.loading[place] += figures.loading
        self.host[place] += figures.host
        self.launched += figures.kernels
        self.narrowed += figures.narrowed
        self.reads += figures.reads
        self.observed += [(worker, each) for each in figures.operators]


class _Unbound(Exception):
    """A worker has evicted a bound fused part."""


class Execution:
    """A running statement.

    `measured` has the figures of each stage, by number, once all have ended; with `measure` those of each operator too.
    With `share` the result stays with the workers until `close`, and `shared_parts` says where.
    """

    def __init__(
        self,
        cluster: Cluster,
        admission: Admission,
        planned: PhysicalPlan,
        request: Request,
        finer: Replan,
        *,
        measure: bool = False,
        share: SharePlace = SharePlace.NONE,
    ):
        self._measure, self._share = measure, share
        self._cluster = cluster
        self._admission = admission
        self.planned = planned
        self._replan = finer
        self._cancel, self._settings = request.cancel, request.settings
        self._node = request.settings.node
        self._parameters = encode_parameters(request)
        self._run_again = RunAgain()
        self.failed_chunks: list[int] = []
        """The numbers of chunks for which memory was too small."""
        self._memory_error: OutOfMemory | None = None
        self._in_full = False
        self._bound: tuple[int, ...] = ()
        self._closed = False
        self._statement = 0
        self._peers: tuple[str, ...] = ()
        self._results: dict[int, bytes | None] = {}
        self.measured: dict[int, StageMeasurements] = {}
        self.figures: list[StageFigures] = []
        """The same by stage and partition."""

    async def run(self) -> None:
        """Runs every stage once the statement is admitted; the first error ends it."""
        async with self._admission.admit(self.planned.cost, self._settings, self._cancel):
            while True:
                try:
                    await self._run_once()
                    if not self.has_remote_rows and not self._share:
                        self.end(forget=False)
                    return
                except _Unbound:
                    self.end(forget=True)
                    self._cluster.build_cache.invalidate(self.planned.digest, self._parameters, self._peers)
                    self._in_full = True
                except WorkerGone as gone:
                    self.end(forget=True)
                    self._run_again.record(gone)
                except OutOfMemory as error:
                    await self._use_smaller_chunks(error)

    async def _use_smaller_chunks(self, error: OutOfMemory) -> None:
        """Plans the statement with smaller chunks; raises the error if there are none."""
        chunks = next_chunks(self.planned.chunks)
        if isinstance(error, TooLarge) or error is self._memory_error or chunks is None:
            raise error
        if self._node is not None or self._measure:
            raise error
        self._memory_error = error
        why = error.detail or error
        _LOG.warning("statement %s ran out of memory; retrying in %s chunks: %s", self._statement, chunks, why)
        self.failed_chunks.append(self.planned.chunks)
        statement, self._statement = self._statement, 0
        await self._cluster.forget(statement, self._peers)
        self.planned = await asyncio.to_thread(self._replan, chunks)
        self._run_again.reset()

    async def _run_once(self) -> None:
        self._cancel.waits_for = WAIT_EVENT
        try:
            self._peers = await self._wait_for_peers()
            if self._node is not None:
                self._peers = (self._peers[self._node],)
        finally:
            self._cancel.waits_for = None
        self._statement = self._cluster.begin()
        stages, chunks = self.planned.stages, self.planned.chunks
        count = len(self._peers) * chunks
        key = self.planned.digest, self._parameters, self._peers
        self._bound = self._cluster.build_cache.get(*key) if count > chunks == 1 and not self._in_full else ()
        partitions: dict[str, list[int]] = {}
        for partition in sorted({partition for stage in stages for partition in stage_partitions(stage, count)}):
            partitions.setdefault(self._peers[partition // chunks], []).append(partition)
        self._cancel.measure = self._measure_progress
        try:
            answers = await _gather_all([self._run_on(address, found) for address, found in partitions.items()])
        finally:
            self._cancel.measure = None
        self.measured = {stage.number: StageMeasurements() for stage in stages}
        figures = [each for answer in answers for each in answer.figures]
        self.figures = sorted(figures, key=lambda each: (each.stage, each.partition))
        for each in self.figures:
            self.measured[each.stage].add(each.partition // chunks, each)
        # The same kernels run there, over the same columns: a plan is of the files of one snapshot.
        size = sum(kernel.bytes for each in self.figures for kernel in each.kernels)
        use = reduce(and_, (answer.fast_path for answer in answers))
        self._cluster.fast_path_pool.enable(self.planned.digest, self._parameters, use, size)
        if count > chunks == 1 and not self._bound:
            self._cluster.build_cache.record(*key, [(answer.bound, answer.unbound) for answer in answers])
        self._results = {partition: data for answer in answers for partition, data in answer.results}

    def _measure_progress(self) -> float | None:
        """Returns the fraction of the stages' partitions that have finished, as the last heartbeats told."""
        count, statement = len(self._peers) * self.planned.chunks, self._statement
        total = sum(len(stage_partitions(stage, count)) for stage in self.planned.stages)
        beats = [state.heartbeat for state in self._cluster.heartbeats() if state.heartbeat is not None]
        finished = [number for beat in beats for each, number in beat.finished if each == statement]
        return min(sum(finished) / total, 1.0) if finished else None

    async def _wait_for_peers(self) -> tuple[str, ...]:
        """Returns the addresses of the workers. If none returns, raises the error that took the last ones."""
        again = self._run_again.has_lost
        try:
            return await self._cluster.peers(RETRY_SECONDS if again else RETURN_SECONDS)
        except SqlError:
            if self._memory_error is not None:
                raise self._memory_error from None
            if again:
                raise worker_lost_error() from None
            raise

    async def _run_on(self, address: str, partitions: list[int]) -> RunResult:
        """Returns a worker's reply for its partitions; raises the error that it contains."""
        planned = self.planned
        known = self._cluster.mark_plan_sent(address, planned.digest)
        request = RunRequest(
            self._statement,
            planned.digest,
            tuple(partitions),
            self._peers,
            self._parameters,
            planned.cost.short,
            b"" if known else planned.encoded_stages,
            planned.chunks,
            self._cluster.ucx_addresses(self._peers),
            self._measure,
            self._bound,
            self._share,
            self._cluster.measures_exchanges,
        )
        reply = await self._call(address, request)
        if reply == Refused(Refusal.PLAN_UNKNOWN):
            reply = await self._call(address, replace(request, stages=planned.encoded_stages))
        match reply:
            case RunResult():
                return reply
            case Failed():
                if isinstance(reply.error, DeviceFailed):
                    await self._cluster.end_failed(address)
                    raise self._blame(reply.error) from reply.error
                raise reply.error
            case Refused(Refusal.PART_EVICTED):
                raise _Unbound
            case FetchFailed():
                peer = self._peers[reply.partition // planned.chunks]
                raise await self._cluster.find_cause(peer)
        raise WorkerGone

    def _blame(self, error: DeviceFailed) -> SqlError | WorkerGone:
        """Returns what follows from the failure of a GPU: 58000 if the statement calls PL/CUDA functions.

        If it does not, another one's functions may have failed, and it runs again.
        """
        names = self.planned.device_functions
        if not names:
            return WorkerGone()
        message = f"the GPU failed while it ran PL/CUDA functions: {error.message.rpartition(': ')[2]}"
        hint = "Look for addresses out of bounds in their bodies."
        return SqlError.of("system_error", message, detail=f"The statement calls {', '.join(names)}.", hint=hint)

    async def _call(self, address: str, request: RpcRequest[_T]) -> _T:
        try:
            reply = await self._cluster.call(address, request)
        except OSError as error:
            raise await self._cluster.find_cause(address) from error
        if reply is None:
            raise WorkerGone
        return reply

    def inline_batches(self) -> list[bytes]:
        """Returns the batches, in order of partitions, of a result that came with the replies (see
        `result_codec.encode_batch`).
        """
        return [data for _, data in sorted(self._results.items()) if data is not None]

    def shared_parts(self) -> tuple[SharedPart, ...]:
        """Returns where the rows are, in order of partitions."""
        return tuple(pickle.loads(data) for data in self.inline_batches())

    async def results(self) -> AsyncGenerator[bytes]:
        """Yields the result's batches in order of partitions; fetches each while the previous one is read."""
        sent = False
        while True:
            try:
                async for chunk in self._fetch_chunks():
                    sent = True
                    yield chunk
                return
            except WorkerGone as gone:
                self._run_again.record(gone, taken=sent or self._closed)
            self.end(forget=True)
            await self.run()

    async def _fetch_chunks(self) -> AsyncGenerator[bytes]:
        for partition, data in sorted(self._results.items()):
            if data is not None:
                yield data
                continue
            coming: asyncio.Future[ResultChunk] = asyncio.ensure_future(self._fetch_chunk(partition, 0))
            try:
                while True:
                    chunk = await coming
                    if chunk.next_start:
                        coming = asyncio.ensure_future(self._fetch_chunk(partition, chunk.next_start))
                    yield chunk.data
                    if not chunk.next_start:
                        break
            finally:
                coming.cancel()

    async def _fetch_chunk(self, partition: int, start: int) -> ResultChunk:
        address = self._peers[partition // self.planned.chunks]
        reply = await self._call(address, ChunkRequest(self._statement, partition, start))
        if isinstance(reply, Refused):
            raise WorkerGone
        return reply

    @property
    def has_remote_rows(self) -> bool:
        """Whether workers hold rows of the result."""
        return any(data is None for data in self._results.values())

    @property
    def ended(self) -> bool:
        """Whether workers have forgotten the statement."""
        return not self._statement

    def close(self) -> None:
        """Ends the statement in any state."""
        self._closed = True
        self.end(forget=True)

    def end(self, *, forget: bool) -> None:
        """Ends the statement; with `forget` workers are notified, else they know."""
        statement, self._statement = self._statement, 0
        if statement and forget:
            self._cluster.spawn(self._cluster.forget(statement, self._peers))
        elif statement:
            self._cluster.end(statement)


async def _gather_all(calls: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Returns all results, or raises the first error without waiting for the others."""
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()

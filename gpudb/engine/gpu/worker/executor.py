"""Executes stages on a worker's device in two queues, and stores their results."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from gpudb.engine.figures import KernelFigures, StageFigures, record_reads, record_steps, sum_reads, sum_steps
from gpudb.engine.gpu import limits
from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded, Priority
from gpudb.engine.gpu.backend.coded_frame import decode_rows
from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.backend.library_errors import raise_if_too_large, translate_error
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.exchange.buffers import ResultStore, SpillFile, SpillSpace
from gpudb.engine.gpu.exchange.result_codec import encode_batch, to_batch
from gpudb.engine.gpu.exchange.shared_rows import SharedMemory, remove_stale_files, share_rows
from gpudb.engine.gpu.finalize.host import FinalResult
from gpudb.engine.gpu.rpc.errors import encode_error
from gpudb.engine.gpu.rpc.messages import Failed, FetchFailed
from gpudb.engine.gpu.stage.stage_executor import BoundPart, StageTask, execute_stage, finish_stage
from gpudb.engine.gpu.worker import memory_watchdog
from gpudb.engine.gpu.worker.device import Device
from gpudb.engine.gpu.worker.query_registry import RunningQuery
from gpudb.engine.gpu.worker.warmup import WarmUp
from gpudb.engine.sharing import SharedPart, SharePlace
from gpudb.errors import DeviceFailed, OutOfMemory
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Scan
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import walk_nodes

_LOG = logging.getLogger(__name__)

_SPILL_BYTES = 2**16
_SHORT_SECONDS = 1.0
_HOST = HostBackend()
_FEW_ROWS = "few rows, which were on the host"
_T = TypeVar("_T")
INLINE_BYTES = 2**20
"""Size below which a result is part of the reply."""


class Executor:
    """A worker's device and queues. Up to `results` bytes of results stay in memory.

    Files go to `folder`, up to `temp_limit` bytes together; 0 for no limit.
    """

    def __init__(self, device: Device, folder: Path, results: int, *, gpu: bool, temp_limit: int = 0) -> None:
        self.backend, self.tables, self.kernels = device.backend, device.tables, device.kernels
        self.failure, self.gpu, self._sharer = device.failure, gpu, device.sharer
        self._folder, self._space = folder, SpillSpace(temp_limit)
        remove_stale_files()
        self.results = ResultStore(results, folder, self._space)
        self.available_memory: Callable[[], int] = lambda: sys.maxsize
        """The free bytes of this process's memory that statements may take."""
        self.statement_bytes = device.memory[1]
        """The bytes for all statements, of a GPU's memory or of this process's."""
        # One long stage at a time: several would compete for the same cores or GPU. Short ones run beside it.
        self.queues = {each: self._make_queue(each) for each in (Priority.LONG, Priority.SHORT)}
        if gpu:
            WarmUp(self.backend, self.queues[Priority.LONG].submit).start()

    def _make_queue(self, priority: Priority) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, f"{priority.name.lower()} stage", self.backend.set_priority, (priority,))

    def close(self) -> None:
        """Stops executing stages."""
        for queue in self.queues.values():
            queue.shutdown(wait=False, cancel_futures=True)

    @property
    def resident(self) -> int:
        """The bytes of tables' columns in both forms."""
        return self.tables.bytes + (self.kernels.bytes if self.kernels is not None else 0)

    async def run_queued(self, running: RunningQuery, work: Callable[[], _T]) -> _T:
        """Runs work once the statement's queue is free."""
        loop = asyncio.get_running_loop()
        priority = Priority.SHORT if self.is_short(running) else Priority.LONG
        return await loop.run_in_executor(self.queues[priority], self.run_tracked, running, work)

    def is_short(self, running: RunningQuery) -> bool:
        """Returns whether a statement counts as short: until it has computed for as long as long ones."""
        return running.short and running.seconds < _SHORT_SECONDS

    def run_tracked(self, running: RunningQuery, work: Callable[[], _T]) -> _T:
        """Runs work in this thread; the statement counts as computing meanwhile."""
        with running.track_thread():
            return work()

    def finish(
        self, task: StageTask, received: Mapping[int, Sequence[ComputedFrame]]
    ) -> tuple[FinalResult, StageFigures] | None:
        """Returns the result if only a few groups of a kernel are left to finish; else None."""
        started = time.perf_counter()
        made = finish_stage(task, received)
        if made is None:
            return None
        spent = 1000 * (time.perf_counter() - started)
        host = (_FEW_ROWS,) if self.gpu else ()
        began = time.time() - spent / 1000
        return made, StageFigures(task.stage.number, task.partition.index, made.rows, made.bytes, 0, spent, host, began)

    def _to_device(
        self, received: Mapping[int, Sequence[ComputedFrame]], is_few: bool
    ) -> Mapping[int, Sequence[ComputedFrame]]:
        """Copies host inputs to the GPU, unless the stage runs on the host."""
        if is_few or not self.gpu:
            return received
        given = self.backend.from_host
        return {
            number: [given(each.table) if isinstance(each, HostFrame) else each for each in parts]
            for number, parts in received.items()
        }

    def execute(
        self, task: StageTask, received: Mapping[int, Sequence[ComputedFrame]], *, spill: RunningQuery | None = None
    ) -> tuple[Sequence[ComputedFrame | Offloaded], StageFigures]:
        """Executes a stage in a queue's thread; more than a few rows of the statement `spill` are offloaded."""
        started = time.perf_counter()
        frames, kernels = self.backend, self.kernels
        is_few = self.gpu and reads_few_rows(task, received)

        def work() -> list[ComputedFrame]:
            inputs = self._to_device(received, is_few)
            return execute_stage(task, self.tables, inputs, _HOST if is_few else frames, kernels)

        try:
            with record_reads() as reads, record_steps() as steps:
                parts = self._retry_with_memory(work, task)
            if self.gpu and task.partition.count > 1:
                # Few rows are read on the host: one copy here, and no thread waits for it.
                parts = [HostFrame(each.to_polars()) if each.bytes < limits.HOST_BYTES else each for each in parts]
        except BaseException as error:
            self._take_profile()  # the next stage of this thread would report it
            raise_if_too_large(error)
            raise
        rows, size = sum(each.rows for each in parts), sum(each.bytes for each in parts)
        if spill is not None and size > _SPILL_BYTES:
            parts = [decode_rows(each) for each in parts]
        offloaded = self._offload(parts, task.partition, spill) if spill is not None and size > _SPILL_BYTES else []
        made: Sequence[ComputedFrame | Offloaded] = offloaded or parts
        spilled = sum(each.size for each in offloaded)
        spent = 1000 * (time.perf_counter() - started)
        host, launched = self._take_profile()
        return made, StageFigures(
            task.stage.number,
            task.partition.index,
            rows,
            size,
            spilled,
            spent,
            host or ((_FEW_ROWS,) if is_few else ()),
            time.time() - spent / 1000,
            sum_steps(steps, "compiling"),
            sum_steps(steps, "loading"),
            launched,
            tuple(task.narrowed_scans),
            tuple(task.operator_figures),
            sum_reads(reads),
        )

    def _offload(
        self, parts: Sequence[ComputedFrame], partition: Partition, statement: RunningQuery
    ) -> list[Offloaded]:
        """Offloads parts until they are read: in host memory for this worker's device while it has room,
        or in a file.
        """
        file: SpillFile | None = None
        made: list[Offloaded] = []
        for place, each in enumerate(parts):
            check_stop()
            mine = partition.worker.count == 1 or (
                len(parts) > 1 and place // partition.chunks == partition.worker.index
            )
            kept = self.backend.offload(each) if mine else None
            if kept is None:
                file = file or statement.open_spill_file(self._folder, self._space)
                kept = file.write(self.backend.retry_with_memory(each.to_polars))
            made.append(kept)
        return made

    def _retry_with_memory(self, work: Callable[[], list[ComputedFrame]], task: StageTask) -> list[ComputedFrame]:
        """Executes a stage, and once more after freeing GPU memory if it was too small."""
        try:
            return work()
        except Exception as error:
            if not self.gpu or not isinstance(translate_error(error) or error, OutOfMemory):
                raise
        # Outside the handler, so that nothing of the first attempt is still referenced.
        self.backend.free_memory()
        # The first attempt must not be reported too.
        task.narrowed_scans.clear()
        task.operator_figures.clear()
        self._take_profile()
        if task.partition.chunks == 1:
            task.declined.clear()
        return work()

    def _take_profile(self) -> tuple[tuple[str, ...], tuple[KernelFigures, ...]]:
        """Returns the host steps and the kernel launches of this thread since the last call."""
        launched = self.kernels.take_reports() if self.kernels is not None else ()
        return self.backend.take_host_steps(), launched

    def bound_parts(self, stages: Sequence[Stage], key: Hashable) -> dict[int, BoundPart]:
        """Returns the fused parts of stages that are bound under a key, by the ids of their nodes."""
        kernels = self.kernels
        if kernels is None:
            return {}
        nodes = [node for stage in stages for node in walk_nodes(stage.root) if isinstance(node, Fused)]
        found = {id(node): kernels.get(node, key) for node in nodes}
        return {number: partial(kernels.rerun, ready) for number, ready in found.items() if ready is not None}

    async def store_result(self, running: RunningQuery, partition: int, rows: ComputedFrame) -> bytes | None:
        """Returns a partition of the result if it is small; else stores it and returns None."""
        if rows.bytes <= INLINE_BYTES:
            # Work on the GPU may delay the copy, and the event loop must answer.
            offloaded = self.gpu and not isinstance(rows, HostFrame)
            frame = await asyncio.to_thread(rows.to_polars) if offloaded else rows.to_polars()
            return encode_batch(to_batch(frame, running.types))
        running.results[partition] = await asyncio.to_thread(lambda: self.results.store(rows.to_polars()))
        return None

    async def share_result(self, running: RunningQuery, rows: ComputedFrame, place: SharePlace) -> bytes:
        """Shares a partition of the result with processes of this host until the statement ends; returns its place."""

        def share() -> tuple[SharedPart, SharedMemory]:
            if place is SharePlace.GPU and self._sharer is not None:
                made = self._sharer.share(rows, running.types)
                if made is not None:
                    return made
            return share_rows(rows.to_polars(), running.types)

        part, memory = await asyncio.to_thread(share)
        running.shared.append(memory)
        return pickle.dumps(part)

    async def encode_failure(self, error: Exception, statement: int) -> Failed | FetchFailed:
        """Encodes an error.

        An error that has broken the GPU's context ends this process, and its nanny starts another.
        """
        broken = await asyncio.to_thread(self.failure)
        if broken is None:
            return encode_error(error, statement)
        _LOG.critical("the GPU has failed (%s): this worker ends", broken, exc_info=error)
        # Delayed, so that the reply is still sent.
        asyncio.get_running_loop().call_later(2 * memory_watchdog.EVERY_SECONDS, os.kill, os.getpid(), signal.SIGKILL)
        message = f"the GPU failed while the statement ran: {broken}"
        hint = "Its worker starts again. If the statement fails there each time, another one like it may not."
        return Failed.of(DeviceFailed(message, hint=hint))


def reads_few_rows(task: StageTask, received: Mapping[int, Sequence[ComputedFrame]]) -> bool:
    """Returns whether a stage reads only a few rows on the host, where computing them is cheapest."""
    if not received or not all(isinstance(each, HostFrame) for parts in received.values() for each in parts):
        return False
    # The host's hash differs from a GPU's, and equal keys need equal hashes.
    if task.partition.count > 1 and task.stage.output in {"hash", "range"}:
        return False
    return not any(isinstance(node, Scan | Fused) for node in walk_nodes(task.stage.root))

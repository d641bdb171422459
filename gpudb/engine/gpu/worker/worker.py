"""The plugin that runs in each worker process: it registers the handlers of `rpc.messages` with Dask's worker.

The coordinator and the other workers call the handlers, one message each.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu.backend.base import ComputedFrame, Priority
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.engine.gpu.exchange.client import ExchangeClient, FetchTiming
from gpudb.engine.gpu.exchange.result_codec import encode_batch, to_batch
from gpudb.engine.gpu.fastpath.server import FastPathRequest, FastPathServer, remote_host
from gpudb.engine.gpu.rpc.calls import wrap_handler
from gpudb.engine.gpu.rpc.errors import PartitionLost, encode_error
from gpudb.engine.gpu.rpc.messages import (
    BufferReply,
    BufferRequest,
    CacheAction,
    CachedBytes,
    CacheRequest,
    ChunkRequest,
    CopiedRequest,
    DeviceFacts,
    DeviceInfo,
    DeviceRequest,
    EndRequest,
    Failed,
    Heartbeat,
    MeasuredOutput,
    OutputRequest,
    PendingBuffer,
    Ping,
    Refusal,
    Refused,
    ResultChunk,
    RpcRequest,
    RunReply,
    RunRequest,
)
from gpudb.engine.gpu.worker import memory_watchdog
from gpudb.engine.gpu.worker.device import open_gpu, open_host
from gpudb.engine.gpu.worker.executor import Executor
from gpudb.engine.gpu.worker.loop_watchdog import LoopWatchdog
from gpudb.engine.gpu.worker.pinning import CacheManager, host_facts
from gpudb.engine.gpu.worker.query import NotBound, QueryRun
from gpudb.engine.gpu.worker.query_registry import QueryRegistry, RunningQuery
from gpudb.errors import OutOfMemory

_LOG = logging.getLogger(__name__)

_PAGE_LOCKED_FRACTION = 0.25
"""The fraction of the process's memory that is page-locked for rows that a GPU has no room for."""


class StageWorker(WorkerPlugin):
    """Adds gpudb's handlers to a Dask worker.

    In bytes: `limit` bounds the process, `resident` the tables' columns, `results` the results in memory, `temp_limit`
    the temporary files (0 for no limit). On a `gpu` worker tables and frames are in its GPU's memory, of which it may
    use `device` bytes, or all that is free; `resident` 0 leaves the limit to the worker. With `peers`, rows go from GPU
    to GPU. Who connects beside Dask must know `secret`.
    """

    name = "gpudb"

    def __init__(
        self,
        limit: int,
        resident: int,
        results: int,
        fuse: bool = False,
        *,
        secret: bytes,
        gpu: bool = False,
        peers: bool = False,
        device: int = 0,
        temp_limit: int = 0,
    ) -> None:
        self._limit, self._resident, self._results = limit, resident, results
        self._fuse, self._gpu, self._peers, self._bound = fuse, gpu, peers, device
        self._secret = secret
        self._temp_limit = temp_limit

    async def setup(self, worker: Any) -> None:
        """Called by Dask in the worker's process."""
        self._worker = worker
        if self._gpu:
            host = int(_PAGE_LOCKED_FRACTION * self._limit)
            device = open_gpu(self._resident, self._fuse, peers=self._peers, bound=self._bound, host=host)
        else:
            device = open_host(self._limit, self._resident, self._fuse)
        self._exchange = ExchangeClient(worker, device.backend, device.packer, self._secret)
        ucx_loop = None
        if device.packer is not None:
            ucx_loop = await self._exchange.start_server(self.send_buffer)
        self._memory = device.memory
        self._cache = CacheManager(device.tables, device.kernels.tables if device.kernels is not None else None)
        self._folder = tempfile.TemporaryDirectory(prefix="results-", dir=worker.local_directory)
        folder = Path(self._folder.name)
        self.executor = Executor(device, folder, self._results, gpu=self._gpu, temp_limit=self._temp_limit)
        if not self._gpu:
            self.executor.available_memory = self._available_memory
        self._queries = QueryRegistry()
        self._fast_path_lock = threading.Lock()
        # Dask creates the worker's directory with mode 0700.
        self._fast_path_server = FastPathServer(
            Path(worker.local_directory),
            self.answer_fast_path,
            self._secret,
            remote_host(worker.address),
            worker.security.get_listen_args("worker")["ssl_context"],
        )
        self._loop_watchdog = LoopWatchdog(
            {"the worker's loop": asyncio.get_running_loop(), "the UCX server's loop": ucx_loop}
        )
        if self._gpu:
            self._loop_watchdog.start()
        self._memory_watchdog = asyncio.ensure_future(
            memory_watchdog.watch(self._limit, device.free_host_memory, self._end_over_limit)
        )
        handlers: tuple[tuple[type[RpcRequest[Any]], Callable[[Any], Awaitable[Any]]], ...] = (
            (RunRequest, self.run),
            (OutputRequest, self.send_output),
            (CopiedRequest, self.confirm_copy),
            (ChunkRequest, self.send_chunk),
            (EndRequest, self.end),
            (CacheRequest, self.change_cache),
            (DeviceRequest, self.describe_device),
            (Ping, self.ping),
        )
        for request, handler in handlers:
            worker.handlers[request.handler] = wrap_handler(request, handler)
        # Objects of the start-up are permanent: scanning them for cycles takes longer than most statements.
        gc.freeze()

    def teardown(self, worker: Any) -> None:
        """Called by Dask as the worker ends."""
        self._memory_watchdog.cancel()
        self._loop_watchdog.stop()
        self._exchange.close()
        self._fast_path_server.close()
        self.executor.close()
        self._folder.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        given = ("_limit", "_resident", "_results", "_fuse", "_gpu", "_peers", "_bound", "_secret", "_temp_limit")
        return {name: getattr(self, name) for name in given}

    # ---------------------------------------------------------------------------------------- handlers

    async def run(self, request: RunRequest) -> RunReply:
        """See `RunRequest`. An error is returned as a value."""
        self._exchange.set_peers(request.peers, request.ucx_addresses)
        plan = self._queries.plan(request.digest, request.stages)
        if plan is None:
            return Refused(Refusal.PLAN_UNKNOWN)
        if self._queries.has_ended(request.statement):
            return Refused(Refusal.STATEMENT_ENDED)
        running = self._queries.get_or_begin(request.statement)
        running.short = request.short
        work = QueryRun(
            self.executor,
            self._fetch_output,
            running,
            plan,
            request.peers,
            request.chunks,
            request.parameters,
            request.measure,
            request.bound,
            share=request.share,
            measure_exchanges=request.measure_exchanges,
        )
        running.task = asyncio.ensure_future(work.run(request.partitions))
        try:
            return await running.task
        except asyncio.CancelledError:
            if not running.task.cancelled():
                raise
            return Refused(Refusal.STATEMENT_ENDED) if running.error is None else Failed.of(running.error)
        finally:
            self._queries.forget_if_read(running)

    async def send_output(self, request: OutputRequest) -> bytes | PendingBuffer | MeasuredOutput:
        """See `OutputRequest`; returns no bytes if the statement has ended."""
        if self._queries.has_ended(request.statement):
            return b""
        running = self._queries.get_or_begin(request.statement)
        running.sending += 1
        asked = time.perf_counter()
        try:
            found = await running.take_output(request.stage, request.producers, request.consumer)
            began = time.perf_counter()
            rows = await self._exchange.encode(found, by_ucx=request.by_ucx, near=request.near)
            output = running.hold_buffer(rows) if isinstance(rows, BufferReply) else rows
            if not request.measured:
                return output
            return MeasuredOutput(output, 1000 * (began - asked), 1000 * (time.perf_counter() - began))
        except (asyncio.CancelledError, ValueError):  # raised by a closed file
            if not running.ended:
                raise
            return b""
        finally:
            running.sending -= 1
            self._queries.forget_if_read(running)

    async def send_buffer(self, request: BufferRequest) -> bytes | BufferReply:
        """See `BufferRequest`; returns no bytes if the statement has ended."""
        return self._take_buffer(request.statement, request.number)

    async def confirm_copy(self, request: CopiedRequest) -> bool:
        """See `CopiedRequest`."""
        return bool(self._take_buffer(request.statement, request.number))

    def _take_buffer(self, statement: int, number: int) -> bytes | BufferReply:
        running = self._queries.get(statement)
        if running is None:
            return b""
        rows = running.take_buffer(number)
        self._queries.forget_if_read(running)
        return rows

    async def send_chunk(self, request: ChunkRequest) -> ResultChunk | Refused:
        """See `ChunkRequest`."""
        running = self._queries.get(request.statement)
        kept = running.results.get(request.partition) if running is not None else None
        if running is None or kept is None:
            return Refused(Refusal.STATEMENT_ENDED)
        types = running.types
        frame, after = await asyncio.to_thread(kept.chunk, request.start)
        return ResultChunk(await asyncio.to_thread(lambda: encode_batch(to_batch(frame, types))), after)

    async def end(self, request: EndRequest) -> bool:
        """See `EndRequest`."""
        running = self._queries.end(request.statement)
        ends = time.monotonic() + request.patience
        while running is not None and running.thread_count and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        return running is not None and running.thread_count > 0

    async def change_cache(self, request: CacheRequest) -> CachedBytes | Failed:
        """See `CacheManager.apply`. An error is returned as a value."""
        partition = Partition(request.index, request.count)
        apply = partial(self._cache.apply, request.table, partition, CacheAction(request.action))
        try:
            queue = self.executor.queues[Priority.LONG]
            return CachedBytes(await asyncio.get_running_loop().run_in_executor(queue, apply))
        except Exception as error:
            failed = encode_error(error, 0)
            assert isinstance(failed, Failed)
            return failed

    async def describe_device(self, request: DeviceRequest) -> DeviceInfo:
        """See `DeviceRequest`."""
        return DeviceInfo(self._cache.describe(), await asyncio.to_thread(self._device_facts))

    def _device_facts(self) -> DeviceFacts:
        if not self._gpu:
            return host_facts(self._limit, self._resident)
        from gpudb.engine.gpu.cudf.memory.device_memory import device_facts

        return device_facts()

    async def ping(self, request: Ping) -> Heartbeat:
        """See `Ping`."""
        self._queries.retain(request.upto, request.live)
        self._exchange.retain_peers(request.peers)
        return Heartbeat(
            statements=len(self._queries),
            results=self.executor.results.bytes,
            resident=self.executor.resident,
            memory=memory_watchdog.used_bytes(),
            memory_space=self._memory,
            ucx_address=self._exchange.ucx_address,
            endpoints=self._fast_path_server.endpoints,
            has_stray=self._queries.has_stray(),
            finished=self._queries.count_finished(),
        )

    # ---------------------------------------------------------------------------------------- statements

    def answer_fast_path(self, request: FastPathRequest) -> bytes | None:
        """Answers a fast-path request: from bound parts in the caller's thread, one statement at a time, else in the
        queue of short statements.

        None declines it, also after an error: staged execution raises the error again.
        """
        statement = request.statement
        if self._queries.has_ended(statement):
            return None  # cancelled before its request has arrived
        running = self._queries.begin(statement)
        running.short = True
        try:
            plan = self._queries.plan(request.digest)
            if plan is None:
                return None
            peers = (self._worker.address,) * request.partition_count
            work = QueryRun(self.executor, self._fetch_output, running, plan, peers, 1, request.parameters)
            try:
                with self._fast_path_lock:
                    self.executor.backend.set_priority(Priority.FAST_PATH)
                    return self.executor.run_tracked(running, lambda: work.answer_fast_path(request))
            except NotBound:
                if request.partition_count > 1:
                    return None
            queue = self.executor.queues[Priority.SHORT]
            return queue.submit(self.executor.run_tracked, running, work.run_unbound).result()
        except Exception as error:
            _LOG.info("statement %s falls back to staged execution: %s", statement, error)
            return None
        finally:
            self._queries.forget(statement)

    def _end_over_limit(self, used: int) -> None:
        """Memory is over its limit: ends the statement that computes, and the process if the statement continues."""
        computing = self._queries.list_computing()
        if not computing:
            return
        most = min(computing, key=lambda each: each.short)
        detail = f"A worker uses {used} bytes of the {self._limit} that it may."
        most.fail(OutOfMemory("out of memory", detail=detail, hint="Raise the setting memory_limit, or read less."))
        # Delayed, so that the reply is still sent.
        asyncio.get_running_loop().call_later(2 * memory_watchdog.EVERY_SECONDS, self._end_process, most)

    def _available_memory(self) -> int:
        # Cached columns can be read again.
        return self._limit - memory_watchdog.used_bytes() + self.executor.resident

    def _end_process(self, running: RunningQuery) -> None:
        if running.thread_count and memory_watchdog.used_bytes() > self._limit:
            os.kill(os.getpid(), signal.SIGKILL)

    async def _fetch_output(
        self,
        address: str,
        statement: int,
        stage: int,
        producers: Sequence[int],
        consumer: int,
        timing: FetchTiming | None = None,
    ) -> ComputedFrame:
        """Fetches a stage's output on some partitions from the worker that has run them."""
        if address == self._worker.address:
            return await self._exchange.merge_local(
                await self._queries.get_or_begin(statement).take_output(stage, producers, consumer)
            )
        try:
            request = OutputRequest(statement, stage, tuple(producers), consumer)
            rows = await self._exchange.fetch(address, request, timing)
        except OSError as error:
            raise PartitionLost(producers[0]) from error
        if rows is None:
            raise PartitionLost(producers[0])
        return rows

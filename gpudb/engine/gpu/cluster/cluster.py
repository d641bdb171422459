"""The workers: their calls, heartbeats and supervision. A worker that is lost, or does not stop, is restarted.

Each worker is a process under Dask's nanny, which restarts a dead worker. All calls run on Dask's event loop, apart
from the threads that hold client sockets.

    starting -answers a ping→ ready -a connection is lost→ suspect -answers→ ready
    ready, suspect -silent for SILENT_SECONDS→ killed if its process is stopped, else late -answers→ ready
    late -silent for LATE_SECONDS→, or any -ended on purpose→ its process is killed → starting

While a worker is away another one runs its partitions: it reads the columns that it lacks. While none is there and the
cluster has ended one of them itself, or one is suspect, statements wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from gpudb.engine.gpu.cache.build_cache import BuildCache
from gpudb.engine.gpu.cluster.config import LATE_SECONDS, SILENT_SECONDS, WorkerProcesses
from gpudb.engine.gpu.cluster.launcher import START_SECONDS, Launcher, NannyHandlers, SchedulerState, WorkerInfo
from gpudb.engine.gpu.cluster.run_again import WorkerGone
from gpudb.engine.gpu.fastpath.pool import FastPathPool
from gpudb.engine.gpu.rpc.authentication import create_secret
from gpudb.engine.gpu.rpc.calls import Connections
from gpudb.engine.gpu.rpc.messages import AliveRequest, EndRequest, Heartbeat, KillRequest, Ping, RpcRequest
from gpudb.engine.gpu.stage.batching import MemorySpace
from gpudb.engine.gpu.worker.worker import StageWorker
from gpudb.engine.startup_log import log_step
from gpudb.errors import SqlError
from gpudb.lru import LruCache

_LOG = logging.getLogger(__name__)
_T = TypeVar("_T")

PING_SECONDS = 0.4
"""Interval between pings of a worker."""
RETURN_SECONDS = 3.0
"""Time limit for a statement to wait for a ready worker."""
RETRY_SECONDS = 1.5
"""The same after the statement has lost its worker: a GPU's takes longer to return, and the client gets the error
first.
"""
WAIT_EVENT = "ClusterWorker"
"""The wait event in pg_stat_activity meanwhile."""
_TAKEOVER_SECONDS = 0.3
"""Time to wait for a lost worker before another one runs its partitions.

A worker that only lost a connection answers sooner; a restarted process has no cached columns either.
"""

_MAX_ENDED = 1000


class WorkerState(NamedTuple):
    """A ready worker: its number, its address, and its last heartbeat."""

    number: int
    address: str
    heartbeat: Heartbeat | None


class Cluster:
    """Worker processes, supervised until `close`; `meanwhile` runs while they import their libraries."""

    def __init__(self, processes: WorkerProcesses, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.size = processes.count
        self.measures_exchanges = False
        """Whether workers measure what they fetch from each other."""
        self.processes = processes
        self._secret = create_secret()
        with ThreadPoolExecutor(1) as beside:
            begun = beside.submit(self._launch)
            meanwhile()
            self._launcher = begun.result()
        arguments = self._client.connection_args
        self._connections = Connections(arguments)
        self.fast_path_pool = FastPathPool(self._secret, arguments["ssl_context"])
        self.build_cache = BuildCache()
        self._ready: dict[int, str] = {}
        self._watched: dict[str, asyncio.Event] = {}
        self._heartbeats: dict[str, Heartbeat] = {}
        self._states: tuple[WorkerState, ...] = ()
        self._plans: dict[str, set[bytes]] = {}
        self._numbers = itertools.count(1)
        self._last_statement = 0
        self._live: set[int] = set()
        self._unready: set[int] = set()
        self._ended: LruCache[str, bool] = LruCache(_MAX_ENDED)
        self._returning: dict[int, float] = {}
        self._suspects: set[str] = set()
        self._lost_at = 0.0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = threading.Lock()
        self._closed = False
        self.run(self._start()).result(START_SECONDS)
        log_step("the workers answer")

    def _launch(self) -> Launcher:
        """Starts the processes and installs the plugins of nannies and workers."""
        processes = self.processes
        fleet = processes.start(processes.count)
        log_step("the workers' processes are there")
        plugin = StageWorker(
            processes.memory,
            processes.resident,
            processes.results,
            processes.fuse,
            secret=self._secret,
            gpu=processes.gpu,
            peers=processes.gpu and processes.count > 1,
            device=processes.device,
            temp_limit=processes.temp_limit,
        )
        fleet.install(NannyHandlers(), plugin)
        log_step("the workers are ready")
        return fleet

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop on which calls run."""
        return self._launcher.loop

    @property
    def _client(self) -> Any:
        """Dask's client, another one once the scheduler has been replaced."""
        return self._launcher.client

    def run(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Runs a coroutine on the event loop, from another thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs a coroutine on the event loop, from that loop, without a waiter."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._log_failure)

    def _log_failure(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None and not self._closed:
            _LOG.error("a task of the cluster failed", exc_info=task.exception())

    # ---------------------------------------------------------------------------------------- calls

    async def peers(self, within: float = RETURN_SECONDS) -> tuple[str, ...]:
        """Returns the address of each partition's worker.

        Raises 58000 if no worker is ready within `within` seconds, unless one is expected: START_SECONDS after this
        cluster has ended it, and as long as it is suspect.
        """
        ends = time.monotonic() + within
        while len(self._ready) < self.size:
            now = time.monotonic()
            if self._ready and now > self._lost_at + _TAKEOVER_SECONDS:
                break
            if now > max([ends, *self._returning.values()]) and not self._suspects:
                message = "the workers of the cluster are starting again"
                raise SqlError.of("system_error", message, hint="Try again shortly.")
            await asyncio.sleep(0.01)
        ready = [self._ready[number] for number in sorted(self._ready)]
        return tuple(self._ready.get(number) or ready[number % len(ready)] for number in range(self.size))

    def ucx_addresses(self, peers: tuple[str, ...]) -> tuple[str, ...]:
        """Returns the UCX addresses of the workers at some addresses; empty for those without."""
        known = (self._heartbeats.get(peer) for peer in peers)
        return tuple("" if each is None else each.ucx_address for each in known)

    async def call(self, address: str, request: RpcRequest[_T]) -> _T | None:
        """Returns a worker's reply; None before it has started. Raises OSError if the worker is lost."""
        return await self._connections.call(address, request)

    def mark_plan_sent(self, address: str, digest: bytes) -> bool:
        """Returns whether a worker has been sent a plan, and records it as sent."""
        plans = self._plans.setdefault(address, set())
        known = digest in plans
        if len(plans) > 10_000:
            plans.clear()
        plans.add(digest)
        return known

    def begin(self) -> int:
        """Returns the number of a new statement; workers keep it until `end`."""
        number = next(self._numbers)  # threads begin statements outside the event loop
        self._live.add(number)
        self._last_statement = number
        return number

    def end(self, statement: int) -> None:
        """Ends a statement: workers forget what they still hold of it at the next ping."""
        self._live.discard(statement)

    async def forget(self, statement: int, peers: tuple[str, ...]) -> None:
        """Ends a statement on the workers now, and restarts those that continue to compute: Polars cannot be
        interrupted.
        """
        self.end(statement)
        await asyncio.gather(*(self._forget(statement, peer) for peer in dict.fromkeys(peers)))

    async def _forget(self, statement: int, peer: str) -> None:
        patience = self.processes.patience
        try:
            async with asyncio.timeout(patience + SILENT_SECONDS):
                busy = await self.call(peer, EndRequest(statement, patience))
        except (OSError, TimeoutError):
            self.suspect(peer)
        else:
            if busy:
                _LOG.warning("ending the worker at %s, which continues after its statement has ended", peer)
                await self._end(peer)

    # ---------------------------------------------------------------------------------------- workers

    def memory_space(self) -> MemorySpace | None:
        """Returns the memory that every worker has; None before the first heartbeat."""
        spaces = [each.memory_space for each in self._heartbeats.values()]
        return MemorySpace(*map(min, zip(*spaces, strict=True))) if spaces else None

    def heartbeats(self) -> tuple[WorkerState, ...]:
        """Returns the ready workers with their last heartbeats."""
        return self._states

    @property
    def scheduler_state(self) -> SchedulerState:
        """What Dask's scheduler answered last."""
        return self._launcher.scheduler_state

    def _publish(self) -> None:
        """Publishes the ready workers for other threads: each statement reads them, and they change at a ping."""
        ready = sorted(self._ready.items())
        self._states = tuple(WorkerState(number, address, self._heartbeats.get(address)) for number, address in ready)

    def suspect(self, address: str) -> None:
        """Marks a worker as suspect after a lost connection: it is not called until it answers."""
        if self._mark_unready(address) and address in self._watched:
            self._suspects.add(address)
            self._watched[address].set()

    async def find_cause(self, address: str) -> WorkerGone:
        """Returns what a statement raises whose call to a worker has failed, once it is known whether the worker lives.

        It is blameless if the worker lives, and only a connection was lost, or if this cluster has ended it.
        """
        self.suspect(address)
        while address in self._suspects:
            await asyncio.sleep(0.01)
        return WorkerGone(blameless=address in self._ended or address in self._ready.values())

    def _mark_unready(self, address: str) -> bool:
        for number, each in list(self._ready.items()):
            if each == address:
                del self._ready[number]
                self._publish()
                self._lost_at = time.monotonic()
                return True
        return False

    async def _end(self, address: str) -> None:
        """Restarts a worker through no fault of the other statements that it runs: they run again, and wait for it."""
        self._expect_return(address)
        await self.restart(address)

    async def end_failed(self, address: str) -> None:
        """Restarts a worker whose GPU has failed; other statements on it run again."""
        await self._end(address)

    def _expect_return(self, address: str) -> None:
        """Records that this cluster ends a worker, before anyone can notice."""
        found = self._launcher.workers.get(address)
        if found is not None and address not in self._ended:
            self._returning[found.number] = time.monotonic() + START_SECONDS
        self._ended.put(address, True)

    async def restart(self, address: str) -> None:
        """Kills a worker's process; its nanny starts another."""
        self._mark_unready(address)
        found = self._launcher.workers.get(address)
        if found is not None:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(SILENT_SECONDS):
                    await self.call(found.nanny, KillRequest(address))

    async def _end_mapping_workers(self, number: int) -> None:
        """Restarts the workers that may map a lost worker's GPU memory, for which its successor then has no room.

        UCX unmaps it only as their processes end. Once, until that worker is ready.
        """
        if number in self._unready:
            return
        self._unready.add(number)
        others = [each for each in self.heartbeats() if each.number != number]
        for address in [each.address for each in others if each.heartbeat and each.heartbeat.ucx_address]:
            _LOG.warning("ending the worker at %s, which may hold a lost worker's memory", address)
            await self._end(address)

    async def _start(self) -> None:
        self.spawn(self._supervise())
        while len(self._ready) < self.size:
            await asyncio.sleep(0.01)

    async def _supervise(self) -> None:
        """Starts to watch workers as they join."""
        looked = 0.0
        while True:
            whole = len(self._ready) == self.size
            if time.monotonic() > looked + (PING_SECONDS if whole else PING_SECONDS / 4):
                await self._launcher.refresh()
                looked = time.monotonic()
            for address, found in self._launcher.workers.items():
                if address not in self._watched:
                    self._watched[address] = asyncio.Event()
                    self.spawn(self._watch(found, address, self._watched[address]))
            await asyncio.sleep(0.1 if whole else 0.02)

    async def _watch(self, found: WorkerInfo, address: str, wake: asyncio.Event) -> None:
        """Pings a worker until it is gone, or its scheduler is and with it the worker's number."""
        number, failures = found.number, 0
        self._ended.pop(address)  # of an earlier process
        limit: float = START_SECONDS  # it answers nothing while it imports its modules
        try:
            while failures < 2 and self._launcher.workers.get(address) == found:
                try:
                    heartbeat = await self._ping(number, address, limit)
                except TimeoutError:
                    _LOG.warning("ending worker %s at %s, which sends no heartbeats", number, address)
                    break
                except OSError:
                    failures += 1
                    self.suspect(address)
                    await asyncio.sleep(0.05)
                    continue
                if (
                    heartbeat is None
                ):  # it answers once it has started: the plugin that installs the handlers has failed
                    _LOG.warning("ending worker %s at %s, which failed to initialize", number, address)
                    await self._end_mapping_workers(number)
                    break
                failures, limit = 0, LATE_SECONDS
                self._heartbeats[address] = heartbeat
                if heartbeat.has_stray:
                    _LOG.warning("ending worker %s, which continues after its statement has ended", number)
                    self._expect_return(address)
                if address in self._ended:  # it answers until it is killed
                    break
                self._ready[number] = address
                self._publish()
                self._unready.discard(number)
                self._suspects.discard(address)
                self._returning.pop(number, None)
                wake.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(PING_SECONDS):
                        await wake.wait()
        finally:
            self._mark_unready(address)
            self._suspects.discard(address)
            self._heartbeats.pop(address, None)
            self._plans.pop(address, None)
            self._connections.forget(address)
        while self._launcher.workers.get(address) == found:
            await self.restart(address)
            await asyncio.sleep(0.1)
        self._watched.pop(address, None)

    async def _ping(self, number: int, address: str, limit: float) -> Heartbeat | None:
        """Returns a worker's heartbeat.

        Raises OSError if the worker is lost, TimeoutError if its process is stopped, or silent for `limit` seconds.
        """
        began = time.monotonic()
        request = Ping(self._last_statement, tuple(sorted(self._live)), tuple(self._watched))
        ping = asyncio.ensure_future(self.call(address, request))
        try:
            while True:
                done, _ = await asyncio.wait({ping}, timeout=SILENT_SECONDS)
                waited = time.monotonic() - began
                if done and _has_timed_out(ping.exception()):
                    # A busy worker answers no TLS handshake: that is silence as well.
                    ping = asyncio.ensure_future(self.call(address, request))
                elif done:
                    if SILENT_SECONDS < waited < limit == LATE_SECONDS:
                        _LOG.warning("worker %s has sent no heartbeat for %.1f s", number, waited)
                    return ping.result()
                if waited >= limit or not await self._is_alive(address):
                    raise TimeoutError
        finally:
            ping.cancel()

    async def _is_alive(self, address: str) -> bool:
        """Returns whether a worker's process is able to run, as its nanny sees it."""
        found = self._launcher.workers.get(address)
        if found is None:
            return False
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                return await self.call(found.nanny, AliveRequest(address)) is not False
        except TimeoutError:
            return True  # a busy host is late itself
        except OSError as error:
            return _has_timed_out(error)  # the same

    def close(self) -> None:
        """Ends the workers."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self.run(self._end_tasks()).result(5)
            self.fast_path_pool.close()
            self._launcher.close()

    async def _end_tasks(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._connections.close()


def _has_timed_out(error: BaseException | None) -> bool:
    """Returns whether a call failed because connecting took too long."""
    return isinstance(error, OSError) and isinstance(error.__cause__, TimeoutError)

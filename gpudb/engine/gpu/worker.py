"""What runs in each worker process: its shares of statements, what their stages give, and the columns that they read.

The coordinator and the other workers call it by handlers of Dask's worker, one message each:

    gpudb_run    run shares of a statement, stage by stage; tells what each did, and the result if it is small
    gpudb_part   what a stage gave on a share, as Arrow's IPC stream, as soon as it is there; asked by other workers
    gpudb_rows   a chunk of a result
    gpudb_drop   end a statement and forget it; tells whether it computes still
    gpudb_ping   a sign of life; forgets statements that the coordinator does not know
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import tempfile
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu import memory
from gpudb.engine.gpu.connections import Connections
from gpudb.engine.gpu.exchange import givers, runners, takers
from gpudb.engine.gpu.frames import Frames, Held, HostFrames
from gpudb.engine.gpu.fused.resident import PackedTables
from gpudb.engine.gpu.fused.run import Twin
from gpudb.engine.gpu.given import Kept, Parts, ResultRoom, read, written
from gpudb.engine.gpu.resident import ResidentTables, Share
from gpudb.engine.gpu.stage import Kernels, Tables, Task, compute
from gpudb.errors import GpudbError, InternalError, OutOfMemory
from gpudb.plan.errors import NotCarried
from gpudb.plan.stages import Stage

_LOG = logging.getLogger(__name__)

INLINE_BYTES = 2**18
"""A result of fewer bytes comes with the answer."""
_LARGE_BYTES = 2**20
_PLANS = 64
_GONE = 10_000
_STRAY_SECONDS = 1.0
_SHORT_SECONDS = 1.0


class Lost(Exception):
    """A share whose worker did not give its rows."""


class Running:
    """A statement on this worker."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.error: GpudbError | None = None
        self.short = False
        self.began = time.monotonic()
        self.computing = 0
        self.results: dict[int, Kept] = {}
        self.ended = 0.0
        self._parts: dict[tuple[int, int], asyncio.Future[Parts]] = {}

    def parts(self, stage: int, share: int) -> asyncio.Future[Parts]:
        """What a stage gives on a share, which may be still to come."""
        found = self._parts.get((stage, share))
        if found is None:
            found = self._parts[stage, share] = asyncio.get_running_loop().create_future()
        return found

    @property
    def read(self) -> bool:
        """Whether all that was given has been read."""
        given = all(each.done() and not each.cancelled() and each.result().read for each in self._parts.values())
        return given and not self.results and self.task is not None and self.task.done()

    def fail(self, error: GpudbError) -> None:
        """Ends the statement here with an error."""
        if self.task is not None and not self.task.done():
            self.error = error
            self.task.cancel()

    def end(self) -> None:
        """Ends the statement here and frees what it holds."""
        self.ended = time.monotonic()
        if self.task is not None:
            self.task.cancel()
        for each in self._parts.values():
            each.cancel()
        for kept in self.results.values():
            kept.end()
        self._parts.clear()
        self.results.clear()


class StageWorker(WorkerPlugin):
    """Adds gpudb's handlers to a Dask worker.

    In bytes: `limit` bounds the process, `resident` the tables' columns, `results` what waits for clients in memory.
    On a `gpu` worker tables and frames lie in its GPU's memory, of which `resident` 0 leaves the bound to the worker.
    """

    name = "gpudb"

    def __init__(self, limit: int, resident: int, results: int, fuse: bool = False, *, gpu: bool = False) -> None:
        self._limit, self._resident, self._results = limit, resident, results
        self._fuse, self._gpu = fuse, gpu

    def setup(self, worker: Any) -> None:
        """Called by Dask in the worker's process."""
        self._worker = worker
        self._connections = Connections(worker.connection_args)
        self._frames, self._tables, self._kernels = (
            _on_gpu(self._resident) if self._gpu else _on_host(self._resident, self._fuse)
        )
        self._folder = tempfile.TemporaryDirectory(prefix="results-", dir=worker.local_directory)
        self._room = ResultRoom(self._results, Path(self._folder.name))
        self._statements: dict[int, Running] = {}
        # Statements that have ended: a message for one may still come. And those that compute on regardless.
        self._gone: OrderedDict[int, None] = OrderedDict()
        self._strays: list[Running] = []
        self._plans: OrderedDict[bytes, list[Stage]] = OrderedDict()
        # One long stage at a time: several would share the same cores or the same GPU. Short ones go beside it.
        self._lanes = {short: ThreadPoolExecutor(1, "short stage" if short else "stage") for short in (False, True)}
        self._watch = asyncio.ensure_future(memory.watch(self._limit, self._tables.shrink, self._over))
        for handler in (self.run, self.part, self.rows, self.drop, self.ping):
            worker.handlers[f"gpudb_{handler.__name__}"] = handler

    def teardown(self, worker: Any) -> None:
        """Called by Dask as the worker ends."""
        self._watch.cancel()
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        self._folder.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_limit", "_resident", "_results", "_fuse", "_gpu")}

    # ---------------------------------------------------------------------------------------- handlers

    async def run(
        self,
        statement: int,
        digest: bytes,
        shares: Sequence[int],
        peers: Sequence[str],
        parameters: bytes,
        short: bool,
        stages: bytes = b"",
    ) -> dict[str, Any]:
        """Runs the stages of these shares. `peers` are the addresses by share; an error comes back as a value."""
        plan = self._plan(digest, stages)
        if plan is None:
            return {"unknown": True}
        if statement in self._gone:
            return {"gone": True}
        running = self._statement(statement)
        running.short = short
        work = _Work(self, running, plan, tuple(peers), *pickle.loads(parameters))
        running.task = asyncio.ensure_future(work.run(tuple(shares)))
        try:
            return await running.task
        except asyncio.CancelledError:
            if not running.task.cancelled():
                raise
            return {"error": pickle.dumps(running.error)} if running.error is not None else {"gone": True}
        finally:
            self._forget_if_read(running)

    async def part(self, statement: int, stage: int, giver: int, taker: int) -> bytes:
        """A stage's rows for another worker; nothing if the statement has ended."""
        if statement in self._gone:
            return b""
        running = self._statement(statement)
        try:
            held = (await asyncio.shield(running.parts(stage, giver))).take(taker)
        except asyncio.CancelledError:
            if not running.ended:
                raise
            return b""
        self._forget_if_read(running)
        if held.bytes < _LARGE_BYTES and not self._gpu:
            return written(held.frame())
        return await asyncio.to_thread(lambda: written(held.frame()))

    async def rows(self, statement: int, share: int, start: int) -> dict[str, Any]:
        """A chunk of a result from row `start` on, and where the next one starts, 0 after the last."""
        running = self._statements.get(statement)
        kept = running.results.get(share) if running is not None else None
        if kept is None:
            return {"gone": True}
        data, after = await asyncio.to_thread(kept.chunk, start)
        return {"data": data, "next": after}

    async def drop(self, statement: int, patience: float = 0.0) -> bool:
        """Forgets a statement; whether it computes on after `patience` seconds."""
        running = self._end(statement)
        ends = time.monotonic() + patience
        while running is not None and running.computing and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        return running is not None and running.computing > 0

    async def ping(self, upto: int, live: Sequence[int]) -> dict[str, Any]:
        """Tells what is held; forgets statements up to the number `upto` that are not among the `live` ones."""
        known = set(live)
        for number in [number for number in self._statements if number <= upto and number not in known]:
            self._end(number)
        self._strays = [each for each in self._strays if each.computing]
        now = time.monotonic()
        return {
            "statements": len(self._statements),
            "results": self._room.bytes,
            "resident": self._tables.bytes,
            "memory": memory.used(),
            "stray": any(now - each.ended > _STRAY_SECONDS for each in self._strays),
        }

    # ---------------------------------------------------------------------------------------- statements

    def _plan(self, digest: bytes, stages: bytes) -> list[Stage] | None:
        plan = self._plans.get(digest)
        if plan is None:
            if not stages:
                return None
            plan = self._plans[digest] = pickle.loads(stages)
            while len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        self._plans.move_to_end(digest)
        return plan

    def _statement(self, number: int) -> Running:
        found = self._statements.get(number)
        if found is None:
            found = self._statements[number] = Running(number)
        return found

    def _forget_if_read(self, running: Running) -> None:
        if running.read and self._statements.get(running.number) is running:
            self._end(running.number)

    def _end(self, number: int) -> Running | None:
        self._gone[number] = None
        while len(self._gone) > _GONE:
            self._gone.popitem(last=False)
        running = self._statements.pop(number, None)
        if running is not None:
            running.end()
            if running.computing:
                self._strays.append(running)
        return running

    def _over(self, used: int) -> None:
        """Memory is over its bound: the statement that computes ends, and if it goes on, the process."""
        computing = [each for each in self._statements.values() if each.computing]
        if not computing:
            return
        most = min(computing, key=lambda each: each.short)
        detail = f"A worker uses {used} bytes of the {self._limit} that it may."
        most.fail(OutOfMemory("out of memory", detail=detail, hint="Raise the setting memory_limit, or read less."))
        # Soon, so that the answer still goes out.
        asyncio.get_running_loop().call_later(2 * memory.EVERY_SECONDS, self._end_process, most)

    def _end_process(self, running: Running) -> None:
        if running.computing and memory.used() > self._limit:
            os.kill(os.getpid(), signal.SIGKILL)

    # ---------------------------------------------------------------------------------------- what work asks for

    async def fetch(self, address: str, statement: int, stage: int, giver: int, taker: int) -> Held:
        """A part of what a stage gave, from the worker that has it."""
        if address == self._worker.address:
            return (await asyncio.shield(self._statement(statement).parts(stage, giver))).take(taker)
        try:
            data = await self._connections.call(
                address, "gpudb_part", statement=statement, stage=stage, giver=giver, taker=taker
            )
        except OSError as error:
            raise Lost(giver) from error
        if not data:
            raise Lost(giver)
        if self._gpu or len(data) >= _LARGE_BYTES:
            return await asyncio.to_thread(lambda: self._frames.given(read(data)))
        return self._frames.given(read(data))

    async def compute(
        self, running: Running, task: Task, received: Mapping[int, Sequence[Held]]
    ) -> tuple[list[Held], float, tuple[str, ...]]:
        """What a stage gives, its milliseconds, and what of it ran on the host, once its lane is free."""
        loop = asyncio.get_running_loop()
        # One that was thought to be short makes room once it shows that it is not.
        short = running.short and time.monotonic() - running.began < _SHORT_SECONDS
        return await loop.run_in_executor(self._lanes[short], self._computed, running, task, received)

    def _computed(
        self, running: Running, task: Task, received: Mapping[int, Sequence[Held]]
    ) -> tuple[list[Held], float, tuple[str, ...]]:
        running.computing += 1
        started = time.perf_counter()
        try:
            made = compute(task, self._tables, received, self._frames, self._kernels)
            return made, 1000 * (time.perf_counter() - started), self._frames.on_host()
        finally:
            running.computing -= 1

    async def keep(self, running: Running, share: int, rows: Held) -> bytes | None:
        """A share of the result: its rows if they are few, else None, and they are kept."""
        if rows.bytes <= INLINE_BYTES:
            # What a GPU computes meanwhile may hold a copy up; the event loop must answer.
            return await asyncio.to_thread(lambda: written(rows.frame())) if self._gpu else written(rows.frame())
        running.results[share] = await asyncio.to_thread(lambda: self._room.keep(rows.frame()))
        return None


class _Work:
    """One statement's stages on this worker."""

    def __init__(
        self,
        worker: StageWorker,
        running: Running,
        stages: Sequence[Stage],
        peers: tuple[str, ...],
        parameters: tuple[object, ...],
        timezone: str,
    ) -> None:
        self._worker, self._running, self._stages, self._peers = worker, running, stages, peers
        self._parameters = parameters
        self._timezone = timezone
        self._measured: list[tuple[int, int, int, int, float, tuple[str, ...]]] = []
        self._results: list[tuple[int, bytes | None]] = []

    async def run(self, shares: tuple[int, ...]) -> dict[str, Any]:
        """Runs every stage as soon as what it reads is there; what each did, by stage and share, and the result."""
        try:
            async with asyncio.TaskGroup() as group:
                for stage in self._stages:
                    for share in set(shares).intersection(runners(stage, len(self._peers))):
                        group.create_task(self._stage(stage, share))
        except BaseExceptionGroup as failed:
            return _told(_first(failed), self._running.number)
        return {"measured": self._measured, "results": self._results}

    async def _stage(self, stage: Stage, share: int) -> None:
        count = len(self._peers)
        received: dict[int, list[Held]] = {}
        for number in stage.inputs:
            parts = [self._fetch(number, giver, share) for giver in givers(self._stages[number], share, count)]
            received[number] = list(await asyncio.gather(*parts))
        task = Task(stage, Share(share, count), self._parameters, self._timezone)
        frames, spent, host = await self._worker.compute(self._running, task, received)
        rows, size = sum(each.rows for each in frames), sum(each.bytes for each in frames)
        self._measured.append((stage.number, share, rows, size, spent, host))
        if stage.output == "result":
            self._results.append((share, await self._worker.keep(self._running, share, frames[0])))
        else:
            readers = takers(self._stages, stage.number, share, count)
            self._running.parts(stage.number, share).set_result(Parts(frames, readers))

    async def _fetch(self, stage: int, giver: int, taker: int) -> Held:
        return await self._worker.fetch(self._peers[giver], self._running.number, stage, giver, taker)


def _on_host(budget: int, fuse: bool) -> tuple[Frames, Tables, Kernels | None]:
    # Packed columns are made of the tables' own: half of the room each, where both are kept.
    room = budget // 2 if fuse else budget
    tables = ResidentTables(room)
    return HostFrames(), tables, Twin(PackedTables(tables, room)) if fuse else None


def _on_gpu(budget: int) -> tuple[Frames, Tables, Kernels | None]:
    from gpudb.engine.gpu.cudf.frames import CudfFrames
    from gpudb.engine.gpu.cudf.memory import SHARE, open_device
    from gpudb.engine.gpu.cudf.resident import CudfTables

    device = open_device()
    frames = CudfFrames()
    return frames, CudfTables(budget or int(SHARE * device.memory), frames), None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _told(error: BaseException, statement: int) -> dict[str, Any]:
    """An error as a value that the coordinator reads."""
    if isinstance(error, Lost):
        return {"lost": error.args[0]}
    if isinstance(error, GpudbError | NotCarried):
        return {"error": pickle.dumps(error)}
    if isinstance(error, MemoryError):  # Arrow's is one too
        return {"error": pickle.dumps(OutOfMemory("out of memory", detail=str(error)))}
    with contextlib.suppress(Exception):
        _LOG.error("statement %s", statement, exc_info=error)
    return {"error": pickle.dumps(InternalError(f"{type(error).__name__}: {str(error)[:500]}"))}

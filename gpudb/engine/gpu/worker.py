"""What runs in each worker process: its shares of statements, what their stages give, and the columns that they read.

The coordinator and the other workers call it by handlers of Dask's worker, one message each:

    gpudb_run    run shares of a statement, stage by stage; tells what each did, and the result if it is small
    gpudb_part   what a stage gave on shares, as soon as it is there (see `transfers`); asked by other workers
    gpudb_rows   a chunk of a result
    gpudb_drop   end a statement and forget it; tells whether it computes still
    gpudb_hold   load, pin or drop a table's columns; its bytes
    gpudb_told   what columns are kept, and what the device is
    gpudb_ping   a sign of life; forgets statements that the coordinator does not know
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from distributed.diagnostics.plugin import WorkerPlugin

from gpudb.engine.gpu import memory
from gpudb.engine.gpu.connections import Attached, handling
from gpudb.engine.gpu.device import on_gpu, on_host
from gpudb.engine.gpu.finish import Finished
from gpudb.engine.gpu.frames import Held, HostFrames, HostHeld
from gpudb.engine.gpu.given import ResultRoom, Spilled
from gpudb.engine.gpu.holding import Action, Facts, Holding, host_facts
from gpudb.engine.gpu.outcome import packed, to_batch
from gpudb.engine.gpu.share import Share
from gpudb.engine.gpu.shortcut import Entry
from gpudb.engine.gpu.stage import Again, Task, compute, finished
from gpudb.engine.gpu.transfers import Transfers
from gpudb.engine.gpu.warm import warm
from gpudb.engine.gpu.work import INLINE_BYTES, Figures, Lost, Running, Work, told
from gpudb.errors import OutOfMemory, SqlError
from gpudb.plan.fused import Fused
from gpudb.plan.nodes import Scan
from gpudb.plan.stages import Stage
from gpudb.plan.traversal import walk_nodes

_LOG = logging.getLogger(__name__)

_SPILL_BYTES = 2**16
_PLANS = 256
_GONE = 10_000
_STRAY_SECONDS = 1.0
_SHORT_SECONDS = 1.0
HOST = HostFrames()
_FEW_ROWS = "the few rows that a kernel gave"
_T = TypeVar("_T")


class StageWorker(WorkerPlugin):
    """Adds gpudb's handlers to a Dask worker.

    In bytes: `limit` bounds the process, `resident` the tables' columns, `results` what waits for clients in memory.
    On a `gpu` worker tables and frames lie in its GPU's memory, of which it may use `device` bytes, or all that is
    free, and `resident` 0 leaves the bound to the worker; where there are `peers`, rows go from GPU to GPU.
    """

    name = "gpudb"

    def __init__(
        self,
        limit: int,
        resident: int,
        results: int,
        fuse: bool = False,
        *,
        gpu: bool = False,
        peers: bool = False,
        device: int = 0,
    ) -> None:
        self._limit, self._resident, self._results = limit, resident, results
        self._fuse, self._gpu, self._peers, self._bound = fuse, gpu, peers, device

    async def setup(self, worker: Any) -> None:
        """Called by Dask in the worker's process."""
        self._worker = worker
        if self._gpu:
            device = on_gpu(self._resident, self._fuse, peers=self._peers, bound=self._bound)
        else:
            device = on_host(self._limit, self._resident, self._fuse)
        self._transfers = Transfers(worker, device.frames, device.packer)
        if device.packer is not None:
            await self._transfers.open()
        self._frames, self._tables, self._kernels = device.frames, device.tables, device.kernels
        self._failure, self._space = device.failure, device.space
        packed = self._kernels.tables if self._kernels is not None else None
        self._holding = Holding(self._tables, packed)
        self._folder = tempfile.TemporaryDirectory(prefix="results-", dir=worker.local_directory)
        self._room = ResultRoom(self._results, Path(self._folder.name))
        self._entry = Entry(Path(self._folder.name), self.at_once)
        self._at_once = threading.Lock()
        self._statements: dict[int, Running] = {}
        # Statements that have ended: a message for one may still come. And those that compute on regardless.
        self._gone: OrderedDict[int, None] = OrderedDict()
        self._strays: list[Running] = []
        self._plans: OrderedDict[bytes, list[Stage]] = OrderedDict()
        # One long stage at a time: several would share the same cores or the same GPU. Short ones go beside it.
        self._lanes = {short: ThreadPoolExecutor(1, "short stage" if short else "stage") for short in (False, True)}
        if self._gpu:
            self._lanes[False].submit(warm, self._frames)
        self._watch = asyncio.ensure_future(memory.watch(self._limit, self._tables.shrink, self._over))
        for handler in (self.run, self.part, self.rows, self.drop, self.hold, self.told, self.ping):
            worker.handlers[f"gpudb_{handler.__name__}"] = handling(handler)

    def teardown(self, worker: Any) -> None:
        """Called by Dask as the worker ends."""
        self._watch.cancel()
        self._transfers.close()
        self._entry.close()
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        self._folder.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        given = ("_limit", "_resident", "_results", "_fuse", "_gpu", "_peers", "_bound")
        return {name: getattr(self, name) for name in given}

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
        chunks: int = 1,
        doors: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Runs the stages of these shares, of which each of the `peers` has as many as there are `chunks`; an error
        comes back as a value."""
        self._transfers.learn(peers, doors)
        plan = self._plan(digest, stages)
        if plan is None:
            return {"unknown": True}
        if statement in self._gone:
            return {"gone": True}
        running = self._statement(statement)
        running.short = short
        work = Work(self, running, plan, tuple(peers), chunks, parameters)
        running.task = asyncio.ensure_future(work.run(tuple(shares)))
        try:
            return await running.task
        except asyncio.CancelledError:
            if not running.task.cancelled():
                raise
            return {"error": pickle.dumps(running.error)} if running.error is not None else {"gone": True}
        finally:
            self._forget_if_read(running)

    async def part(
        self, statement: int, stage: int, givers: Sequence[int], taker: int, by_door: bool = False
    ) -> bytes | Attached:
        """A stage's rows on shares that ran here, for another worker's; nothing if the statement has ended."""
        if statement in self._gone:
            return b""
        running = self._statement(statement)
        try:
            return await self._transfers.sent(await running.taken(stage, givers, taker), by_door=by_door)
        except (asyncio.CancelledError, ValueError):  # which a closed file raises
            if not running.ended:
                raise
            return b""
        finally:
            self._forget_if_read(running)

    async def rows(self, statement: int, share: int, start: int) -> dict[str, Any]:
        """A chunk of a result from row `start` on, and where the next one starts, 0 after the last."""
        running = self._statements.get(statement)
        kept = running.results.get(share) if running is not None else None
        if running is None or kept is None:
            return {"gone": True}
        types = running.types
        frame, after = await asyncio.to_thread(kept.chunk, start)
        data = await asyncio.to_thread(lambda: packed(to_batch(frame, types)))
        return {"data": data, "next": after}

    async def drop(self, statement: int, patience: float = 0.0) -> bool:
        """Forgets a statement; whether it computes on after `patience` seconds."""
        running = self._end(statement)
        ends = time.monotonic() + patience
        while running is not None and running.computing and time.monotonic() < ends:
            await asyncio.sleep(0.01)
        return running is not None and running.computing > 0

    async def hold(self, table: bytes, index: int, count: int, action: Action) -> dict[str, Any]:
        """See `Holding.act`: the bytes, or an error as a value."""
        loop, share = asyncio.get_running_loop(), Share(index, count)
        try:
            return {"bytes": await loop.run_in_executor(self._lanes[False], self._holding.act, table, share, action)}
        except Exception as error:
            return told(error, 0)

    async def told(self) -> dict[str, Any]:
        """The columns that are kept, and facts of the device."""
        return {"held": self._holding.held(), "device": await asyncio.to_thread(self._device)}

    def _device(self) -> Facts:
        if not self._gpu:
            return host_facts(self._limit, self._resident)
        from gpudb.engine.gpu.cudf.memory import device_facts

        return device_facts()

    async def ping(self, upto: int, live: Sequence[int]) -> dict[str, Any]:
        """Tells what is held; forgets statements up to the number `upto` that are not among the `live` ones."""
        known = set(live)
        for number in [number for number in list(self._statements) if number <= upto and number not in known]:
            self._end(number)
        self._strays = [each for each in self._strays if each.computing]
        now = time.monotonic()
        return {
            "statements": len(self._statements),
            "results": self._room.bytes,
            "resident": self._tables.bytes + (self._kernels.bytes if self._kernels is not None else 0),
            "memory": memory.used(),
            "room": self._space,
            "door": self._transfers.door,
            "shortcut": self._entry.path,
            "stray": any(now - each.ended > _STRAY_SECONDS for each in self._strays),
        }

    # ---------------------------------------------------------------------------------------- statements

    def at_once(self, statement: int, digest: bytes, parameters: bytes) -> bytes | None:
        """A statement's rows, made in the caller's thread of parts that are bound, one statement after the other; None
        where it takes more, and for an error, which it meets again on the usual way."""
        plan = self._plans.get(digest)
        if plan is None:
            return None
        running = self._statements[statement] = Running(statement)
        running.short = True
        work = Work(self, running, plan, (self._worker.address,), 1, parameters)
        try:
            with self._at_once:
                return self._counted(running, work.at_once)
        except Exception as error:
            _LOG.info("statement %s goes the usual way: %s", statement, error)
            return None
        finally:
            self._statements.pop(statement, None)

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

    async def failed(self, error: Exception, statement: int) -> dict[str, Any]:
        """An error as a value. One that has broken the GPU's context ends this process: its nanny starts another."""
        broken = await asyncio.to_thread(self._failure)
        if broken is None:
            return told(error, statement)
        _LOG.critical("the GPU has failed (%s): this worker ends", broken, exc_info=error)
        # Soon, so that the answer still goes out.
        asyncio.get_running_loop().call_later(2 * memory.EVERY_SECONDS, os.kill, os.getpid(), signal.SIGKILL)
        message = f"the GPU failed while the statement ran: {broken}"
        hint = "Its worker starts again. If the statement fails there each time, another one like it may not."
        return {"error": pickle.dumps(SqlError.of("system_error", message, hint=hint))}

    def _over(self, used: int) -> None:
        """Memory is over its bound: the statement that computes ends, and if it goes on, the process."""
        computing = [each for each in list(self._statements.values()) if each.computing]
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

    async def fetch(self, address: str, statement: int, stage: int, givers: Sequence[int], taker: int) -> Held:
        """What a stage gave on some shares, from the worker that has run them."""
        if address == self._worker.address:
            return await self._transfers.kept(await self._statement(statement).taken(stage, givers, taker))
        try:
            rows = await self._transfers.fetched(address, statement=statement, stage=stage, givers=givers, taker=taker)
        except OSError as error:
            raise Lost(givers[0]) from error
        if rows is None:
            raise Lost(givers[0])
        return rows

    async def in_lane(self, running: Running, work: Callable[[], _T]) -> _T:
        """What some work gives, once the statement's lane is free."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._lanes[self.short(running)], self._counted, running, work)

    def short(self, running: Running) -> bool:
        """Whether a statement goes beside long ones: until it shows that it is one."""
        return running.short and time.monotonic() - running.began < _SHORT_SECONDS

    def _counted(self, running: Running, work: Callable[[], _T]) -> _T:
        running.computing += 1
        try:
            return work()
        finally:
            running.computing -= 1

    def finished(self, task: Task, received: Mapping[int, Sequence[Held]]) -> tuple[Finished, Figures] | None:
        """The result, where a few groups that a kernel gave are all that is left to finish; else None."""
        started = time.perf_counter()
        made = finished(task, received)
        if made is None:
            return None
        spent = 1000 * (time.perf_counter() - started)
        host = (_FEW_ROWS,) if self._gpu else ()
        return made, (task.stage.number, task.share.index, made.rows, made.bytes, 0, spent, host, (), ())

    def computed(
        self, task: Task, received: Mapping[int, Sequence[Held]], *, spill: Running | None = None
    ) -> tuple[Sequence[Held | Spilled], Figures]:
        """What a stage gives, in a lane's thread; more than a few rows go to a file of the statement `spill`."""
        started = time.perf_counter()
        frames, kernels = self._frames, self._kernels
        few = self._gpu and task.share.count == 1 and _few(task.stage, received)
        work = partial(compute, task, self._tables, received, HOST if few else frames, kernels)
        made: Sequence[Held | Spilled] = (parts := self._with_room(work, task))
        rows, size = sum(each.rows for each in parts), sum(each.bytes for each in parts)
        spilled = 0
        if spill is not None and size > _SPILL_BYTES:
            file = spill.file(Path(self._folder.name))
            made = [file.write(each.frame()) for each in parts]
            spilled = file.bytes
        spent = 1000 * (time.perf_counter() - started)
        host = frames.on_host() or ((_FEW_ROWS,) if few else ())
        launched = tuple(map(astuple, kernels.launched())) if kernels is not None else ()
        seen = tuple(map(astuple, task.narrowed))
        return made, (task.stage.number, task.share.index, rows, size, spilled, spent, host, launched, seen)

    def _with_room(self, work: Callable[[], list[Held]], task: Task) -> list[Held]:
        """What a stage gives; tried again where a GPU's memory was too small, once there is more room in it."""
        try:
            return work()
        except (MemoryError, OutOfMemory):
            if not self._gpu:
                raise
        # Here nothing holds what the first try held.
        self._frames.make_room()
        task.narrowed.clear()
        return work()

    def again(self, stages: Sequence[Stage], key: bytes) -> dict[int, Again]:
        """The fused parts of stages that have been bound before under a key, by the ids of their nodes."""
        kernels = self._kernels
        if kernels is None:
            return {}
        nodes = [node for stage in stages for node in walk_nodes(stage.root) if isinstance(node, Fused)]
        found = {id(node): kernels.kept(node, key) for node in nodes}
        return {number: partial(kernels.again, ready) for number, ready in found.items() if ready is not None}

    async def keep(self, running: Running, share: int, rows: Held) -> bytes | None:
        """A share of the result: its rows if they are few, else None, and they are kept."""
        if rows.bytes <= INLINE_BYTES:
            # What a GPU computes meanwhile may hold a copy up; the event loop must answer.
            away = self._gpu and not isinstance(rows, HostHeld)
            frame = await asyncio.to_thread(rows.frame) if away else rows.frame()
            return packed(to_batch(frame, running.types))
        running.results[share] = await asyncio.to_thread(lambda: self._room.keep(rows.frame()))
        return None


def _few(stage: Stage, received: Mapping[int, Sequence[Held]]) -> bool:
    """Whether all that a stage reads are rows that a kernel has left on the host."""
    if not received or not all(isinstance(each, HostHeld) for parts in received.values() for each in parts):
        return False
    return not any(isinstance(node, Scan | Fused) for node in walk_nodes(stage.root))

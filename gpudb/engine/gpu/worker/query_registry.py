"""A worker's statements: what each holds, which have ended, and the plans that they share."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.exchange.buffers import ExchangeBuffers, ResultBuffer, SpillFile
from gpudb.engine.gpu.rpc.calls import BufferReply, PendingBuffer
from gpudb.engine.gpu.worker.worker_plan import WorkerPlan
from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.types import SqlType

_PLANS = 256
_GONE = 10_000
_STRAY_SECONDS = 1.0


class RunningQuery:
    """A statement on this worker."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.task: asyncio.Task[dict[str, Any]] | None = None
        self.error: GpudbError | None = None
        self.short = False
        self._computing: dict[int, float] = {}
        self._spent = 0.0
        self.results: dict[int, ResultBuffer] = {}
        self.types: tuple[SqlType, ...] = ()
        self.ended = 0.0
        self._parts: dict[tuple[int, int], asyncio.Future[ExchangeBuffers]] = {}
        self._at_door: dict[int, BufferReply] = {}
        self._laid = 0
        self.sending = 0
        """The number of transfers under way: rows count as read once the other worker has them or their position."""
        self._files: weakref.WeakSet[SpillFile] = weakref.WeakSet()

    @property
    def computing(self) -> int:
        """The number of threads that compute the statement."""
        return len(self._computing)

    @property
    def seconds(self) -> float:
        """The seconds for which it has computed."""
        now = time.monotonic()
        return self._spent + sum(now - began for began in tuple(self._computing.values()))

    @contextmanager
    def computes(self) -> Iterator[None]:
        """Counts the calling thread as computing the statement."""
        thread, began = threading.get_ident(), time.monotonic()
        self._computing[thread] = began
        try:
            yield
        finally:
            del self._computing[thread]
            self._spent += time.monotonic() - began

    def parts(self, stage: int, share: int) -> asyncio.Future[ExchangeBuffers]:
        """Returns a future of a stage's output on a partition."""
        found = self._parts.get((stage, share))
        if found is None:
            found = self._parts[stage, share] = asyncio.get_running_loop().create_future()
        return found

    async def taken(self, stage: int, givers: Sequence[int], taker: int) -> list[ComputedFrame | Offloaded]:
        """Returns a stage's output for a partition once it is available.

        Raises ValueError once the statement has ended.
        """
        found = []
        for giver in givers:
            if self.ended:  # between two of them: missing output never arrives
                raise ValueError("the statement has ended")
            found.append((await asyncio.shield(self.parts(stage, giver))).take(taker))
        return found

    def laid(self, rows: BufferReply) -> PendingBuffer:
        """Holds rows until the other worker fetches them, or confirms that it has copied them."""
        self._laid += 1
        self._at_door[self._laid] = rows
        return (
            PendingBuffer(self._laid, rows.answer, rows.place) if rows.place is not None else PendingBuffer(self._laid)
        )

    def fetched(self, number: int) -> BufferReply | bytes:
        """Returns rows that wait for their consumer; empty if there are none."""
        return self._at_door.pop(number, b"")

    def file(self, folder: Path) -> SpillFile:
        """Returns a new spill file that is closed with the statement."""
        made = SpillFile(folder)
        self._files.add(made)
        if self.ended:
            made.close()
        return made

    @property
    def read(self) -> bool:
        """Whether all output has been read."""
        given = all(each.done() and not each.cancelled() and each.result().read for each in self._parts.values())
        left = self.results or self._at_door or self.sending
        return given and not left and self.task is not None and self.task.done()

    @property
    def _gave(self) -> bool:
        """Whether it has succeeded here; the output of a failed statement may be incomplete."""
        task = self.task
        return task is not None and not task.cancelled() and task.exception() is None and "results" in task.result()

    def fail(self, error: GpudbError) -> None:
        """Ends the statement here with an error."""
        if self.task is not None and not self.task.done():
            self.error = error
            self.task.cancel()

    def end(self) -> None:
        """Ends the statement here and frees what it holds."""
        self.ended = time.monotonic()  # set before its files are closed: a stage that opens one now closes it itself
        # Files whose output has been taken are freed by their readers.
        files = [] if self.read and self._gave else list(self._files)
        if self.task is not None:
            self.task.cancel()
        for each in self._parts.values():
            each.cancel()
        for kept in self.results.values():
            kept.end()
        for file in files:
            file.close()
        self._parts.clear()
        self._at_door.clear()
        self.results.clear()


class QueryRegistry:
    """The statements that run here, by number."""

    def __init__(self) -> None:
        self._running: dict[int, RunningQuery] = {}
        # Ended statements, since a message for one may still arrive; and statements that continue to compute
        # regardless.
        self._gone: LruCache[int, bool] = LruCache(_GONE)
        self._strays: list[RunningQuery] = []
        self._plans: LruCache[bytes, WorkerPlan] = LruCache(_PLANS)

    def __len__(self) -> int:
        return len(self._running)

    def get(self, number: int) -> RunningQuery | None:
        """Returns a statement that runs here; None if there is none."""
        return self._running.get(number)

    def known(self, number: int) -> RunningQuery:
        """Returns a statement that runs here, and begins it at the first message about it."""
        found = self._running.get(number)
        return self.begin(number) if found is None else found

    def begin(self, number: int) -> RunningQuery:
        """Begins a statement."""
        made = self._running[number] = RunningQuery(number)
        return made

    def ended(self, number: int) -> bool:
        """Returns whether a statement has run here and has ended."""
        return number in self._gone

    def forget(self, number: int) -> None:
        """Forgets a statement for which no further message can arrive."""
        self._running.pop(number, None)

    def forget_if_read(self, running: RunningQuery) -> None:
        """Ends a statement if all its output has been read."""
        if running.read and self._running.get(running.number) is running:
            self.end(running.number)

    def end(self, number: int) -> RunningQuery | None:
        """Ends a statement and returns it, if it ran here."""
        self._gone.put(number, True)
        running = self._running.pop(number, None)
        if running is not None:
            running.end()
            if running.computing:
                self._strays.append(running)
        return running

    def keep_only(self, upto: int, live: Sequence[int]) -> None:
        """Ends the statements up to the number `upto` that are not `live`."""
        known = set(live)
        for number in [number for number in list(self._running) if number <= upto and number not in known]:
            self.end(number)

    def stray(self) -> bool:
        """Returns whether a statement still computes long after its end."""
        self._strays = [each for each in self._strays if each.computing]
        now = time.monotonic()
        return any(now - each.ended > _STRAY_SECONDS for each in self._strays)

    def computing(self) -> list[RunningQuery]:
        """Returns the statements that compute now."""
        return [each for each in list(self._running.values()) if each.computing]

    def plan(self, digest: bytes, stages: bytes = b"") -> WorkerPlan | None:
        """Returns the plan of a digest; `stages` contain it the first time. None if it is unknown."""
        plan = self._plans.get(digest)
        if plan is None:
            if not stages:
                return None
            plan = WorkerPlan(pickle.loads(stages))
            self._plans.put(digest, plan)
        return plan

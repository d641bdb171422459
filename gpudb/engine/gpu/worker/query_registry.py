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

from gpudb.engine.gpu.backend.base import ComputedFrame, Offloaded
from gpudb.engine.gpu.backend.stopping import stop_once
from gpudb.engine.gpu.exchange.buffers import ExchangeBuffers, ResultBuffer, SpillFile, SpillSpace
from gpudb.engine.gpu.exchange.shared_rows import SharedMemory
from gpudb.engine.gpu.rpc.messages import BufferReply, PendingBuffer, RunReply, RunResult
from gpudb.engine.gpu.worker.worker_plan import WorkerPlan
from gpudb.errors import GpudbError
from gpudb.lru import LruCache
from gpudb.types import SqlType

_MAX_PLANS = 256
_MAX_ENDED = 10_000
_STRAY_SECONDS = 2.5
"""Time for which an ended statement may compute: longer than any `patience`, which the coordinator waits first."""


class RunningQuery:
    """A statement on this worker."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.task: asyncio.Task[RunReply] | None = None
        self.error: GpudbError | None = None
        self.short = False
        self.finished = 0
        """The number of stages that have finished, each counted once a partition."""
        self._threads: dict[int, float] = {}
        self._spent = 0.0
        self.results: dict[int, ResultBuffer] = {}
        self.shared: list[SharedMemory] = []
        self.types: tuple[SqlType, ...] = ()
        self.ended = 0.0
        self._outputs: dict[tuple[int, int], asyncio.Future[ExchangeBuffers]] = {}
        self._buffers: dict[int, BufferReply] = {}
        self._last_buffer = 0
        self.sending = 0
        """The number of transfers under way: rows count as read once the other worker has them or their position."""
        self._files: weakref.WeakSet[SpillFile] = weakref.WeakSet()

    @property
    def thread_count(self) -> int:
        """The number of threads that compute the statement."""
        return len(self._threads)

    @property
    def seconds(self) -> float:
        """The seconds for which it has computed."""
        now = time.monotonic()
        return self._spent + sum(now - began for began in tuple(self._threads.values()))

    @contextmanager
    def track_thread(self) -> Iterator[None]:
        """Counts the calling thread as computing the statement; its work stops once the statement ends or fails."""
        thread, began = threading.get_ident(), time.monotonic()
        self._threads[thread] = began
        try:
            with stop_once(lambda: bool(self.ended) or self.error is not None):
                yield
        finally:
            del self._threads[thread]
            self._spent += time.monotonic() - began

    def output(self, stage: int, partition: int) -> asyncio.Future[ExchangeBuffers]:
        """Returns a future of a stage's output on a partition."""
        found = self._outputs.get((stage, partition))
        if found is None:
            found = self._outputs[stage, partition] = asyncio.get_running_loop().create_future()
        return found

    async def take_output(self, stage: int, producers: Sequence[int], consumer: int) -> list[ComputedFrame | Offloaded]:
        """Returns a stage's output for a partition once it is available.

        Raises ValueError once the statement has ended.
        """
        found = []
        for producer in producers:
            if self.ended:  # between two of them: missing output never arrives
                raise ValueError("the statement has ended")
            found.append((await asyncio.shield(self.output(stage, producer))).take(consumer))
        return found

    def hold_buffer(self, rows: BufferReply) -> PendingBuffer:
        """Holds rows until the other worker fetches them, or confirms that it has copied them."""
        self._last_buffer += 1
        self._buffers[self._last_buffer] = rows
        return (
            PendingBuffer(self._last_buffer, rows.metadata, rows.place)
            if rows.place is not None
            else PendingBuffer(self._last_buffer)
        )

    def take_buffer(self, number: int) -> BufferReply | bytes:
        """Returns rows that wait for their consumer; empty if there are none."""
        return self._buffers.pop(number, b"")

    def open_spill_file(self, folder: Path, space: SpillSpace | None = None) -> SpillFile:
        """Returns a new spill file that is closed with the statement."""
        created = SpillFile(folder, space)
        self._files.add(created)
        if self.ended:
            created.close()
        return created

    @property
    def is_read(self) -> bool:
        """Whether all output has been read."""
        given = all(each.done() and not each.cancelled() and each.result().is_read for each in self._outputs.values())
        left = self.results or self.shared or self._buffers or self.sending
        return given and not left and self.task is not None and self.task.done()

    @property
    def _succeeded(self) -> bool:
        """Whether it has succeeded here; the output of a failed statement may be incomplete."""
        task = self.task
        return (
            task is not None
            and not task.cancelled()
            and task.exception() is None
            and isinstance(task.result(), RunResult)
        )

    def fail(self, error: GpudbError) -> None:
        """Ends the statement here with an error; on the fast path, which has no task, staged execution raises it."""
        if self.task is None:
            self.error = error
        elif not self.task.done():
            self.error = error
            self.task.cancel()

    def close(self) -> None:
        """Ends the statement here and frees what it holds."""
        self.ended = time.monotonic()  # set before its files are closed: a stage that opens one now closes it itself
        # Files whose output has been taken are freed by their readers.
        files = [] if self.is_read and self._succeeded else list(self._files)
        if self.task is not None:
            self.task.cancel()
        for each in self._outputs.values():
            each.cancel()
        for kept in self.results.values():
            kept.close()
        for shared in self.shared:
            shared.close()
        for file in files:
            file.close()
        self._outputs.clear()
        self._buffers.clear()
        self.results.clear()
        self.shared.clear()


class QueryRegistry:
    """The statements that run here, by number."""

    def __init__(self) -> None:
        self._running: dict[int, RunningQuery] = {}
        # Ended statements, since a message for one may still arrive; and statements that continue to compute
        # regardless.
        self._ended: LruCache[int, bool] = LruCache(_MAX_ENDED)
        self._strays: list[RunningQuery] = []
        self._plans: LruCache[bytes, WorkerPlan] = LruCache(_MAX_PLANS)

    def __len__(self) -> int:
        return len(self._running)

    def get(self, number: int) -> RunningQuery | None:
        """Returns a statement that runs here; None if there is none."""
        return self._running.get(number)

    def get_or_begin(self, number: int) -> RunningQuery:
        """Returns a statement that runs here, and begins it at the first message about it."""
        found = self._running.get(number)
        return self.begin(number) if found is None else found

    def begin(self, number: int) -> RunningQuery:
        """Begins a statement."""
        created = self._running[number] = RunningQuery(number)
        return created

    def has_ended(self, number: int) -> bool:
        """Returns whether a statement has run here and has ended."""
        return number in self._ended

    def forget(self, number: int) -> None:
        """Forgets a statement for which no further message can arrive."""
        self._running.pop(number, None)

    def forget_if_read(self, running: RunningQuery) -> None:
        """Ends a statement if all its output has been read."""
        if running.is_read and self._running.get(running.number) is running:
            self.end(running.number)

    def end(self, number: int) -> RunningQuery | None:
        """Ends a statement and returns it, if it ran here."""
        self._ended.put(number, True)
        running = self._running.pop(number, None)
        if running is not None:
            running.close()
            if running.thread_count:
                self._strays.append(running)
        return running

    def retain(self, upto: int, live: Sequence[int]) -> None:
        """Ends the statements up to the number `upto` that are not `live`."""
        known = set(live)
        for number in [number for number in list(self._running) if number <= upto and number not in known]:
            self.end(number)

    def has_stray(self) -> bool:
        """Returns whether a statement still computes long after its end."""
        self._strays = [each for each in self._strays if each.thread_count]
        now = time.monotonic()
        return any(now - each.ended > _STRAY_SECONDS for each in self._strays)

    def count_finished(self) -> tuple[tuple[int, int], ...]:
        """Returns each statement's number and how many stages it has finished."""
        return tuple((number, each.finished) for number, each in self._running.items())

    def list_computing(self) -> list[RunningQuery]:
        """Returns the statements that compute now."""
        return [each for each in list(self._running.values()) if each.thread_count]

    def plan(self, digest: bytes, stages: bytes = b"") -> WorkerPlan | None:
        """Returns the plan of a digest; `stages` contain it the first time. None if it is unknown."""
        plan = self._plans.get(digest)
        if plan is None:
            if not stages:
                return None
            plan = WorkerPlan(pickle.loads(stages))
            self._plans.put(digest, plan)
        return plan

"""Pipelines whose results are consumed in order: blocks are parsed while others are written.

caller --put--> tasks (at most `ahead`) --shared pool--> results --in order--> consumer's thread

All pipelines share the threads of one pool, as many as there are processors, which takes the tasks of the oldest
pipeline first. So many loads at once do not compete for processors and for the interpreter, and the first ones are
written and committed while the others are parsed.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import Any, Generic, TypeVar

from gpudb.processes.limits import count_processors

T = TypeVar("T")

THREADS = count_processors()
"""Threads of the pool that all pipelines share."""
AHEAD = max(12, 2 * THREADS)
"""Results of a pipeline that may be pending."""
WORKERS = min(4, count_processors())


class Stopped(Exception):
    """Raised after the other side has stopped."""


class AgedPool:
    """Threads that run the tasks with the lowest rank first, and tasks of one rank in the order of their submission."""

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._waiting: list[tuple[int, int, Future[Any], Callable[[], Any]]] = []
        self._numbers = itertools.count()
        self._ready = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0

    def submit(self, rank: int, task: Callable[[], T]) -> Future[T]:
        """Submits a task; its future can be cancelled until it runs."""
        future: Future[T] = Future()
        with self._ready:
            heapq.heappush(self._waiting, (rank, next(self._numbers), future, task))
            if self._idle:
                self._ready.notify()
            elif len(self._threads) < self._most:
                thread = threading.Thread(target=self._run, name=f"gpudb-copy-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _run(self) -> None:
        while True:
            with self._ready:
                while not self._waiting:
                    self._idle += 1
                    self._ready.wait()
                    self._idle -= 1
                _, _, future, task = heapq.heappop(self._waiting)
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(task())
            except BaseException as error:
                future.set_exception(error)
            del future, task  # they refer to a block and its rows, for which a waiting thread has no use


@cache
def shared_pool() -> AgedPool:
    """Returns the pool of all pipelines."""
    return AgedPool(THREADS)


_ages = itertools.count()


class Pipeline(Generic[T]):
    """Runs tasks and yields their results in the same order; both sides may stop it at any time."""

    def __init__(self, pool: AgedPool | None = None, ahead: int = AHEAD) -> None:
        self._pool = pool or shared_pool()
        self._age = next(_ages)
        self._pending: deque[Future[T]] = deque()
        self._results: queue.SimpleQueue[Future[T] | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(ahead)
        self._stopped = threading.Event()

    def put(self, task: Callable[[], T]) -> None:
        """Submits a task; waits while too many results are pending. Raises Stopped once the consumer has stopped."""
        while not self._room.acquire(timeout=0.05):
            if self._stopped.is_set():
                raise Stopped
        if self._stopped.is_set():
            raise Stopped
        future = self._pool.submit(self._age, task)
        self._pending.append(future)
        self._results.put(future)
        if self._stopped.is_set():  # meanwhile
            future.cancel()

    def end(self) -> None:
        """Marks the end of the tasks."""
        self._results.put(None)

    def stop(self) -> None:
        """Stops both sides; running tasks finish and their results are dropped."""
        self._stopped.set()
        self._results.put(None)
        for future in list(self._pending):
            future.cancel()

    def __iter__(self) -> Iterator[T]:
        """Yields the results; a task's exception is raised in its place. Raises Stopped after `stop`."""
        while (future := self._results.get()) is not None:
            if self._stopped.is_set():
                break
            try:
                result = future.result()
            except CancelledError:  # only `stop` cancels
                break
            self._pending.popleft()
            self._room.release()
            yield result
        if self._stopped.is_set():
            raise Stopped


def map_in_order(tasks: Iterable[Callable[[], T]], ahead: int = WORKERS) -> Generator[T]:
    """Yields the tasks' results in order; up to `ahead` of them are computed while an earlier one is consumed.

    The first runs immediately in the caller's thread, so that a single task has no overhead; others see the caller's
    context variables. A task's exception is raised in its place.
    """
    remaining = iter(tasks)
    first = next(remaining, None)
    if first is None:
        return
    yield first()
    waiting: deque[Future[T]] = deque()
    try:
        for task in remaining:
            waiting.append(_shared_pool().submit(copy_context().run, task))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


@cache
def _shared_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="gpudb-ahead")

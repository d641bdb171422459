"""Thread pool whose results are consumed in order: blocks are parsed while others are written.

caller --put--> tasks (at most `ahead`) --pool--> results --in order--> consumer's thread
"""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

T = TypeVar("T")

AHEAD = 12
WORKERS = max(1, min(4, os.cpu_count() or 1))


class Stopped(Exception):
    """Raised after the other side has stopped."""


class Pipeline(Generic[T]):
    """Runs tasks and yields their results in the same order; both sides may stop it at any time."""

    def __init__(self, workers: int = WORKERS, ahead: int = AHEAD) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="gpudb-copy")
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
        self._results.put(self._pool.submit(task))

    def end(self) -> None:
        """Marks the end of the tasks."""
        self._results.put(None)

    def stop(self) -> None:
        """Stops both sides; running tasks finish and their results are dropped."""
        self._stopped.set()
        self._results.put(None)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def __iter__(self) -> Iterator[T]:
        """Yields the results; a task's exception is raised in its place. Raises Stopped after `stop`."""
        while (future := self._results.get()) is not None:
            if self._stopped.is_set():
                break
            try:
                result = future.result()
            except CancelledError:  # only `stop` cancels
                break
            self._room.release()
            yield result
        if self._stopped.is_set():
            raise Stopped
        self._pool.shutdown(wait=False)


def map_in_order(tasks: Iterable[Callable[[], T]], ahead: int = WORKERS) -> Generator[T]:
    """Yields the tasks' results in order; up to `ahead` of them are computed while an earlier one is consumed.

    The first runs immediately in the caller's thread, so that a single task has no overhead. A task's exception is
    raised in its place.
    """
    remaining = iter(tasks)
    first = next(remaining, None)
    if first is None:
        return
    yield first()
    waiting: deque[Future[T]] = deque()
    try:
        for task in remaining:
            waiting.append(_shared_pool().submit(task))
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

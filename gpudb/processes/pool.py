"""Pools of child processes that serve one module: idle ones wait for the next call."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from gpudb.errors import GpudbError
from gpudb.processes.child import POLL_MS, Answer, ChildProcess, Wanted
from gpudb.processes.limits import count_processors
from gpudb.processes.shared_memory import SharedMemory, open_shared_memory


class ProcessPool:
    """At most so many children as processors, two at least; they start as calls come."""

    def __init__(
        self, module: str, *, memory_bytes: int = 0, most: int = max(2, count_processors()), shared_bytes: int = 0
    ) -> None:
        """Children serve `module`; `memory_bytes` limits each one's data (0: no limit).

        So many `shared_bytes` of memory at most hold the large buffers of all calls; those beyond are sent.
        """
        self._module, self._memory, self._most, self._shared_bytes = module, memory_bytes, most, shared_bytes
        self._begin()
        _pools.add(self)

    def _begin(self) -> None:
        self._idle: list[ChildProcess] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(self._most)
        self._shared: SharedMemory | None = None

    def _start_child(self) -> ChildProcess:
        with self._lock:
            if self._shared is None:
                self._shared = open_shared_memory(self._shared_bytes)
        return ChildProcess(self._module, memory_bytes=self._memory, shared=self._shared)

    @property
    def is_warm(self) -> bool:
        """Whether a child waits for a call."""
        return bool(self._idle)

    def list_idle(self) -> list[int]:
        """Returns the process ids of the children that wait for a call."""
        with self._lock:
            return [child.pid for child in self._idle]

    def holds(self, buffer: memoryview) -> bool:
        """Whether a buffer lies in the memory that the children share."""
        return self._shared is not None and self._shared.find(buffer) is not None

    def call(self, name: str, arguments: Sequence[Any], wanted: Wanted, answer: Answer | None = None) -> Any:
        """Calls a function of the module in a child, and returns its result or raises its error.

        While all children are busy it waits. What `wanted` raises is raised, and ends the child.
        """
        with self._take(wanted) as child:
            return child.call(name, arguments, wanted, answer)

    def start(self) -> None:
        """Starts a child unless one is idle, and returns at once: it prepares itself while the caller does the rest."""
        with self._lock:
            if self._idle:
                return
        self._keep(self._start_child())

    @contextlib.contextmanager
    def _take(self, wanted: Wanted) -> Iterator[ChildProcess]:
        while not self._room.acquire(timeout=POLL_MS / 1000):
            wanted()
        try:
            child = self._pop_idle() or self._start_child()
            try:
                yield child
            except GpudbError:
                if child.has_ended:  # else the function raised it, and the child waits for the next call
                    raise
                self._keep(child)
                raise
            except BaseException:
                child.kill()
                raise
            self._keep(child)
        finally:
            self._room.release()

    def _pop_idle(self) -> ChildProcess | None:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None or not child.has_ended:
                return child
            child.kill()

    def _keep(self, child: ChildProcess) -> None:
        with self._lock:
            self._idle.append(child)

    def close(self) -> None:
        """Ends the idle children."""
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()


_pools: weakref.WeakSet[ProcessPool] = weakref.WeakSet()


def _close_all() -> None:
    for pool in _pools:
        pool.close()


def _begin_in_child() -> None:
    """A forked process has none of its parent's children."""
    for pool in _pools:
        pool._begin()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_begin_in_child)

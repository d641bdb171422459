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


class ProcessPool:
    """At most so many children as processors, two at least; they start as calls come."""

    def __init__(self, module: str, *, memory_bytes: int = 0, most: int = max(2, os.cpu_count() or 1)) -> None:
        """Children serve `module`; `memory_bytes` limits each one's data (0: no limit)."""
        self._module, self._memory, self._most = module, memory_bytes, most
        self._begin()
        _pools.add(self)

    def _begin(self) -> None:
        self._idle: list[ChildProcess] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(self._most)

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
        self._keep(ChildProcess(self._module, memory_bytes=self._memory))

    @contextlib.contextmanager
    def _take(self, wanted: Wanted) -> Iterator[ChildProcess]:
        while not self._room.acquire(timeout=POLL_MS / 1000):
            wanted()
        try:
            child = self._pop_idle() or ChildProcess(self._module, memory_bytes=self._memory)
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

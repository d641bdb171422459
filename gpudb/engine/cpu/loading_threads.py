"""Threads that load tables beside statements. They end with their database, or with Python."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable

from gpudb.engine.protocol import Cancel

_STOP_SECONDS = 0.05


class LoadingThreads:
    """The threads of one database; `close` stops their work."""

    def __init__(self) -> None:
        self._cancel = Cancel()
        self._running: set[threading.Thread] = set()
        _open.add(self)

    def start(self, work: Callable[[Cancel], None]) -> None:
        """Runs work in a thread of its own, with what stops it."""
        thread = threading.Thread(target=self._run, args=(work,), name="gpudb-loading", daemon=True)
        self._running.add(thread)
        thread.start()

    def _run(self, work: Callable[[Cancel], None]) -> None:
        try:
            work(self._cancel)
        finally:
            self._running.discard(threading.current_thread())

    def wait(self) -> None:
        """Waits until what has been started ends."""
        for thread in list(self._running):
            thread.join()

    def close(self) -> None:
        """Stops all work, and waits for its end."""
        for thread in list(self._running):
            while thread.is_alive():
                self._cancel.stop()  # DuckDB forgets an interrupt before its statement
                thread.join(_STOP_SECONDS)


def _close_all() -> None:
    for threads in list(_open):
        threads.close()


_open: weakref.WeakSet[LoadingThreads] = weakref.WeakSet()
# A thread inside DuckDB cannot outlive the interpreter.
atexit.register(_close_all)

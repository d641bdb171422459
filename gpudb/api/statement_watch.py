"""Bars for the statements of connections in notebooks and interactive interpreters, drawn by one thread for all."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from types import TracebackType

from gpudb.api.progress_bar import AFTER_S, Drawing, Reporting, format_progress, open_drawing

_POLL_S = 0.25


def is_interactive() -> bool:
    """Whether a person types the code that runs: in a notebook or at an interpreter's prompt."""
    if hasattr(sys, "ps1"):
        return True
    ipython = sys.modules.get("IPython")  # it may be imported, and no shell of it run
    return ipython is not None and ipython.get_ipython() is not None


class StatementWatch:
    """A block around each statement of a connection: one that takes over a second shows a bar until its end.

    Only statements of the main thread do. The block is reusable and reentrant, and costs about a microsecond.
    """

    __slots__ = ("__weakref__", "_connection", "_depth", "_drawing", "_lock", "_since")

    def __init__(self, connection: Reporting) -> None:
        self._connection = weakref.ref(connection)
        self._depth = 0
        self._since: float | None = None
        self._drawing: Drawing | None = None
        self._lock = threading.Lock()

    def __enter__(self) -> StatementWatch:
        """Begins a statement."""
        if threading.current_thread() is threading.main_thread():
            self._depth += 1
            if self._depth == 1:
                self._since = time.monotonic()
                _ticker.watch(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it, and removes its bar."""
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1
            if not self._depth:
                with self._lock:
                    self._since = None
                    drawing, self._drawing = self._drawing, None
                if drawing is not None:
                    drawing.remove()

    def draw(self) -> None:
        """Draws the bar if the statement runs for long enough; called in the ticker's thread."""
        since, connection = self._since, self._connection()
        if since is None or connection is None or time.monotonic() - since < AFTER_S:
            return
        progress = connection.progress()  # may ask a server: not under the lock
        with self._lock:
            if self._since != since:
                return
            if self._drawing is None:
                self._drawing = open_drawing()
            if self._drawing is not None:
                self._drawing.draw(progress, format_progress(progress, time.monotonic() - since))


class _Ticker:
    """The thread that draws; it starts with the first statement that is watched."""

    def __init__(self) -> None:
        self._watches: weakref.WeakSet[StatementWatch] = weakref.WeakSet()
        self._thread: threading.Thread | None = None

    def watch(self, watch: StatementWatch) -> None:
        self._watches.add(watch)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="gpudb-progress", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(_POLL_S)
            for each in list(self._watches):
                each.draw()


_ticker = _Ticker()

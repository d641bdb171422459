"""Background thread that folds the commits in the log into Iceberg's metadata, so that readers of the lake see them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from gpudb.errors import GpudbError

FOLD_SECONDS = 5.0
"""How long a commit is in the log alone, at most, beside the time that folding takes."""
QUIET_SECONDS = 0.25
"""Once no other commit has come for so long the log is folded."""
FULL_BYTES = 16 << 20
"""A log with more bytes is folded at once."""
_RETRY_SECONDS = 10.0
_LOG = logging.getLogger(__name__)


class Folder:
    """Calls `fold` a while after each first commit in the log."""

    def __init__(self, fold: Callable[[], None]) -> None:
        """The thread starts with the first commit."""
        self._fold = fold
        self._pending, self._full = threading.Event(), threading.Event()
        self._stopped = False
        self._quiet_at = 0.0
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def schedule(self, size: int) -> None:
        """Notes that the log has one more commit, with which it has `size` bytes."""
        self._quiet_at = time.monotonic() + QUIET_SECONDS
        if size > FULL_BYTES:
            self._full.set()
        if self._pending.is_set():
            return
        self._pending.set()
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._guard:
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._fold_waiting, name="gpudb-folding", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Ends the thread, after the folding in progress."""
        with self._guard:
            self._stopped = True
        self._pending.set()
        self._full.set()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _await_quiet(self) -> None:
        """Waits until no commit has come for a while, the log is full, or the first commit in it is old."""
        latest = time.monotonic() + FOLD_SECONDS
        while not self._full.is_set() and (left := min(self._quiet_at, latest) - time.monotonic()) > 0:
            self._full.wait(left)

    def _fold_waiting(self) -> None:
        pause = 0.0
        while True:
            self._pending.wait()
            self._full.wait(pause)
            self._await_quiet()
            if self._stopped:
                return
            self._pending.clear()
            self._full.clear()
            try:
                self._fold()
                pause = 0.0
            except (GpudbError, OSError) as error:
                _LOG.warning("could not fold the log of commits: %s", error)
                self._pending.set()
                pause = _RETRY_SECONDS

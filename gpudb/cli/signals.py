"""What signals ask of a server: to stop, to stop at once, or to load again what may change while it runs."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType


class Signals:
    """`stop` is set by SIGTERM and SIGINT, `fast` by SIGINT and a second SIGTERM; SIGHUP calls all `reloads`.

    SIGQUIT ends the process as it is.
    """

    def __init__(self) -> None:
        self.stop, self.fast = threading.Event(), threading.Event()
        self.reloads: list[Callable[[], None]] = []

    def install(self) -> None:
        """Handles signals from now on; called on the main thread."""
        signal.signal(signal.SIGHUP, self._on_hangup)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGQUIT:
            os._exit(0)  # worker processes end with it
        if number == signal.SIGINT or self.stop.is_set():
            self.fast.set()
        self.stop.set()

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        threading.Thread(target=lambda: [reload() for reload in self.reloads], daemon=True).start()

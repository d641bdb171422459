"""Waiting for an event that a signal's handler sets, on the main thread.

Handlers run on the main thread, but the system may hand a signal to any thread. Then nothing wakes a main thread that
waits for a lock, and the handler runs at the next signal or never. A descriptor that every signal writes to wakes it.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import threading
import time


class SignalWait:
    """Waits for events that handlers of signals set; made once, on the main thread. `close` frees the descriptors."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)

    def wait(self, *events: threading.Event, seconds: float | None = None) -> bool:
        """Returns whether one of the events is set, at the latest after `seconds`."""
        ends = None if seconds is None else time.monotonic() + seconds
        while not any(event.is_set() for event in events):
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                return False
            if select.select([self._read], [], [], left)[0]:
                self._read.recv(4096)
        return True

    def wake(self) -> None:
        """Lets `wait` look at its events; for those that no signal's handler has set."""
        with contextlib.suppress(OSError):  # it is about to look, or has ended
            self._write.send(b"\0")

    def close(self) -> None:
        """Stops waking for signals."""
        signal.set_wakeup_fd(-1)
        self._read.close()
        self._write.close()

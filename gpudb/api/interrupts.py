"""Ctrl-C while an embedded database computes: the statement is cancelled, and KeyboardInterrupt follows its end.

Python calls signal handlers between bytecodes of the main thread, which may wait in the engine for minutes. But the
signal's number is written to the wake-up descriptor at once: a thread reads it there and cancels the statement. The
handler itself only remembers the signal, so that no interrupt falls into the midst of a commit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from gpudb.errors import QueryCanceled

_AGAIN_S = 0.02
"""The interval of cancels: a statement can only be cancelled once it has begun."""
_SEEN_S = 0.5
_PATIENCE_S = 5.0
"""A signal that comes so long after the first does not wait for the statement's end."""


class Interruptible:
    """A block that SIGINT cancels by `cancel`; KeyboardInterrupt is raised at its end instead of the block's error.

    Outside the main thread, inside another such block, and where SIGINT is not handled by Python, it does nothing.
    """

    __slots__ = ("_cancel", "_descriptor", "_first", "_frame", "_previous", "_seen", "_watches")

    def __init__(self, cancel: Callable[[], None]) -> None:
        self._cancel = cancel
        self._watches = False
        self._first: float | None = None
        self._seen = False
        self._frame: FrameType | None = None

    def __enter__(self) -> Interruptible:
        """Begins to watch for SIGINT."""
        if threading.get_ident() != threading.main_thread().ident or _watcher.current is not None:
            return self
        previous = signal.getsignal(signal.SIGINT)
        if callable(previous):
            descriptor = _watcher.start()
            self._previous: Callable[[int, FrameType | None], Any] = previous
            # First the handler: until it is there, KeyboardInterrupt may come, and nothing is to be undone yet.
            signal.signal(signal.SIGINT, self._remember)
            self._watches = True
            self._descriptor = _watcher.forward = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
            _watcher.current = self
            if self.was_signalled:  # it came before the descriptor was there
                os.write(descriptor, bytes([signal.SIGINT]))
        return self

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self._frame = frame
        if self._first is None:
            self._first = time.monotonic()
        elif time.monotonic() - self._first > _PATIENCE_S:
            self._previous(number, frame)

    def cancel_until_end(self) -> None:
        """Cancels until the block ends; called in the watcher's thread."""
        self._seen = True
        while _watcher.current is self:
            self._cancel()
            _watcher.ended.wait(_AGAIN_S)

    @property
    def was_signalled(self) -> bool:
        """Whether a signal came."""
        return self._first is not None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Passes a signal that came on to the handler of before; its exception replaces the block's."""
        if not self._watches:
            return
        deadline = time.monotonic() + _SEEN_S
        while self.was_signalled and not self._seen and time.monotonic() < deadline:
            time.sleep(0.001)  # else the watcher might cancel the next statement
        _watcher.current = None
        if self._seen:
            _watcher.ended.set()
            _watcher.idle.wait(_SEEN_S)
        signal.set_wakeup_fd(self._descriptor)
        signal.signal(signal.SIGINT, self._previous)
        # A signal at the end of the statement before may be seen late: it is no other error than KeyboardInterrupt.
        is_late = self._seen and isinstance(error, QueryCanceled)
        if (self.was_signalled or is_late) and not isinstance(error, KeyboardInterrupt):
            frame, self._frame = self._frame, None
            try:
                self._previous(signal.SIGINT, frame)
            except BaseException as raised:
                raise raised.with_traceback(None) from None


class _Watcher:
    """The thread that reads the numbers of signals; it starts with the first statement of the main thread."""

    def __init__(self) -> None:
        self.current: Interruptible | None = None
        self.forward = -1
        self.ended, self.idle = threading.Event(), threading.Event()
        self._writer: socket.socket | None = None

    def start(self) -> int:
        """Returns the descriptor to which signals are written."""
        if self._writer is None:
            reader, self._writer = socket.socketpair()
            self._writer.setblocking(False)
            threading.Thread(target=self._read, args=(reader,), name="gpudb-interrupts", daemon=True).start()
        return self._writer.fileno()

    def _read(self, reader: socket.socket) -> None:
        while numbers := reader.recv(64):
            if self.forward != -1:
                with contextlib.suppress(OSError):
                    os.write(self.forward, numbers)
            current = self.current
            if signal.SIGINT in numbers and current is not None:
                self.idle.clear()
                self.ended.clear()
                current.cancel_until_end()
            del current  # it holds the session
            self.idle.set()


_watcher = _Watcher()


def check_interrupt() -> None:
    """Raises 57014 if a signal came in the block that runs now."""
    current = _watcher.current
    if current is not None and current.was_signalled:
        raise QueryCanceled("canceling statement due to user request")


def _begin_in_child() -> None:
    """A child process has the descriptors of its parent, but not its thread."""
    global _watcher
    _watcher = _Watcher()


os.register_at_fork(after_in_child=_begin_in_child)

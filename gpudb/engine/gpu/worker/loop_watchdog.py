"""Logs a warning when an event loop of this process is late, with the stacks that ran meanwhile.

A thread schedules a callback on each loop several times a second. If it does not run within a second, the warning has
the stack of the loop's thread, and those of other busy threads. If this thread itself is blocked, something holds the
interpreter's lock: then faulthandler, which needs no lock, writes every thread's stack to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import logging
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from types import FrameType

_LOG = logging.getLogger(__name__)

LATE_SECONDS = 1.0
"""Delay from which a loop is late."""
LOCKED_SECONDS = 2.0
"""Time for which the interpreter's lock may be held before all stacks are written."""
EVERY_SECONDS = 0.25
_FORMAT = "%(asctime)s %(levelname)s worker process %(process)d: %(message)s"
_FRAMES = 12
_OTHER_FRAMES = 4
_IDLE = ("wait", "_worker", "accept", "poll", "select", "recv", "_recv")
"""Functions in which idle threads wait."""


class LoopWatchdog:
    """Watches loops by name, from `start` until `stop`; names without a loop are ignored."""

    def __init__(self, loops: Mapping[str, asyncio.AbstractEventLoop | None]) -> None:
        self._watched = [_WatchedLoop(name, loop) for name, loop in loops.items() if loop is not None]
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lateness", daemon=True)

    def start(self) -> None:
        """Starts; warnings go to standard error if logging is not configured."""
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=_FORMAT)
        self._thread.start()

    def stop(self) -> None:
        """Stops, soon."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(RuntimeError, ValueError, OSError):  # standard error is not a file
                faulthandler.dump_traceback_later(LOCKED_SECONDS, exit=False)
            for each in self._watched:
                each.check()
            self._stopped.wait(EVERY_SECONDS)
        faulthandler.cancel_dump_traceback_later()


class _WatchedLoop:
    """A watched loop: when its callback was scheduled, and whether its delay has been logged."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._name, self._loop = name, loop
        self._thread = 0
        self._scheduled = 0.0
        self._is_logged = False

    def check(self) -> None:
        """Schedules a callback on the loop, or logs that it is late."""
        now = time.monotonic()
        if self._scheduled:
            if now - self._scheduled > LATE_SECONDS and not self._is_logged:
                self._is_logged = True
                _LOG.warning(
                    "%s is late by %.1f s:\n%s", self._name, now - self._scheduled, format_stacks(self._thread)
                )
            return
        self._scheduled = now
        with contextlib.suppress(RuntimeError):  # it has been closed
            self._loop.call_soon_threadsafe(self._run_callback)

    def _run_callback(self) -> None:
        late = time.monotonic() - self._scheduled
        self._thread = threading.get_ident()
        self._scheduled = 0.0
        if self._is_logged:
            self._is_logged = False
            _LOG.warning("%s was late by %.1f s", self._name, late)


def format_stacks(first: int) -> str:
    """Formats the stack of one thread, then those of other busy threads; innermost calls last."""
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    here = threading.get_ident()
    parts = [_format_stack(names.get(first, "?"), frames.pop(first), _FRAMES)] if first in frames else []
    for ident, frame in frames.items():
        if ident != here and frame.f_code.co_name not in _IDLE:
            parts.append(_format_stack(names.get(ident, "?"), frame, _OTHER_FRAMES))
    return "\n".join(parts)


def _format_stack(name: str, frame: FrameType, deep: int) -> str:
    lines = traceback.format_list(traceback.extract_stack(frame)[-deep:])
    return f"  thread {name}:\n" + "".join(lines).rstrip()

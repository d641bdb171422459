"""Tells when an event loop of this process runs late, and what ran meanwhile, as warnings in the log.

A thread asks each loop for an answer a few times a second. Where none comes for a second, the warning has what the
loop's thread does, and what the others do. Where this thread itself is kept out, something holds the interpreter's
lock: then faulthandler, which needs no lock, writes every thread's stack to the standard error.
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
"""What counts as late."""
LOCKED_SECONDS = 2.0
"""How long the interpreter's lock may be held before all stacks are written."""
EVERY_SECONDS = 0.25
_FORMAT = "%(asctime)s %(levelname)s worker process %(process)d: %(message)s"
_FRAMES = 12
_OTHERS = 4
_IDLE = ("wait", "_worker", "accept", "poll", "select", "recv", "_recv")
"""Functions of threads that have nothing to do."""


class Lateness:
    """Watches loops, by their names, those that there are, from `start` until `stop`."""

    def __init__(self, loops: Mapping[str, asyncio.AbstractEventLoop | None]) -> None:
        self._watched = [_Watched(name, loop) for name, loop in loops.items() if loop is not None]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="lateness", daemon=True)

    def start(self) -> None:
        """Begins; warnings go to the standard error where nobody has said where."""
        logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=_FORMAT)
        self._thread.start()

    def stop(self) -> None:
        """Ends, soon."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(RuntimeError, ValueError, OSError):  # a standard error that is no file
                faulthandler.dump_traceback_later(LOCKED_SECONDS, exit=False)
            for each in self._watched:
                each.look()
            self._ended.wait(EVERY_SECONDS)
        faulthandler.cancel_dump_traceback_later()


class _Watched:
    """A loop: when it was asked, and whether that it is late has been told."""

    def __init__(self, name: str, loop: asyncio.AbstractEventLoop) -> None:
        self._name, self._loop = name, loop
        self._thread = 0
        self._asked = 0.0
        self._told = False

    def look(self) -> None:
        """Asks the loop, or tells that it is late."""
        now = time.monotonic()
        if self._asked:
            if now - self._asked > LATE_SECONDS and not self._told:
                self._told = True
                _LOG.warning("%s is late by %.1f s:\n%s", self._name, now - self._asked, stacks(self._thread))
            return
        self._asked = now
        with contextlib.suppress(RuntimeError):  # it has been closed
            self._loop.call_soon_threadsafe(self._answered)

    def _answered(self) -> None:
        late = time.monotonic() - self._asked
        self._thread = threading.get_ident()
        self._asked = 0.0
        if self._told:
            self._told = False
            _LOG.warning("%s was late by %.1f s", self._name, late)


def stacks(first: int) -> str:
    """What a thread does, and then the other threads that do something; innermost calls last."""
    frames = sys._current_frames()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    here = threading.get_ident()
    told = [_stack(names.get(first, "?"), frames.pop(first), _FRAMES)] if first in frames else []
    for ident, frame in frames.items():
        if ident != here and frame.f_code.co_name not in _IDLE:
            told.append(_stack(names.get(ident, "?"), frame, _OTHERS))
    return "\n".join(told)


def _stack(name: str, frame: FrameType, deep: int) -> str:
    lines = traceback.format_list(traceback.extract_stack(frame)[-deep:])
    return f"  thread {name}:\n" + "".join(lines).rstrip()

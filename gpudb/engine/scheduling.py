"""Time slices of clients' threads: short ones answer soon beside busy ones, long statements compute in long ones.

Linux (6.12 and later) lets a thread ask for its slice. One that wakes with a shorter slice than the running thread's
takes its place, within its share of the processor. Elsewhere nothing changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
import threading

_SHORT_NS, _LONG_NS = 100_000, 10_000_000
_SYSTEM_CALL = {"x86_64": 314, "aarch64": 274}.get(platform.machine()) if sys.platform == "linux" else None
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""struct sched_attr: size, policy, flags, nice, priority, and three times, of which the first is the slice."""
_LIBC = ctypes.CDLL(None) if _SYSTEM_CALL is not None else None
_thread = threading.local()


def answer_soon() -> None:
    """Gives the calling thread short slices, but for its long statements: `compute_long` to `end_long`."""
    _thread.answers = True
    _set_slice(_SHORT_NS)


def compute_long() -> None:
    """Gives the calling thread long slices, if `answer_soon` gave it short ones."""
    if getattr(_thread, "answers", False):
        _set_slice(_LONG_NS)


def end_long() -> None:
    """Gives the calling thread short slices again, if `answer_soon` gave it short ones."""
    if getattr(_thread, "answers", False):
        _set_slice(_SHORT_NS)


def _set_slice(nanoseconds: int) -> None:
    """Sets the calling thread's slice, if the system lets it."""
    if _LIBC is None or _SYSTEM_CALL is None:
        return
    with contextlib.suppress(OSError):
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        _LIBC.syscall(_SYSTEM_CALL, 0, _ATTRIBUTES.pack(_ATTRIBUTES.size, 0, 0, nice, 0, nanoseconds, 0, 0), 0)

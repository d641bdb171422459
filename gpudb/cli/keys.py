"""Keys that are typed at a terminal, one by one, without Enter."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def reading_keys() -> Iterator[Callable[[float], str]]:
    """Yields a function that waits some seconds for a key: it returns the key, or "" for none.

    Ctrl-C raises KeyboardInterrupt as ever. Without a terminal the function only waits.
    """
    if not sys.stdin.isatty():
        yield _wait
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield lambda seconds: _read(descriptor, seconds)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _wait(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _read(descriptor: int, seconds: float) -> str:
    if not select.select([descriptor], [], [], seconds)[0]:
        return ""
    typed = os.read(descriptor, 32)
    return typed.decode(errors="replace")[:1] or "\x04"  # nothing is the end of the terminal

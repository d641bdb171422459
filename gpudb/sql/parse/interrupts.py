"""Interrupts of long parses: who parses a text says how a cancel is noticed, and long work asks now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from gpudb.left_call import LeftCall

Value = TypeVar("Value")
_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)
_WAIT_S = 0.02


@contextmanager
def interrupted_by(check: Callable[[], None]) -> Iterator[None]:
    """Has parses within the block call `check`, which raises once they shall end."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_interrupt() -> None:
    """Raises what the parse's `check` raises."""
    check = _CHECK.get()
    if check is not None:
        check()


def run_native(call: Callable[[], Value]) -> Value:
    """Returns the result of a call into a library that cannot be interrupted.

    It runs on a thread, which a parse that is interrupted leaves behind: its result is dropped when it ends.
    """
    check = _CHECK.get()
    if check is None:
        return call()
    running = LeftCall(call, "long parse")
    while not running.ended.wait(_WAIT_S):
        check()
    return running.get()

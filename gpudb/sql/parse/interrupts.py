"""Interrupts of long parses: who parses a text says how a cancel is noticed, and long work asks now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

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
    results: list[Value] = []
    errors: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    threading.Thread(target=run, name="long parse", daemon=True).start()
    while not ended.wait(_WAIT_S):
        check()
    if errors:
        raise errors[0]
    return results[0]

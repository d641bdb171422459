"""Calls that wait for another system: a statement that is stopped leaves them to their own end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpudb.engine.protocol import Cancel
from gpudb.left_call import LeftCall

T = TypeVar("T")


def run_interruptibly(cancel: Cancel, call: Callable[[], T]) -> T:
    """Returns the result of a call, which runs on a thread of its own; 57014 once the statement is stopped."""
    running = LeftCall(call, "gpudb-remote")
    interrupt = running.ended.set
    cancel.attach(interrupt)
    try:
        running.ended.wait()
    finally:
        cancel.detach(interrupt)
    if not running.has_ended:
        cancel.check()
    return running.get()

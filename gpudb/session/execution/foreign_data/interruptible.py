"""Calls that wait for another system: a statement that is stopped leaves them to their own end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from gpudb.engine.protocol import Cancel

T = TypeVar("T")


def run_interruptibly(cancel: Cancel, call: Callable[[], T]) -> T:
    """Returns the result of a call, which runs on a thread of its own; 57014 once the statement is stopped."""
    ended = threading.Event()
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:
            failures.append(error)
        finally:
            ended.set()

    interrupt = ended.set
    cancel.attach(interrupt)
    try:
        threading.Thread(target=run, name="gpudb-remote", daemon=True).start()
        ended.wait()
    finally:
        cancel.detach(interrupt)
    if failures:
        raise failures[0]
    if not results:
        cancel.check()
    return results[0]

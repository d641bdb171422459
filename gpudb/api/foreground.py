"""Statements in the foreground: they run in a thread, so that Ctrl-C and progress reach the caller while they run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from gpudb.api.connection import Connection
from gpudb.api.interrupts import Interruptible

POLL_S = 0.1
"""Interval of `on_wait`."""
_CANCEL_AGAIN_S = 0.05

_T = TypeVar("_T")


def run_in_foreground(
    connection: Connection, action: Callable[[], _T], on_wait: Callable[[], None] | None = None
) -> _T:
    """Runs an action that uses the connection and returns its result; `on_wait` is called every `POLL_S` until then.

    Ctrl-C cancels the statement, waits for its end and raises KeyboardInterrupt: the connection stays usable. One that
    comes seconds later does not wait. An error of `on_wait` cancels it, too.
    """
    task = _Task(action)
    try:
        with Interruptible(connection.cancel):
            while not task.done.wait(POLL_S):
                if on_wait is not None:
                    on_wait()
    except BaseException:
        # Once may be too early: the action cancels only a statement that has started.
        while not task.done.is_set():
            connection.cancel()
            task.done.wait(_CANCEL_AGAIN_S)
        raise
    return task.result()


class _Task(Generic[_T]):
    """An action in a thread of its own, from the start."""

    def __init__(self, action: Callable[[], _T]) -> None:
        self.done = threading.Event()
        self._action = action
        self._results: list[_T] = []
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="gpudb-statement", daemon=True).start()

    def _run(self) -> None:
        try:
            self._results.append(self._action())
        except BaseException as error:
            self._error = error
        finally:
            self.done.set()

    def result(self) -> _T:
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        return self._results[0]

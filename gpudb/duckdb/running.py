"""The statements that DuckDB runs, by the number that its cursor has: functions ask whether theirs is cancelled."""

from __future__ import annotations

import itertools
from typing import Protocol

VARIABLE = "gpudb_statement"
"""DuckDB's variable with the number, which a function gets as an operand."""

numbers = itertools.count(1)
"""Numbers of cursors. A cursor runs one statement at a time."""


class Stoppable(Protocol):
    """A statement's cancellation."""

    @property
    def is_stopped(self) -> bool: ...


_running: dict[int, Stoppable] = {}


def begin(number: int, cancel: Stoppable) -> None:
    """Says what a cursor runs from now on."""
    _running[number] = cancel


def end(number: int) -> None:
    """Says that it has ended; idempotent."""
    _running.pop(number, None)


def is_running(number: int) -> bool:
    """Returns whether a number is a running statement's; 0 is none's."""
    return number in _running


def is_stopped(number: int) -> bool:
    """Returns whether a statement was cancelled or has timed out."""
    cancel = _running.get(number)
    return cancel is not None and cancel.is_stopped

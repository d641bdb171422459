"""The statements that DuckDB runs, by the number that its cursor has: functions ask whether theirs is cancelled."""

from __future__ import annotations

import itertools
from typing import Protocol

from gpudb.errors import QueryCanceled

VARIABLE = "gpudb_statement"
"""DuckDB's variable with the number, which a function gets as an operand."""

numbers = itertools.count(1)
"""Numbers of cursors. A cursor runs one statement at a time."""


class Stoppable(Protocol):
    """A statement's cancellation."""

    @property
    def is_stopped(self) -> bool: ...


_running: dict[int, Stoppable] = {}
_memory: dict[int, int] = {}


def begin(number: int, cancel: Stoppable, memory_bytes: int = 0) -> None:
    """Says what a cursor runs from now on; `memory_bytes` limits the processes of its functions (0: a default)."""
    _running[number] = cancel
    _memory[number] = memory_bytes


def end(number: int) -> None:
    """Says that it has ended; idempotent."""
    _running.pop(number, None)
    _memory.pop(number, None)


def find(number: int) -> Stoppable | None:
    """Returns the cancellation of the statement that runs by a number; None for none, as for 0."""
    return _running.get(number)


def find_memory(number: int) -> int:
    """Returns the bytes of memory that the processes of functions have of the statement that runs; 0: the default."""
    return _memory.get(number, 0)


def check(number: int) -> None:
    """Raises 57014 if the statement that runs by a number is stopped."""
    cancel = _running.get(number)
    if cancel is not None and cancel.is_stopped:
        raise QueryCanceled("canceling statement due to user request")


def is_wanted(number: int, cancel: Stoppable) -> bool:
    """Returns whether a statement still runs by its number, and is not stopped."""
    return _running.get(number) is cancel and not cancel.is_stopped

"""Stops a statement's work in a thread once the statement has ended: between pieces, none of which can be stopped.

A piece is what one call of a library does: the operators of a lazy frame, the read of a part of a file, the launch of
kernels, a block of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_has_ended: ContextVar[Callable[[], bool] | None] = ContextVar("has_ended", default=None)


class StatementEnded(Exception):
    """The statement has ended, and nobody waits for the work: it is no error of anything."""


@contextmanager
def stop_once(has_ended: Callable[[], bool]) -> Iterator[None]:
    """Lets `check_stop` stop the caller's work once `has_ended()` holds; also in threads with a copy of its context."""
    token = _has_ended.set(has_ended)
    try:
        yield
    finally:
        _has_ended.reset(token)


def check_stop() -> None:
    """Raises StatementEnded if the statement that the caller computes has ended."""
    has_ended = _has_ended.get()
    if has_ended is not None and has_ended():
        raise StatementEnded

"""Shortcuts for a session: rows as tuples, an error as a value, a wait with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from gpudb.errors import GpudbError
from gpudb.session.session import Session

WAIT_S = 60.0


def run(session: Session, sql: str) -> list[tuple[Any, ...]]:
    """Runs one or more statements; returns the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    for result in session.run(sql):
        rows = []
        if result.columns is not None:
            for batch in result.batches:
                rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return rows


def tags(session: Session, sql: str) -> list[str]:
    """Runs statements; returns their command tags."""
    found = []
    for result in session.run(sql):
        if result.columns is not None:
            list(result.batches)
        found.append(result.tag)
    return found


def fails(session: Session, sql: str) -> GpudbError:
    """Runs statements that must fail; returns the error."""
    with pytest.raises(GpudbError) as caught:
        run(session, sql)
    assert caught.value.sqlstate != "XX000", caught.value
    return caught.value


def state(session: Session, sql: str) -> str:
    """Runs statements that must fail; returns the SQLSTATE."""
    return fails(session, sql).sqlstate


def value(session: Session, sql: str) -> Any:
    """Runs a query of one value; returns the value."""
    ((found,),) = run(session, sql)
    return found


def wait_until(true: Callable[[], object], what: str) -> None:
    """Waits until `true()` holds; fails after WAIT_S."""
    deadline = time.monotonic() + WAIT_S
    while not true():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.005)

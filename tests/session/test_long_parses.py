"""Long parses ask for an interrupt, at every stage of theirs, and statement_timeout counts their time."""

from __future__ import annotations

import threading

import pytest

from gpudb.session.session import Session
from gpudb.sql.parse.interrupts import check_interrupt, interrupted_by, run_native
from gpudb.sql.parse.nesting import check_depth
from tests.support.sessions import fails, run, value

ROWS = ",".join(f"({number},'text number {number}')" for number in range(400_000))
"""Rows of VALUES: 11 MB."""


class _Ended(Exception):
    pass


def _end_after(calls: int) -> list[int]:
    return [calls]


def _check(left: list[int]) -> None:
    left[0] -= 1
    if left[0] < 0:
        raise _Ended


def test_tokens_are_counted_with_looks_for_an_interrupt() -> None:
    left = _end_after(20)
    with interrupted_by(lambda: _check(left)), pytest.raises(_Ended):
        check_depth(ROWS)
    left = _end_after(10_000)
    with interrupted_by(lambda: _check(left)):
        check_depth(ROWS[: len(ROWS) // 10])
    assert left[0] < 9_990


def test_a_native_call_is_left_behind() -> None:
    go, ended = threading.Event(), threading.Event()

    def call() -> int:
        go.wait()
        ended.set()
        return 7

    left = _end_after(3)
    with interrupted_by(lambda: _check(left)), pytest.raises(_Ended):
        run_native(call)
    assert not ended.is_set()
    go.set()
    assert ended.wait(60)
    with interrupted_by(lambda: None):
        assert run_native(call) == 7
        with pytest.raises(ZeroDivisionError):
            run_native(lambda: 1 // 0)
    assert run_native(call) == 7
    check_interrupt()


def test_statement_timeout_ends_a_parse(session: Session) -> None:
    run(session, "CREATE TABLE long_values (a int, b text); SET statement_timeout = '100ms'")
    error = fails(session, f"INSERT INTO long_values VALUES {ROWS}, {ROWS}")
    assert error.sqlstate == "57014"
    assert error.message == "canceling statement due to statement timeout"
    run(session, "RESET statement_timeout")
    assert value(session, "SELECT count(*) FROM long_values") == 0

"""Cancellation of statements: by timeout, by a cancel request, by another session; nothing remains of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from benchmarks.bench_cancel import HEAVY
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run, state, tags, value, wait_until

IN_TIME_S = 60.0
"""Far above the usual delay, which a benchmark measures, on any machine; each statement would run longer."""


@pytest.mark.parametrize("name", HEAVY)
def test_statement_timeout(session: Session, name: str) -> None:
    run(session, "SET statement_timeout = '100ms'")
    started = time.monotonic()
    error = fails(session, HEAVY[name])
    assert error.sqlstate == "57014"
    assert error.message == "canceling statement due to statement timeout"
    assert time.monotonic() - started < IN_TIME_S
    run(session, "SET statement_timeout = 0")
    assert value(session, "SELECT 1") == 1


def test_timeout_is_each_statements_own(session: Session) -> None:
    """A timer that has not expired does not affect the next statement."""
    run(session, "SET statement_timeout = '300ms'")
    deadline = time.monotonic() + 0.8
    while time.monotonic() < deadline:
        assert value(session, "SELECT 1") == 1
    run(session, "SET statement_timeout = 0")
    assert value(session, "SELECT count(*) FROM generate_series(1, 1000000)") == 1000000


def _cancelled_while(session: Session, sql: str, cancel: Session | None = None) -> tuple[GpudbError, float]:
    """Runs `sql` in a thread and cancels it once it runs; returns the error and the delay."""
    caught: list[BaseException] = []

    def work() -> None:
        try:
            run(session, sql)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: session.running.active, "the statement runs")
    time.sleep(0.1)  # so that its engine, too, has begun mostly; a cancel before that ends it as well
    started = time.monotonic()
    if cancel is None:
        session.cancel()
    else:
        assert value(cancel, f"SELECT pg_cancel_backend({session.process_id})") is True
    thread.join(60)
    assert not thread.is_alive()
    took = time.monotonic() - started
    (error,) = caught
    assert isinstance(error, GpudbError), error
    return error, took


@pytest.mark.parametrize("name", HEAVY)
def test_pg_cancel_backend(session: Session, other: Session, name: str) -> None:
    error, took = _cancelled_while(session, HEAVY[name], other)
    assert error.sqlstate == "57014"
    assert error.message == "canceling statement due to user request"
    assert took < IN_TIME_S
    assert value(session, "SELECT 1") == 1


@pytest.mark.parametrize("start", [run, Session.prepare])
def test_a_cancel_while_a_text_is_parsed(session: Session, start: Callable[[Session, str], object]) -> None:
    sql = HEAVY["binding"]
    timer = threading.Timer(0.2, session.cancel)
    timer.start()
    with pytest.raises(GpudbError) as caught:
        start(session, sql)
    timer.join()
    assert caught.value.sqlstate == "57014"
    session.sync()
    assert value(session, "SELECT 1") == 1


def test_a_cancel_between_statements_has_no_effect(session: Session) -> None:
    session.cancel()
    assert value(session, "SELECT 1") == 1


def test_cancelling_in_a_transaction_fails_it(session: Session, database: Database) -> None:
    run(session, "CREATE TABLE cancelled_block (a int)")
    run(session, "BEGIN; INSERT INTO cancelled_block VALUES (1)")
    error, _ = _cancelled_while(session, HEAVY["join"])
    assert error.sqlstate == "57014"
    assert session.status == "E"
    assert state(session, "SELECT 1") == "25P02"
    assert tags(session, "COMMIT") == ["ROLLBACK"]
    assert run(session, "SELECT * FROM cancelled_block") == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO kept SELECT x FROM generate_series(1, 2000000000) g(x)",
        "UPDATE kept SET a = (SELECT count(*) FROM generate_series(1::bigint, 400000) x, generate_series(1, 400000) y WHERE x * y % 7 = a)",
        "DELETE FROM kept WHERE a IN (SELECT x * y % 7 FROM generate_series(1::bigint, 400000) x, generate_series(1, 400000) y)",
        "CREATE TABLE made AS SELECT x FROM generate_series(1, 2000000000) g(x)",
    ],
)
def test_changes_that_are_cancelled_leave_nothing(session: Session, sql: str, database: Database) -> None:
    run(session, "CREATE TABLE kept AS SELECT i AS a FROM generate_series(1, 100) i")
    try:
        files = set(database.store.directory.rglob("*.parquet"))
        error, took = _cancelled_while(session, sql)
        assert error.sqlstate == "57014"
        assert took < IN_TIME_S
        assert run(session, "SELECT count(*), sum(a) FROM kept") == [(100, 5050)]
        assert state(session, "SELECT * FROM made") == "42P01"
        assert set(database.store.directory.rglob("*.parquet")) == files
    finally:
        run(session, "DROP TABLE kept")


def test_waiting_for_a_lock_can_be_cancelled_and_timed_out(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE locked (a int); INSERT INTO locked VALUES (1)")
    run(other, "BEGIN; UPDATE locked SET a = 2")
    error, took = _cancelled_while(session, "UPDATE locked SET a = 3")
    assert error.sqlstate == "57014"
    assert took < IN_TIME_S
    run(session, "SET lock_timeout = '100ms'")
    assert state(session, "UPDATE locked SET a = 3") == "55P03"
    run(session, "SET lock_timeout = 0; SET statement_timeout = '100ms'")
    assert state(session, "DELETE FROM locked") == "57014"
    run(other, "COMMIT")
    run(session, "SET statement_timeout = 0; UPDATE locked SET a = a + 10")
    assert value(session, "SELECT a FROM locked") == 12


def test_a_client_cancels(connect: Connect) -> None:
    """By the protocol's CancelRequest."""
    connection = connect()
    timer = threading.Timer(0.2, connection.cancel_safe, kwargs={"timeout": 5.0})
    timer.start()
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(HEAVY["join"])
    assert time.monotonic() - started < IN_TIME_S
    timer.join()
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_goes_away_frees_its_session(connect: Connect, database: Database) -> None:
    connection = connect()
    pid = connection.info.backend_pid
    assert database.find(pid) is not None
    connection.close()
    wait_until(lambda: database.find(pid) is None, "the session is closed")

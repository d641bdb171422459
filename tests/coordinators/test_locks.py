"""Locks of one server are waited for on the other: tables, rows, numbers that applications choose."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from tests.support.coordinators import Connection, catch_up, connect, read_state, read_value, two_coordinators
from tests.support.postgres_program import PostgresProgram
from tests.support.server_program import Program
from tests.support.sessions import wait_until

Pair = tuple[Program, Program]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as made:
        yield made


@pytest.fixture(autouse=True)
def table(one: Connection, two: Connection) -> None:
    """A table of two rows, which both servers know."""
    one.execute("DROP TABLE IF EXISTS t; CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 0), (2, 0)")
    catch_up(two)


def _wait_in_thread(threads: ThreadPoolExecutor, connection: Connection, statement: str) -> Future[str | None]:
    """Runs a statement in a thread; returns once it awaits a lock, as its own server shows."""
    future = threads.submit(read_state, connection, statement)
    query = f"SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = {connection.info.backend_pid}"
    with psycopg.connect(connection.info.dsn, autocommit=True) as watching:
        wait_until(lambda: future.done() or read_value(watching, query), "it waits")
    assert not future.done()
    return future


@pytest.mark.parametrize(
    ("lock", "waits"),
    [
        ("LOCK TABLE t", "UPDATE t SET b = 2"),
        ("LOCK TABLE t", "LOCK TABLE t"),
        ("SELECT FROM t FOR UPDATE", "DELETE FROM t"),
        ("SELECT FROM t FOR SHARE", "UPDATE t SET b = 3"),
        ("UPDATE t SET b = b + 1", "SELECT FROM t FOR UPDATE"),
        ("SELECT pg_advisory_xact_lock(3)", "SELECT pg_advisory_lock(3)"),
        ("SELECT pg_advisory_xact_lock_shared(1, 2)", "SELECT pg_advisory_xact_lock(1, 2)"),
    ],
)
def test_the_other_server_waits(
    one: Connection, two: Connection, threads: ThreadPoolExecutor, lock: str, waits: str
) -> None:
    one.execute("BEGIN")
    one.execute(lock.encode())
    two.execute("SET lock_timeout TO '100ms'")
    two.execute("BEGIN")
    assert read_state(two, waits) == "55P03"
    two.execute("ROLLBACK; SET lock_timeout TO 0")
    waiting = _wait_in_thread(threads, two, waits if waits.startswith(("UPDATE", "DELETE")) else f"BEGIN; {waits}")
    one.execute("COMMIT")
    assert waiting.result(30) is None
    two.execute("ROLLBACK; SELECT pg_advisory_unlock_all()")
    catch_up(one)


def test_nowait_and_skip_locked(one: Connection, two: Connection) -> None:
    one.execute("BEGIN; SELECT FROM t FOR UPDATE")
    assert read_state(two, "SELECT FROM t FOR UPDATE NOWAIT") == "55P03"
    assert two.execute("SELECT a FROM t FOR UPDATE SKIP LOCKED").fetchall() == []
    assert read_state(two, "BEGIN; LOCK TABLE t NOWAIT") == "55P03"
    two.execute("ROLLBACK")
    assert read_value(two, "SELECT pg_try_advisory_lock(9)") is True
    assert read_value(one, "SELECT pg_try_advisory_xact_lock(9)") is False
    two.execute("SELECT pg_advisory_unlock(9)")
    one.execute("COMMIT")
    assert two.execute("SELECT a FROM t FOR UPDATE NOWAIT").fetchall() == [(1,), (2,)]


def test_a_deadlock_of_two_servers_is_an_error_of_one(
    one: Connection, two: Connection, threads: ThreadPoolExecutor
) -> None:
    one.execute("BEGIN; SELECT pg_advisory_xact_lock(1)")
    two.execute("BEGIN; SELECT pg_advisory_xact_lock(2)")
    waits = [
        threads.submit(read_state, one, "SELECT pg_advisory_xact_lock(2)"),
        threads.submit(read_state, two, "SELECT pg_advisory_xact_lock(1)"),
    ]
    # The other one goes on as soon as the block of the chosen one has failed
    assert sorted([each.result(30) for each in waits], key=str) == ["40P01", None]
    for connection in (one, two):
        connection.execute("ROLLBACK")


def test_a_waiting_statement_is_cancelled(one: Connection, two: Connection, threads: ThreadPoolExecutor) -> None:
    one.execute("BEGIN; LOCK TABLE t")
    waiting = _wait_in_thread(threads, two, "UPDATE t SET b = 9")
    two.cancel()
    assert waiting.result(30) == "57014"
    one.execute("COMMIT")
    assert read_state(two, "UPDATE t SET b = 9") is None


def test_a_lost_session_releases_its_locks(servers: Pair, two: Connection, threads: ThreadPoolExecutor) -> None:
    with connect(servers[0]) as other:
        other.execute("SELECT pg_advisory_lock(77)")
        waiting = _wait_in_thread(threads, two, "SELECT pg_advisory_lock(77)")
    assert waiting.result(30) is None
    assert read_value(two, "SELECT pg_advisory_unlock(77)") is True


@pytest.mark.soak
def test_a_server_that_hangs_loses_its_locks(
    tmp_path: Path, postgres: PostgresProgram, threads: ThreadPoolExecutor
) -> None:
    with postgres.connect("postgres") as connection:
        connection.execute("CREATE DATABASE hanging")
    url = postgres.url.replace("/catalog", "/hanging")
    with two_coordinators(tmp_path / "data", url) as (one, two), connect(one) as first, connect(two) as second:
        first.execute("CREATE TABLE t (a int)")
        catch_up(second)
        first.execute("BEGIN; LOCK TABLE t; INSERT INTO t VALUES (1)")
        os.kill(one.process.pid, signal.SIGSTOP)
        try:
            assert threads.submit(read_state, second, "DELETE FROM t").result(120) is None
        finally:
            os.kill(one.process.pid, signal.SIGCONT)
        assert read_state(first, "COMMIT") == "40001"
        assert read_value(second, "SELECT count(*) FROM t") == 0


STEPS = [
    "CREATE TABLE users (id bigint PRIMARY KEY)",
    "ALTER TABLE users ADD COLUMN name text",
    "INSERT INTO users VALUES (1, 'first')",
    "CREATE TABLE orders (id bigint PRIMARY KEY, customer bigint REFERENCES users)",
    "INSERT INTO orders SELECT id, id FROM users",
]


def _migrate(program: Program) -> int:
    """Migrates as tools do, under an advisory lock of the session; returns how many steps it made."""
    made = 0
    with connect(program) as connection:
        connection.execute("SELECT pg_advisory_lock(4711)")
        connection.execute("CREATE TABLE IF NOT EXISTS migrations (version int NOT NULL)")
        for version in itertools.count(1):
            done = read_value(connection, "SELECT coalesce(max(version), 0) FROM migrations")
            if done == len(STEPS):
                break
            assert version <= len(STEPS)
            with connection.transaction():
                connection.execute(STEPS[done].encode())
                connection.execute(f"INSERT INTO migrations VALUES ({done + 1})".encode())
            made += 1
        connection.execute("SELECT pg_advisory_unlock(4711)")
    return made


def test_migrations_of_two_servers_at_once_run_once(
    servers: Pair, one: Connection, threads: ThreadPoolExecutor
) -> None:
    made = list(threads.map(_migrate, [*servers, *servers]))
    assert sorted(made) == [0, 0, 0, len(STEPS)]
    catch_up(one)
    assert one.execute("SELECT version FROM migrations ORDER BY version").fetchall() == [(n,) for n in range(1, 6)]
    assert one.execute("SELECT * FROM orders").fetchall() == [(1, 1)]

"""Advisory locks and FOR UPDATE between sessions: the same outcomes as PostgreSQL's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.support.oracle.server import Oracle
from tests.support.sessions import wait_until

Connection = psycopg.Connection[tuple[object, ...]]
Outcome = list[object]


def run(connection: Connection, sql: str) -> object:
    """The rows of a statement, or the SQLSTATE and the text of its error."""
    try:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else cursor.statusmessage
    except psycopg.Error as error:
        return error.sqlstate, error.diag.message_primary


@contextmanager
def waiting(connection: Connection, watcher: Connection, sql: str) -> Iterator[Outcome]:
    """Runs a statement that has to wait in a thread during the block; the outcome is there after the block."""
    outcome: Outcome = []
    pid = connection.info.backend_pid
    thread = threading.Thread(target=lambda: outcome.append(run(connection, sql)), daemon=True)
    thread.start()
    waits = f"SELECT count(*) FROM pg_locks WHERE pid = {pid} AND NOT granted"
    wait_until(lambda: not thread.is_alive() or run(watcher, waits) != [(0,)], f"{sql} is in pg_locks")
    assert thread.is_alive(), f"{sql} does not wait: {outcome}"
    yield outcome
    thread.join(60)
    assert not thread.is_alive()


def advisory_waits(one: Connection, two: Connection, three: Connection) -> Outcome:
    """An exclusive lock waits for shared ones; the waiter sees whom it waits for."""
    got = [run(one, "SELECT pg_advisory_lock_shared(5)"), run(two, "SELECT pg_try_advisory_lock_shared(5)")]
    got += [run(three, "SELECT pg_try_advisory_lock(5)"), run(two, "SELECT pg_advisory_unlock_shared(5)")]
    with waiting(two, three, "SELECT pg_advisory_lock(5)") as outcome:
        blockers = run(three, f"SELECT pg_blocking_pids({two.info.backend_pid})")
        got.append(blockers == [([one.info.backend_pid],)])
        got.append(run(three, "SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY 2"))
        got.append(run(one, "SELECT pg_advisory_unlock_shared(5)"))
    return [*got, outcome, run(two, "SELECT pg_advisory_unlock(5)")]


def advisory_timeout(one: Connection, two: Connection, three: Connection) -> Outcome:
    """lock_timeout and a cancel end a wait."""
    got = [run(one, "SELECT pg_advisory_lock(6)"), run(two, "SET lock_timeout = '50ms'")]
    got += [run(two, "SELECT pg_advisory_lock(6)"), run(two, "RESET lock_timeout")]
    with waiting(two, three, "SELECT pg_advisory_lock(6)") as outcome:
        got.append(run(three, f"SELECT pg_cancel_backend({two.info.backend_pid})"))
    return [*got, outcome, run(two, "SELECT pg_try_advisory_lock(6)"), run(one, "SELECT pg_advisory_unlock(6)")]


def released_at_the_end(one: Connection, two: Connection, three: Connection) -> Outcome:
    """The end of a session releases its locks, the end of a transaction those of the transaction."""
    got = [run(one, "SELECT pg_advisory_lock(7)"), run(two, "BEGIN"), run(two, "SELECT pg_advisory_xact_lock(8)")]
    got.append(run(three, "SELECT pg_try_advisory_lock(8)"))
    with waiting(three, two, "SELECT pg_advisory_lock(7)") as outcome:
        one.close()
    got += [outcome, run(two, "ROLLBACK"), run(three, "SELECT pg_try_advisory_lock(8)")]
    return [*got, run(three, "SELECT pg_advisory_unlock_all()")]


def deadlock(one: Connection, two: Connection, three: Connection) -> Outcome:
    """A circle of an advisory lock and a table's lock ends with an error for the session that closes it."""
    run(one, "SET deadlock_timeout = '60s'")
    run(two, "SET deadlock_timeout = '10ms'")
    run(one, "SELECT pg_advisory_lock(9)")
    run(two, "BEGIN")
    run(two, "SELECT a FROM t WHERE a = 1 FOR UPDATE")
    with waiting(one, three, "UPDATE t SET b = 3 WHERE a = 1") as outcome:
        second = run(two, "SELECT pg_advisory_lock(9)")
        run(two, "ROLLBACK")
        run(one, "SELECT pg_advisory_unlock_all()")
    return [second, outcome]


def migration(one: Connection, two: Connection, three: Connection) -> Outcome:
    """Whoever gets the lock second sees what the first has committed, in a transaction that began before."""
    got = [run(two, "BEGIN"), run(one, "BEGIN"), run(one, "SELECT pg_advisory_xact_lock(10)")]
    got.append(run(one, "INSERT INTO t VALUES (3, 30)"))
    with waiting(two, three, "SELECT pg_advisory_xact_lock(10)") as outcome:
        got.append(run(one, "COMMIT"))
    return [*got, outcome, run(two, "SELECT count(*) FROM t"), run(two, "COMMIT")]


def row_waits(one: Connection, two: Connection, three: Connection) -> Outcome:
    """FOR UPDATE lets a writer wait, and one that locks first reads what was committed meanwhile."""
    got = [run(one, "BEGIN"), run(one, "SELECT b FROM t WHERE a = 1 FOR UPDATE"), run(two, "BEGIN")]
    with waiting(two, three, "SELECT b FROM t WHERE a = 1 FOR UPDATE") as outcome:
        got += [run(one, "UPDATE t SET b = 11 WHERE a = 1"), run(one, "COMMIT")]
    return [*got, outcome, run(two, "UPDATE t SET b = b + 1 WHERE a = 1"), run(two, "COMMIT"), run(one, "TABLE t")]


def row_policies(one: Connection, two: Connection, three: Connection) -> Outcome:
    """NOWAIT fails at once, SKIP LOCKED returns no locked row, FOR SHARE shares, and lock_timeout ends a wait."""
    lock = "SELECT b FROM t WHERE a = 1 FOR UPDATE"
    got = [run(one, "BEGIN"), run(one, lock), run(two, f"{lock} NOWAIT"), run(two, f"{lock} SKIP LOCKED")]
    got.append(run(two, "SELECT count(*) FROM (SELECT a FROM t WHERE a = 1 FOR SHARE SKIP LOCKED) AS s"))
    got += [run(two, "SELECT b FROM t WHERE a = 1"), run(two, "SET lock_timeout = '50ms'")]
    got += [run(two, "UPDATE t SET b = 0 WHERE a = 1"), run(two, lock), run(one, "ROLLBACK")]
    share = "SELECT b FROM t WHERE a = 1 FOR SHARE"
    got += [run(one, "BEGIN"), run(one, share), run(two, share), run(two, f"{lock} NOWAIT")]
    return [*got, run(two, "DELETE FROM t WHERE a = 1"), run(one, "ROLLBACK"), run(two, f"{lock} NOWAIT")]


def repeatable_read(one: Connection, two: Connection, three: Connection) -> Outcome:
    """A transaction that keeps its snapshot may not lock what others have changed since."""
    got = [run(one, "BEGIN ISOLATION LEVEL REPEATABLE READ"), run(one, "SELECT b FROM t WHERE a = 1")]
    got.append(run(two, "UPDATE t SET b = 12 WHERE a = 1"))
    return [*got, run(one, "SELECT b FROM t WHERE a = 1 FOR UPDATE"), run(one, "ROLLBACK")]


def cursor_of_locked_rows(one: Connection, two: Connection, three: Connection) -> Outcome:
    """A cursor with FOR UPDATE locks out writers once a row is fetched, and reads what it has waited for."""
    declare = "DECLARE c CURSOR FOR SELECT b FROM t WHERE a = 1 FOR UPDATE"
    got = [run(one, "BEGIN"), run(one, declare), run(one, "FETCH ALL FROM c"), run(two, "BEGIN")]
    got.append(run(two, "SELECT b FROM t WHERE a = 1 FOR UPDATE NOWAIT"))
    got += [run(two, "ROLLBACK"), run(one, "UPDATE t SET b = 11 WHERE a = 1"), run(two, "BEGIN")]
    with waiting(two, three, f"{declare}; FETCH ALL FROM c") as outcome:
        got.append(run(one, "COMMIT"))
    return [*got, outcome, run(two, "FETCH ALL FROM c"), run(two, "ROLLBACK")]


SCENARIOS = [
    *(advisory_waits, advisory_timeout, released_at_the_end, deadlock, migration),
    *(row_waits, row_policies, repeatable_read, cursor_of_locked_rows),
]


def play(dsn: str, scenario: Callable[[Connection, Connection, Connection], Outcome]) -> Outcome:
    """The outcome of a scenario between three sessions, over a table of two rows."""
    connections = [psycopg.connect(dsn, autocommit=True) for _ in range(3)]
    try:
        run(connections[0], "CREATE TABLE t (a integer, b integer)")
        run(connections[0], "INSERT INTO t VALUES (1, 10), (2, 20)")
        return scenario(*connections)
    finally:
        for each in connections:
            each.close()
        with psycopg.connect(dsn, autocommit=True) as last:
            last.execute("DROP TABLE IF EXISTS t")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_sessions_wait_as_in_postgresql(
    scenario: Callable[[Connection, Connection, Connection], Outcome], oracle: Oracle, gpudb_server: str
) -> None:
    assert play(gpudb_server, scenario) == play(oracle.dsn, scenario)

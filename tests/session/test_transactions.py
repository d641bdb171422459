"""Transactions between sessions: snapshots, savepoints, failed blocks, implicit blocks, conflicts, read-only."""

from __future__ import annotations

import threading

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, tags, value, wait_until


@pytest.fixture(autouse=True)
def table(session: Session) -> None:
    run(session, "DROP TABLE IF EXISTS t; CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'one'), (2, 'two')")


_REPEATABLE = "BEGIN ISOLATION LEVEL REPEATABLE READ"


def test_a_transaction_reads_one_snapshot(session: Session, other: Session) -> None:
    run(session, _REPEATABLE)
    assert value(session, "SELECT count(*) FROM t") == 2
    run(other, "INSERT INTO t VALUES (3, 'three')")
    run(other, "UPDATE t SET b = 'changed' WHERE a = 1")
    run(other, "CREATE TABLE later (x int)")
    assert run(session, "SELECT a, b FROM t ORDER BY a") == [(1, "one"), (2, "two")]
    assert state(session, "SELECT * FROM later") == "42P01"
    run(session, "ROLLBACK")
    assert run(session, "SELECT a, b FROM t ORDER BY a") == [(1, "changed"), (2, "two"), (3, "three")]
    run(session, "DROP TABLE later")


def test_a_snapshot_keeps_a_dropped_table_readable(session: Session, other: Session) -> None:
    run(other, "CREATE TABLE doomed AS SELECT i FROM generate_series(1, 1000) i")
    run(session, _REPEATABLE)
    assert value(session, "SELECT count(*) FROM doomed") == 1000
    run(other, "DROP TABLE doomed")
    assert state(other, "SELECT * FROM doomed") == "42P01"
    assert value(session, "SELECT sum(i) FROM doomed") == 500500
    run(session, "COMMIT")
    assert state(session, "SELECT * FROM doomed") == "42P01"


def test_own_changes_are_seen_and_others_are_not(session: Session, other: Session) -> None:
    run(session, "BEGIN; INSERT INTO t VALUES (3, 'mine'); DELETE FROM t WHERE a = 1")
    assert run(session, "SELECT a FROM t ORDER BY a") == [(2,), (3,)]
    assert run(other, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    run(session, "COMMIT")
    assert run(other, "SELECT a FROM t ORDER BY a") == [(2,), (3,)]


def test_definitions_are_part_of_the_transaction(session: Session, other: Session) -> None:
    run(
        session,
        "BEGIN; CREATE TABLE made (x int); INSERT INTO made VALUES (1); ALTER TABLE t ADD COLUMN c int DEFAULT 5",
    )
    assert run(session, "SELECT a, c FROM t ORDER BY a") == [(1, 5), (2, 5)]
    assert state(other, "SELECT * FROM made") == "42P01"
    assert state(other, "SELECT c FROM t") == "42703"
    run(session, "ROLLBACK")
    assert state(session, "SELECT * FROM made") == "42P01"
    assert state(session, "SELECT c FROM t") == "42703"
    run(session, "BEGIN; DROP TABLE t; CREATE TABLE t (z int); COMMIT")
    assert run(other, "SELECT z FROM t") == []


def test_a_failed_block_takes_only_its_end(session: Session) -> None:
    run(session, "BEGIN; INSERT INTO t VALUES (9, 'nine')")
    assert session.status == "T"
    assert state(session, "SELECT 1 / 0") == "22012"
    assert session.status == "E"
    error = fails(session, "SELECT 1")
    assert error.sqlstate == "25P02"
    assert error.message == "current transaction is aborted, commands ignored until end of transaction block"
    assert state(session, "INSERT INTO t VALUES (1, 'x')") == "25P02"
    assert state(session, "SAVEPOINT s") == "25P02"
    assert tags(session, "COMMIT") == ["ROLLBACK"]
    assert session.status == "I"
    assert value(session, "SELECT count(*) FROM t") == 2


def test_savepoints(session: Session) -> None:
    run(session, "BEGIN; INSERT INTO t VALUES (3, 'kept'); SAVEPOINT one; INSERT INTO t VALUES (4, 'dropped')")
    run(session, "SAVEPOINT two; DELETE FROM t")
    assert value(session, "SELECT count(*) FROM t") == 0
    run(session, "ROLLBACK TO two")
    assert value(session, "SELECT count(*) FROM t") == 4
    assert state(session, "SELECT nonsense") == "42703"
    run(session, "ROLLBACK TO SAVEPOINT one")
    assert session.status == "T"
    assert value(session, "SELECT count(*) FROM t") == 3
    assert state(session, "ROLLBACK TO two") == "3B001"
    run(session, "ROLLBACK TO one; RELEASE one; COMMIT")
    assert run(session, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]
    assert state(session, "SAVEPOINT x") == "25P01"


def test_savepoints_of_one_name_hide_each_other(session: Session) -> None:
    run(session, "BEGIN; SAVEPOINT s; INSERT INTO t VALUES (3, ''); SAVEPOINT s; INSERT INTO t VALUES (4, '')")
    run(session, "ROLLBACK TO s")
    assert value(session, "SELECT count(*) FROM t") == 3
    run(session, "RELEASE s; ROLLBACK TO s")
    assert value(session, "SELECT count(*) FROM t") == 2
    run(session, "COMMIT")


def test_a_text_of_statements_is_one_transaction(session: Session, other: Session) -> None:
    assert state(session, "INSERT INTO t VALUES (3, 'x'); SELECT 1 / 0; INSERT INTO t VALUES (4, 'x')") == "22012"
    assert session.status == "I"
    assert value(other, "SELECT count(*) FROM t") == 2
    run(session, "INSERT INTO t VALUES (3, 'x'); INSERT INTO t VALUES (4, 'x')")
    assert value(other, "SELECT count(*) FROM t") == 4
    # COMMIT inside the text commits its first part permanently.
    assert (
        state(session, "INSERT INTO t VALUES (5, 'x'); COMMIT; INSERT INTO t VALUES (6, 'x'); SELECT 1 / 0") == "22012"
    )
    assert value(other, "SELECT max(a) FROM t") == 5
    # BEGIN inside it includes the statements before it.
    run(session, "INSERT INTO t VALUES (7, 'x'); BEGIN; INSERT INTO t VALUES (8, 'x')")
    assert session.status == "T"
    assert value(other, "SELECT max(a) FROM t") == 5
    run(session, "ROLLBACK")
    assert value(other, "SELECT max(a) FROM t") == 5


def test_a_syntax_error_runs_nothing_of_a_text(session: Session) -> None:
    assert state(session, "INSERT INTO t VALUES (3, 'x'); SELEC 1") == "42601"
    assert value(session, "SELECT count(*) FROM t") == 2


def test_positions_in_a_text_of_statements(session: Session) -> None:
    error = fails(session, "SELECT 'é'; SELECT nothing")
    assert (error.sqlstate, error.position) == ("42703", 20)


def test_warnings_about_blocks(session: Session) -> None:
    run(session, "COMMIT")
    assert [(n.severity, n.sqlstate) for n in session.take_notices()] == [("WARNING", "25P01")]
    run(session, "BEGIN; BEGIN")
    assert [(n.severity, n.sqlstate) for n in session.take_notices()] == [("WARNING", "25001")]
    run(session, "ROLLBACK; ROLLBACK")
    assert [(n.severity, n.sqlstate) for n in session.take_notices()] == [("WARNING", "25P01")]
    run(session, "SELECT 1; COMMIT")
    assert [(n.severity, n.sqlstate) for n in session.take_notices()] == [("WARNING", "25P01")]


def test_and_chain(session: Session) -> None:
    assert state(session, "COMMIT AND CHAIN") == "25P01"
    assert state(session, "SELECT 1; ROLLBACK AND CHAIN") == "25P01"
    run(session, "BEGIN; INSERT INTO t VALUES (3, 'x'); COMMIT AND CHAIN; INSERT INTO t VALUES (4, 'x')")
    assert session.status == "T"
    run(session, "ROLLBACK AND CHAIN")
    assert session.status == "T"
    run(session, "COMMIT")
    assert value(session, "SELECT max(a) FROM t") == 3


def test_writers_of_one_table_lose_no_update(session: Session, database: Database) -> None:
    """Autocommitted updates wait for each other: none is lost, none fails."""
    run(session, "DROP TABLE t; CREATE TABLE t (a int, n int); INSERT INTO t VALUES (1, 0), (2, 0)")
    failures: list[BaseException] = []

    def work() -> None:
        own = database.session("gpudb")
        try:
            for _ in range(5):
                run(own, "UPDATE t SET n = n + 1 WHERE a = 1")
        except BaseException as error:
            failures.append(error)
        finally:
            own.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert run(session, "SELECT a, n FROM t ORDER BY a") == [(1, 20), (2, 0)]


def test_a_block_that_read_an_older_state_fails_with_40001(session: Session, other: Session) -> None:
    run(session, f"{_REPEATABLE}; SELECT * FROM t")
    run(other, "UPDATE t SET b = 'other' WHERE a = 1")
    sqlstate = None
    try:
        run(session, "UPDATE t SET b = 'mine' WHERE a = 1")
        run(session, "COMMIT")
    except Exception as error:
        sqlstate = getattr(error, "sqlstate", None)
    assert sqlstate == "40001"
    run(session, "ROLLBACK")
    assert value(session, "SELECT b FROM t WHERE a = 1") == "other"


def test_inserts_of_two_blocks_do_not_conflict(session: Session, other: Session) -> None:
    run(session, "BEGIN; INSERT INTO t VALUES (3, 'x')")
    run(other, "BEGIN; INSERT INTO t VALUES (4, 'y')")
    run(session, "COMMIT")
    run(other, "COMMIT")
    assert run(session, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,), (4,)]


def test_a_deadlock_ends_with_40p01(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE IF NOT EXISTS u (a int)")
    run(session, "BEGIN; LOCK TABLE t")
    run(other, "BEGIN; LOCK TABLE u")
    found: list[str] = []

    def wait() -> None:
        try:
            run(session, "LOCK TABLE u")
            found.append("ok")
        except Exception as error:
            found.append(getattr(error, "sqlstate", "?"))

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: session.running.active, "the first waits")
    try:
        run(other, "LOCK TABLE t")
        found.append("ok")
    except Exception as error:
        found.append(getattr(error, "sqlstate", "?"))
    run(other, "ROLLBACK")
    thread.join(60)
    assert not thread.is_alive()
    assert sorted(found) == ["40P01", "ok"]
    run(session, "ROLLBACK")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (3, 'x')",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "TRUNCATE t",
        "CREATE TABLE n (a int)",
        "CREATE TABLE n AS SELECT 1",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN c int",
        "CREATE VIEW v AS SELECT 1 AS a",
        "CREATE SCHEMA s",
        "CREATE ROLE r",
        "COPY t FROM STDIN",
    ],
)
def test_read_only_transactions_do_not_write(session: Session, sql: str) -> None:
    run(session, "BEGIN READ ONLY")
    assert value(session, "SELECT count(*) FROM t") == 2
    error = fails(session, sql)
    assert error.sqlstate == "25006"
    assert error.message.endswith("in a read-only transaction")
    run(session, "ROLLBACK")


def test_ways_to_be_read_only(session: Session) -> None:
    run(session, "BEGIN; SET TRANSACTION READ ONLY")
    assert state(session, "DELETE FROM t") == "25006"
    run(session, "ROLLBACK; SET default_transaction_read_only = on")
    assert state(session, "DELETE FROM t") == "25006"
    assert value(session, "SHOW transaction_read_only") == "on"
    run(session, "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE")
    run(session, "DELETE FROM t WHERE a = 1")
    assert value(session, "SELECT count(*) FROM t") == 1


def test_read_only_transactions_write_temporary_tables(session: Session) -> None:
    run(session, "CREATE TEMP TABLE own (a int)")
    run(
        session,
        "BEGIN READ ONLY; INSERT INTO own VALUES (1), (2); UPDATE own SET a = a + 1; DELETE FROM own WHERE a = 2; COMMIT",
    )
    assert run(session, "SELECT a FROM own") == [(3,)]


def test_isolation_levels(session: Session) -> None:
    for level in ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ"):
        run(session, f"BEGIN ISOLATION LEVEL {level}")
        assert value(session, "SHOW transaction_isolation") == level.lower()
        run(session, "COMMIT")


def test_serializable_is_taken_with_a_warning(session: Session) -> None:
    run(session, "BEGIN ISOLATION LEVEL SERIALIZABLE")
    assert [(each.severity, each.message) for each in session.take_notices()] == [
        ("WARNING", "isolation level SERIALIZABLE runs as REPEATABLE READ")
    ]
    assert value(session, "SHOW transaction_isolation") == "serializable"
    run(session, "COMMIT; SET default_transaction_isolation = 'serializable'")
    assert len(session.take_notices()) == 1
    run(session, "RESET default_transaction_isolation; SET gpudb.serializable = off")
    assert state(session, "BEGIN ISOLATION LEVEL SERIALIZABLE") == "0A000"
    assert state(session, "SET default_transaction_isolation = 'serializable'") == "0A000"
    assert value(session, "SHOW transaction_isolation") == "read committed"


def test_explain_locks_nothing(session: Session, other: Session) -> None:
    run(session, "BEGIN; EXPLAIN SELECT * FROM t FOR UPDATE; EXPLAIN (ANALYZE) SELECT * FROM t FOR UPDATE")
    assert len(run(other, "SELECT * FROM t FOR UPDATE NOWAIT")) == 2
    run(session, "ROLLBACK")


def test_many_rows_lock_their_table(session: Session, other: Session) -> None:
    run(session, "INSERT INTO t SELECT i, 'more' FROM generate_series(10, 2000) AS i")
    run(session, "BEGIN; UPDATE t SET b = '' WHERE a > 5")
    assert run(session, "SELECT mode, granted FROM pg_locks") == [("ShareRowExclusiveLock", True)]
    run(other, "SET lock_timeout = 50")
    assert state(other, "UPDATE t SET b = 'x' WHERE a = 1") == "55P03"
    run(session, "COMMIT; BEGIN; UPDATE t SET b = '' WHERE a = 2")
    run(other, "UPDATE t SET b = 'x' WHERE a = 1")
    run(session, "COMMIT")
    run(other, "RESET lock_timeout")
    assert run(session, "SELECT b FROM t WHERE a < 3 ORDER BY a") == [("x",), ("",)]


def test_closing_a_session_rolls_back(database: Database, session: Session) -> None:
    own = database.session("gpudb")
    run(own, "BEGIN; DELETE FROM t; CREATE TABLE gone (a int)")
    own.close()
    assert value(session, "SELECT count(*) FROM t") == 2
    assert state(session, "SELECT * FROM gone") == "42P01"
    run(session, "UPDATE t SET a = 5")  # its lock is free

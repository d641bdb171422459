"""pg_export_snapshot and SET TRANSACTION SNAPSHOT: transactions that read the same state; modes of LOCK TABLE."""

from __future__ import annotations

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import run, state, value

_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ"


@pytest.fixture(autouse=True)
def table(session: Session) -> None:
    run(session, "DROP TABLE IF EXISTS t, doomed; CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)")
    run(session, "CREATE TABLE doomed AS SELECT i FROM generate_series(1, 1000) AS i")


def test_an_importer_reads_what_the_exporter_reads(database: Database, session: Session, other: Session) -> None:
    """Also after its end, whatever others have committed, dropped and discarded since."""
    run(session, _BEGIN)
    name = value(session, "SELECT pg_export_snapshot()")
    run(other, "INSERT INTO t VALUES (3); DELETE FROM t WHERE a = 1")
    run(other, "DROP TABLE doomed")
    run(other, "VACUUM")
    importer = database.session("gpudb")
    run(importer, f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{name}'")
    assert run(importer, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    run(session, "COMMIT")
    late = _BEGIN + "; SET TRANSACTION SNAPSHOT '{}'"
    assert state(other, late.format(name)) == "42704"
    run(other, "ROLLBACK")
    run(other, "VACUUM")
    assert run(importer, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]
    assert value(importer, "SELECT sum(i) FROM doomed") == 500500
    run(importer, "COMMIT")
    assert run(importer, "SELECT a FROM t ORDER BY a") == [(2,), (3,)]
    importer.close()


def test_an_importer_changes_what_nobody_else_has_changed(session: Session, other: Session) -> None:
    """What the exporter has changed itself is not in its snapshot; a change of changed rows conflicts."""
    run(session, f"{_BEGIN}; INSERT INTO t VALUES (9)")
    name = value(session, "SELECT pg_export_snapshot()")
    run(other, f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{name}'")
    assert value(other, "SELECT count(*) FROM t") == 2
    run(other, "INSERT INTO t VALUES (4)")
    run(session, "COMMIT")
    run(other, "COMMIT")
    assert run(session, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (4,), (9,)]
    run(session, _BEGIN)
    name = value(session, "SELECT pg_export_snapshot()")
    run(other, "UPDATE t SET a = 5 WHERE a = 1")
    run(other, f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{name}'")
    assert state(other, "UPDATE t SET a = a + 10; COMMIT") == "40001"
    run(other, "ROLLBACK")
    run(session, "ROLLBACK")


def test_an_exported_snapshot_stays_that_of_its_transaction(session: Session, other: Session) -> None:
    """A lock for which it has waited would else let it see what others have committed."""
    run(session, _BEGIN)
    value(session, "SELECT pg_export_snapshot()")
    run(other, "INSERT INTO t VALUES (3)")
    run(session, "SELECT pg_advisory_xact_lock(1)")
    assert value(session, "SELECT count(*) FROM t") == 2
    run(session, "ROLLBACK")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (_BEGIN + "; SELECT 1; SET TRANSACTION SNAPSHOT '{}'", "25001"),
        (_BEGIN + "; SAVEPOINT s; SET TRANSACTION SNAPSHOT '{}'", "25001"),
        ("BEGIN ISOLATION LEVEL READ COMMITTED; SET TRANSACTION SNAPSHOT '{}'", "0A000"),
        (_BEGIN + "; SET TRANSACTION SNAPSHOT 'no such'", "22023"),
        (_BEGIN + "; SET TRANSACTION SNAPSHOT '00000003-0000001B-1'", "42704"),
        (_BEGIN + "; SAVEPOINT s; SELECT pg_export_snapshot()", "25001"),
    ],
)
def test_a_snapshot_that_cannot_be_shared_is_refused(
    script: str, expected: str, session: Session, other: Session
) -> None:
    run(session, _BEGIN)
    name = value(session, "SELECT pg_export_snapshot()")
    assert state(other, script.format(name)) == expected
    run(other, "ROLLBACK")
    run(session, "ROLLBACK")


def test_a_snapshot_of_another_database_is_refused(database: Database, session: Session) -> None:
    run(session, _BEGIN)
    name = value(session, "SELECT pg_export_snapshot()")
    elsewhere = database.session("gpudb", database="postgres")
    assert state(elsewhere, f"{_BEGIN}; SET TRANSACTION SNAPSHOT '{name}'") == "0A000"
    elsewhere.close()
    run(session, "ROLLBACK")


def test_weak_modes_of_lock_table_do_not_exclude_each_other(session: Session, other: Session) -> None:
    """ACCESS SHARE excludes nothing, ROW SHARE and ROW EXCLUSIVE stronger modes alone; NOWAIT does not wait."""
    run(session, "BEGIN; LOCK TABLE t IN ACCESS SHARE MODE")
    run(other, "UPDATE t SET a = 7 WHERE a = 1")
    run(session, "ROLLBACK")
    run(session, "BEGIN; LOCK TABLE t IN ROW SHARE MODE")
    run(other, "BEGIN; LOCK TABLE t IN ROW EXCLUSIVE MODE NOWAIT; UPDATE t SET a = 8 WHERE a = 7; ROLLBACK")
    assert state(other, "BEGIN; LOCK TABLE t IN SHARE MODE NOWAIT") == "55P03"
    run(other, "ROLLBACK")
    assert state(other, "BEGIN; LOCK TABLE t NOWAIT") == "55P03"
    run(other, "ROLLBACK; BEGIN; LOCK TABLE t IN ACCESS SHARE MODE NOWAIT; ROLLBACK")
    run(session, "ROLLBACK")


@pytest.mark.parametrize("statement", ["CREATE DATABASE d", "DROP DATABASE IF EXISTS d", "REINDEX SCHEMA public"])
def test_what_runs_alone_is_refused_in_a_text_of_several(statement: str, session: Session) -> None:
    """As in PostgreSQL; a text of one statement, and one that is prepared after such a text, run."""
    assert state(session, f"SELECT 1; {statement}") == "25001"
    assert state(session, f"{statement}; SELECT 1") == "25001"
    session.execute(session.prepare("DROP DATABASE IF EXISTS d")).close()
    session.sync()

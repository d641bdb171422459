"""READ COMMITTED: what others commit between the statements of a transaction is checked against its own changes."""

from __future__ import annotations

import threading

import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import run, state, value, wait_until

MANY = "SELECT generate_series(1, 2000)"
"""More rows than reserve their keys."""


@pytest.mark.parametrize("read", [False, True], ids=["in memory", "in a file"])
def test_keys_of_many_rows_are_compared_with_those_of_later_snapshots(
    session: Session, other: Session, *, read: bool
) -> None:
    run(session, "DROP TABLE IF EXISTS many; CREATE TABLE many (k int PRIMARY KEY)")
    run(session, f"BEGIN; INSERT INTO many {MANY}")
    if read:
        run(session, "SELECT count(*) FROM many")
    run(other, "INSERT INTO many VALUES (5)")
    assert state(session, "SELECT 1 FROM many") == "23505"
    run(session, "ROLLBACK")
    assert run(other, "TABLE many") == [(5,)]


def test_keys_are_compared_after_a_rollback_to_a_savepoint(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE kept (k int UNIQUE, f float8 UNIQUE NULLS NOT DISTINCT)")
    run(session, f"BEGIN; INSERT INTO kept SELECT i, i FROM ({MANY}) AS s(i); SAVEPOINT a")
    run(other, "INSERT INTO kept VALUES (3000, 5)")
    assert state(session, "SELECT 1 FROM kept") == "23505"
    run(session, "ROLLBACK TO a")
    assert state(session, "SELECT 1 FROM kept") == "23505"
    run(session, "ROLLBACK")
    assert value(other, "SELECT count(*) FROM kept") == 1


@pytest.mark.parametrize("own", [f"INSERT INTO child {MANY}", "DELETE FROM parent"])
def test_references_of_many_rows_are_checked_against_later_snapshots(
    session: Session, other: Session, own: str
) -> None:
    run(session, "DROP TABLE IF EXISTS child, parent; CREATE TABLE parent (k int PRIMARY KEY)")
    run(session, f"CREATE TABLE child (k int REFERENCES parent); INSERT INTO parent {MANY}")
    run(session, f"BEGIN; {own}")
    run(other, "DELETE FROM parent WHERE k = 5" if own.startswith("INSERT") else "INSERT INTO child VALUES (5)")
    run(session, "SELECT 1 FROM parent, child")
    assert state(session, "COMMIT") == "23503"
    assert run(other, "SELECT k FROM child WHERE k NOT IN (SELECT k FROM parent)") == []


@pytest.mark.parametrize("own", [f"INSERT INTO child {MANY}", "DELETE FROM parent"])
def test_references_of_partitions_are_checked_against_later_snapshots(
    session: Session, other: Session, own: str
) -> None:
    run(session, "DROP TABLE IF EXISTS child, parent; CREATE TABLE parent (k int PRIMARY KEY) PARTITION BY RANGE (k)")
    run(session, "CREATE TABLE parent_low PARTITION OF parent FOR VALUES FROM (0) TO (1000)")
    run(session, "CREATE TABLE parent_high PARTITION OF parent FOR VALUES FROM (1000) TO (3000)")
    run(session, "CREATE TABLE child (k int REFERENCES parent) PARTITION BY RANGE (k)")
    run(session, f"CREATE TABLE child_all PARTITION OF child DEFAULT; INSERT INTO parent {MANY}")
    run(session, f"BEGIN; {own}")
    run(other, "DELETE FROM parent_low WHERE k = 5" if own.startswith("INSERT") else "INSERT INTO child_all VALUES (5)")
    run(session, "SELECT 1 FROM parent, child")
    assert state(session, "COMMIT") == "23503"
    assert run(other, "SELECT k FROM child WHERE k NOT IN (SELECT k FROM parent)") == []
    run(session, "DROP TABLE child, parent")


def test_references_within_a_table_are_checked_at_commit(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE tree (k int PRIMARY KEY, up int REFERENCES tree)")
    run(session, f"INSERT INTO tree {MANY}")
    run(session, "BEGIN; DELETE FROM tree")
    run(other, "INSERT INTO tree VALUES (3000, 5)")
    assert state(session, "COMMIT") == "23503"
    assert value(other, "SELECT count(*) FROM tree") == 2001


@pytest.mark.parametrize("first", ["rows", "key"])
def test_a_new_foreign_key_applies_to_rows_that_go_meanwhile(session: Session, other: Session, first: str) -> None:
    run(session, "DROP TABLE IF EXISTS refers, referred; CREATE TABLE referred (k int PRIMARY KEY)")
    run(session, "CREATE TABLE refers (k int); INSERT INTO referred VALUES (1), (2); INSERT INTO refers VALUES (1)")
    changes = ["DELETE FROM referred WHERE k = 1", "ALTER TABLE refers ADD FOREIGN KEY (k) REFERENCES referred"]
    if first == "key":
        changes.reverse()
    run(session, f"BEGIN; {changes[0]}")
    run(other, changes[1])
    assert state(session, "COMMIT") in ("23503", "40001")
    assert value(other, "SELECT count(*) FROM referred") == (2 if first == "rows" else 1)


def test_a_date_refers_to_a_timestamp(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE moments (k timestamp PRIMARY KEY); CREATE TABLE days (k date REFERENCES moments)")
    run(session, "INSERT INTO moments VALUES ('2020-01-01')")
    run(session, "BEGIN; INSERT INTO days VALUES ('2020-01-01')")
    run(other, "SET lock_timeout = '100ms'")
    assert state(other, "DELETE FROM moments") == "55P03"
    run(session, "COMMIT")
    assert state(other, "DELETE FROM moments") == "23503"


@pytest.mark.parametrize(
    "change", ["ADD PRIMARY KEY (k)", "ADD CHECK (k < 5)", "ALTER v SET NOT NULL", "DROP COLUMN v"]
)
def test_rows_in_memory_conflict_with_a_new_definition(session: Session, other: Session, change: str) -> None:
    run(session, "DROP TABLE IF EXISTS defined; CREATE TABLE defined (k int, v int)")
    run(session, "BEGIN; INSERT INTO defined VALUES (5, 5), (5, NULL)")
    run(other, f"ALTER TABLE defined {change}")
    assert state(session, "SELECT 1 FROM defined") == "40001"
    run(session, "ROLLBACK")
    assert run(other, "SELECT k FROM defined") == []


def test_rows_in_memory_conflict_with_a_new_partition(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE parted (k int) PARTITION BY RANGE (k); CREATE TABLE rest PARTITION OF parted DEFAULT")
    run(session, "BEGIN; INSERT INTO parted VALUES (5)")
    run(other, "CREATE TABLE low PARTITION OF parted FOR VALUES FROM (0) TO (10)")
    assert state(session, "SELECT 1 FROM parted") == "40001"
    run(session, "ROLLBACK")
    assert run(other, "SELECT k FROM rest") == []


def test_a_function_in_where_that_waits_for_another_transaction(
    session: Session, other: Session, database: Database
) -> None:
    run(session, "CREATE TABLE seen (k serial PRIMARY KEY, v int); CREATE TABLE counted (k int PRIMARY KEY, v int)")
    run(session, "INSERT INTO counted SELECT i, 0 FROM generate_series(1, 20) AS s(i)")
    run(
        session,
        "CREATE FUNCTION notes(i int) RETURNS bool LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_advisory_xact_lock(12); INSERT INTO seen (v) VALUES (i); RETURN true; END $$",
    )
    run(other, "BEGIN; SELECT pg_advisory_xact_lock(12); UPDATE counted SET v = v + 1")
    waiter = threading.Thread(target=run, args=(session, "UPDATE counted SET v = v + 10 WHERE notes(k)"))
    waiter.start()
    locks = database.store.locks
    wait_until(lambda: not all(row.is_granted for row in locks.list_rows()), "the function waits")
    run(other, "COMMIT")
    waiter.join(60)
    assert run(other, "SELECT DISTINCT v FROM counted") == [(11,)]
    assert value(other, "SELECT count(*) FROM seen") == 20

"""Constraints: for every way to add rows, after a restart, and between concurrent transactions."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.results import CopyIn
from gpudb.session.session import Session
from tests.support.sessions import fails, run, state, value


@pytest.fixture(autouse=True)
def tables(session: Session) -> None:
    run(
        session,
        "DROP TABLE IF EXISTS child, parent CASCADE;"
        "CREATE TABLE parent (id integer PRIMARY KEY, v integer);"
        "CREATE TABLE child (n integer UNIQUE CHECK (n > 0), p integer REFERENCES parent ON DELETE CASCADE);"
        "CREATE UNIQUE INDEX ON child ((n % 1000)) WHERE n > 1000;"
        "INSERT INTO parent VALUES (1, 1), (2, 2), (3, 3)",
    )


def _copy(session: Session, text: str) -> str:
    """COPY child FROM STDIN; returns its tag, or the SQLSTATE of its error."""
    try:
        for result in session.run("COPY child FROM STDIN"):
            assert isinstance(result, CopyIn)
            result.feed(text.encode())
            return result.finish()
    except GpudbError as error:
        return error.sqlstate
    raise AssertionError("COPY gave nothing")


def test_copy_keeps_them(session: Session) -> None:
    assert _copy(session, "1\t1\n2\t2\n") == "COPY 2"
    assert _copy(session, "3\t1\n-4\t1\n") == "23514"
    assert _copy(session, "5\t1\n2\t1\n") == "23505"
    assert _copy(session, "6\t1\n7\t9\n") == "23503"
    assert _copy(session, "1008\t1\n2008\t1\n") == "23505"
    assert run(session, "SELECT n FROM child ORDER BY n") == [(1,), (2,)]


def test_load_data_keeps_them(session: Session, tmp_path: Path) -> None:
    def load(text: str) -> str:
        path = tmp_path / "rows.csv"
        path.write_text(text, encoding="utf-8")
        return f"SELECT load_data('child', '{path}')"

    assert value(session, load("1,1\n2,2\n")) == 2
    assert state(session, load("3,1\n-4,1\n")) == "23514"
    assert state(session, load("2,1\n")) == "23505"
    assert state(session, load("8,8\n")) == "23503"
    assert value(session, "SELECT count(*) FROM child") == 2


def test_a_check_of_many_batches_names_its_row(session: Session) -> None:
    error = fails(session, "INSERT INTO child SELECT 150000 - g, NULL FROM generate_series(1, 200000) AS g")
    assert (error.sqlstate, error.detail) == ("23514", "Failing row contains (0, null).")
    assert error.objects["constraint"] == "child_n_check"


def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    def opened() -> tuple[Database, Session]:
        database = Database(tmp_path / "data")
        return database, database.session("gpudb")

    database, session = opened()
    run(session, "CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (1), (2)")
    run(session, "CREATE TABLE c (a int CONSTRAINT low CHECK (a < 10), b int REFERENCES p ON DELETE CASCADE)")
    run(session, "CREATE UNIQUE INDEX once ON c (a) NULLS NOT DISTINCT; CREATE INDEX more ON c (b DESC)")
    run(session, "CREATE UNIQUE INDEX twice ON c ((a % 5)) WHERE b > 0")
    run(session, "COMMENT ON CONSTRAINT low ON c IS 'small'; INSERT INTO c VALUES (1, 1), (NULL, 2)")
    before = run(session, "SELECT conname, pg_get_constraintdef(oid), oid FROM pg_constraint ORDER BY oid")
    session.close()
    database.close()
    database, session = opened()
    try:
        assert before == run(session, "SELECT conname, pg_get_constraintdef(oid), oid FROM pg_constraint ORDER BY oid")
        assert value(session, "SELECT obj_description(oid) FROM pg_constraint WHERE conname = 'low'") == "small"
        assert state(session, "INSERT INTO c VALUES (10, 1)") == "23514"
        assert state(session, "INSERT INTO c VALUES (NULL, 1)") == "23505"
        assert state(session, "INSERT INTO c VALUES (5, 5)") == "23503"
        assert state(session, "INSERT INTO c VALUES (6, 2)") == "23505"
        assert state(session, "CREATE INDEX more ON c (a)") == "42P07"
        run(session, "DELETE FROM p WHERE id = 2")
        assert run(session, "SELECT a, b FROM c") == [(1, 1)]
    finally:
        session.close()
        database.close()


def test_a_row_and_what_it_refers_to_wait_for_each_other(session: Session, other: Session) -> None:
    run(session, "BEGIN; INSERT INTO child VALUES (1, 3)")
    run(other, "SET lock_timeout = 50")
    assert state(other, "DELETE FROM parent WHERE id = 3") == "55P03"
    run(session, "COMMIT")
    run(other, "DELETE FROM parent WHERE id = 3")  # and the row of the other transaction with it
    assert value(session, "SELECT count(*) FROM child") == 0
    run(session, "BEGIN; DELETE FROM parent WHERE id = 2")
    assert state(other, "INSERT INTO child VALUES (2, 2)") == "55P03"
    run(session, "COMMIT")
    assert state(other, "INSERT INTO child VALUES (2, 2)") == "23503"
    assert run(session, "SELECT id FROM parent ORDER BY id") == [(1,)]
    run(other, "RESET lock_timeout")


def test_a_new_check_and_a_new_row_cannot_miss_each_other(session: Session, other: Session) -> None:
    run(session, "BEGIN; ALTER TABLE child ADD CHECK (n < 100)")
    run(other, "INSERT INTO child VALUES (200, 1)")
    assert state(session, "COMMIT") == "40001"
    run(session, "BEGIN; INSERT INTO child VALUES (300, 1)")
    run(other, "DELETE FROM child WHERE n = 200; ALTER TABLE child ADD CHECK (n < 100)")
    assert state(session, "COMMIT") == "40001"
    assert value(session, "SELECT count(*) FROM child") == 0


def test_on_conflict_waits_for_other_writers(session: Session, other: Session) -> None:
    run(other, "BEGIN; INSERT INTO parent VALUES (7, 7) ON CONFLICT (id) DO NOTHING")
    assert state(session, "SET lock_timeout = 50; INSERT INTO parent VALUES (7, 8) ON CONFLICT DO NOTHING") == "55P03"
    run(other, "COMMIT")
    run(session, "SET lock_timeout = 0; INSERT INTO parent VALUES (7, 8) ON CONFLICT (id) DO UPDATE SET v = excluded.v")
    assert value(session, "SELECT v FROM parent WHERE id = 7") == 8


def test_an_error_leaves_nothing_of_any_part(session: Session) -> None:
    many = (
        "WITH a AS (INSERT INTO parent VALUES (50, 50) RETURNING id), b AS (DELETE FROM parent WHERE id = 1)"
        " INSERT INTO child SELECT id, 99 FROM a"
    )
    assert state(session, many) == "23503"
    assert run(session, "SELECT id FROM parent ORDER BY id") == [(1,), (2,), (3,)]
    assert value(session, "SELECT count(*) FROM child") == 0


def test_scalars_are_excluded_once_btree_gist_is_there(session: Session) -> None:
    table = "CREATE TABLE booked (room int, kind text, d daterange, EXCLUDE USING gist (room WITH =, kind WITH <>, d WITH &&))"
    assert state(session, table) == "42704"
    run(session, f"CREATE EXTENSION btree_gist; {table}")
    run(session, "INSERT INTO booked VALUES (1, 'a', '[2024-01-01,2024-02-01)'), (2, 'a', '[2024-01-01,2024-02-01)')")
    run(session, "INSERT INTO booked VALUES (1, 'a', '[2024-01-01,2024-02-01)'), (1, 'b', '[2024-02-01,2024-03-01)')")
    error = fails(session, "INSERT INTO booked VALUES (1, 'c', '[2024-01-31,2024-02-02)')")
    assert error.sqlstate == "23P01"
    assert (error.detail or "").startswith(
        "Key (room, kind, d)=(1, c, [2024-01-31,2024-02-02)) conflicts with existing key"
    )
    definition = value(
        session, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'booked'::regclass"
    )
    assert definition == "EXCLUDE USING gist (room WITH =, kind WITH <>, d WITH &&)"


def test_rows_of_later_snapshots_are_excluded_at_commit(session: Session, other: Session) -> None:
    """A statement of many rows waits for nobody, and finds those that others have committed when it ends."""
    run(session, "CREATE TABLE spans (r int4range, EXCLUDE USING gist (r WITH &&))")
    run(session, "BEGIN; INSERT INTO spans SELECT int4range(g * 10, g * 10 + 5) FROM generate_series(1, 2000) AS g")
    run(other, "INSERT INTO spans VALUES ('[12,14)')")
    assert state(session, "COMMIT") == "23P01"
    assert value(other, "SELECT count(*) FROM spans") == 1


@pytest.mark.parametrize("kind", ["", "VIRTUAL"])
def test_virtual_columns_are_refused(session: Session, kind: str) -> None:
    """A stored column would not be what was asked for."""
    assert state(session, f"CREATE TABLE virtual (a int, b int GENERATED ALWAYS AS (a + 1) {kind})") == "0A000"
    run(session, "CREATE TABLE virtual (a int, b int GENERATED ALWAYS AS (a + 1) STORED)")
    assert state(session, f"ALTER TABLE virtual ADD c int GENERATED ALWAYS AS (a) {kind}") == "0A000"
    run(session, "DROP TABLE virtual")

"""Materialized views: they survive a restart, and readers keep the rows of their snapshot."""

from __future__ import annotations

from pathlib import Path

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import fails, run


def test_they_are_there_after_a_restart(tmp_path: Path) -> None:
    database = Database(tmp_path)
    session = database.session("gpudb")
    run(session, "CREATE TABLE base (a int); INSERT INTO base VALUES (1), (2)")
    run(session, "CREATE MATERIALIZED VIEW filled AS SELECT sum(a) AS s FROM base")
    run(session, "CREATE MATERIALIZED VIEW unfilled AS SELECT a FROM base WITH NO DATA")
    session.close()
    database.close()
    database = Database(tmp_path)
    session = database.session("gpudb")
    assert run(session, "SELECT s FROM filled") == [(3,)]
    assert fails(session, "SELECT * FROM unfilled").sqlstate == "55000"
    run(session, "INSERT INTO base VALUES (10); REFRESH MATERIALIZED VIEW filled; REFRESH MATERIALIZED VIEW unfilled")
    assert run(session, "SELECT s FROM filled") == [(13,)]
    assert run(session, "SELECT count(*) FROM unfilled") == [(3,)]
    session.close()
    database.close()


def test_a_reader_keeps_its_rows(session: Session, other: Session) -> None:
    run(session, "CREATE TABLE read_base (a int); INSERT INTO read_base VALUES (1)")
    run(session, "CREATE MATERIALIZED VIEW read_view AS SELECT a FROM read_base")
    run(other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert run(other, "SELECT * FROM read_view") == [(1,)]
    run(session, "INSERT INTO read_base VALUES (2); REFRESH MATERIALIZED VIEW read_view")
    assert run(other, "SELECT * FROM read_view") == [(1,)]
    run(other, "COMMIT")
    assert run(other, "SELECT * FROM read_view ORDER BY a") == [(1,), (2,)]


def test_nothing_else_writes_to_them(session: Session, tmp_path: Path) -> None:
    run(session, "CREATE MATERIALIZED VIEW guarded AS SELECT 1 AS a")
    data = tmp_path / "rows.csv"
    data.write_text("1\n")
    for sql in (
        f"COPY guarded FROM '{data}'",
        f"COPY guarded TO '{data}'",
        f"SELECT load_data('guarded', '{data}')",
    ):
        assert fails(session, sql).sqlstate == "42809", sql
    assert fails(session, "ALTER TABLE guarded ADD COLUMN b int").sqlstate == "0A000"

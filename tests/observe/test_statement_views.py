"""pg_stat_statements, gpudb_query_log, pg_stat_database and pg_stat_user_tables over a real server."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import DictRow, dict_row

from tests.support.server_program import Program
from tests.support.sessions import wait_until

OPTIONS = ("--engine", "cpu")
ALL = {"GPUDB_QUERY_LOG_MIN_DURATION": "0"}
SECRET = "kangaroo"
# PostgreSQL 16's pg_stat_statements 1.10
COLUMNS = """userid dbid toplevel queryid query plans total_plan_time min_plan_time max_plan_time mean_plan_time
stddev_plan_time calls total_exec_time min_exec_time max_exec_time mean_exec_time stddev_exec_time rows shared_blks_hit
shared_blks_read shared_blks_dirtied shared_blks_written local_blks_hit local_blks_read local_blks_dirtied
local_blks_written temp_blks_read temp_blks_written blk_read_time blk_write_time temp_blk_read_time temp_blk_write_time
wal_records wal_fpi wal_bytes jit_functions jit_generation_time jit_inlining_count jit_inlining_time
jit_optimization_count jit_optimization_time jit_emission_count jit_emission_time""".split()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("views") / "data", *OPTIONS, environment=ALL) as program:
        yield program


@pytest.fixture
def connection(server: Program) -> Iterator[psycopg.Connection[DictRow]]:
    with psycopg.connect(server.dsn, autocommit=True, row_factory=dict_row) as opened:
        opened.execute("SELECT pg_stat_statements_reset()")
        yield opened


@pytest.fixture
def other(server: Program, connection: psycopg.Connection[DictRow]) -> Iterator[psycopg.Connection[DictRow]]:
    """A client of a role without privileges."""
    connection.execute("CREATE ROLE other LOGIN")
    try:
        with psycopg.connect(server.dsn, user="other", autocommit=True, row_factory=dict_row) as opened:
            yield opened
    finally:
        connection.execute("DROP ROLE other")


def find(connection: psycopg.Connection[DictRow], query: str) -> list[DictRow]:
    return connection.execute("SELECT * FROM pg_stat_statements WHERE query = %s", (query,)).fetchall()


def test_columns_are_those_of_postgresql(connection: psycopg.Connection[DictRow]) -> None:
    cursor = connection.execute("SELECT * FROM pg_stat_statements")
    assert [each.name for each in cursor.description or ()] == COLUMNS


def test_statements_are_added_up_by_query(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute("CREATE TABLE counted AS SELECT g AS a FROM generate_series(1, 100) g")
    for number in (10, 20, 30):
        connection.execute(f"SELECT a FROM counted WHERE a <= {number}").fetchall()
    connection.execute("INSERT INTO counted VALUES (1), (2)")
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT a FROM counted WHERE a <= 1/0")
    (row,) = find(connection, "SELECT a FROM counted WHERE a <= $1")
    assert (row["calls"], row["rows"], row["toplevel"]) == (3, 60, True)
    assert row["min_exec_time"] <= row["mean_exec_time"] <= row["max_exec_time"]
    assert math.isclose(row["mean_exec_time"] * 3, row["total_exec_time"])
    assert row["stddev_exec_time"] >= 0
    names = connection.execute(
        "SELECT rolname, datname FROM pg_stat_statements s JOIN pg_roles r ON r.oid = userid"
        " JOIN pg_database d ON d.oid = dbid WHERE queryid = %s",
        (row["queryid"],),
    ).fetchall()
    assert names == [{"rolname": "gpudb", "datname": "gpudb"}]
    (row,) = find(connection, "INSERT INTO counted VALUES ($1), ($2)")
    assert (row["calls"], row["rows"]) == (1, 2)
    connection.execute("DROP TABLE counted")


def test_statements_of_one_text_are_kept_apart(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute("SELECT 1 AS first; SELECT 2 AS second FROM generate_series(1, 3)")
    assert [find(connection, f"SELECT $1 AS {name}")[0]["rows"] for name in ("first",)] == [1]
    (row,) = find(connection, "SELECT $1 AS second FROM generate_series($2, $3)")
    assert (row["calls"], row["rows"]) == (1, 3)


def test_prepared_statements_and_copy(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute("CREATE TABLE copied (a int)")
    with connection.cursor().copy("COPY copied FROM STDIN") as copy:
        copy.write("1\n2\n3\n")
    for _ in range(4):
        connection.execute("SELECT a FROM copied WHERE a > %s", (1,), prepare=True)
    assert find(connection, "SELECT a FROM copied WHERE a > $1")[0]["calls"] == 4
    assert find(connection, "COPY copied FROM STDIN")[0]["rows"] == 3
    connection.execute("DROP TABLE copied")


def test_a_reset_discards_what_it_names(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute("SELECT 1 AS gone")
    connection.execute("SELECT lower('A') AS here")
    (row,) = find(connection, "SELECT $1 AS gone")
    connection.execute(f"SELECT pg_stat_statements_reset(0, 0, {row['queryid']})")
    assert find(connection, "SELECT $1 AS gone") == []
    assert len(find(connection, "SELECT lower($1) AS here")) == 1
    before = connection.execute("SELECT stats_reset FROM pg_stat_statements_info").fetchone()
    connection.execute("SELECT pg_stat_statements_reset()")
    assert find(connection, "SELECT lower($1) AS here") == []
    after = connection.execute("SELECT stats_reset FROM pg_stat_statements_info").fetchone()
    assert before is not None
    assert after is not None
    assert before["stats_reset"] < after["stats_reset"]


def test_a_reset_of_the_rows_of_a_query(connection: psycopg.Connection[DictRow]) -> None:
    for name in ("upper", "initcap", "btrim"):  # names of columns do not tell queries apart
        connection.execute(f"SELECT {name}('a') AS several")  # type: ignore[arg-type]
    connection.execute("SELECT reverse('a') AS single")
    done = connection.execute(
        "SELECT 'was reset' AS what, pg_stat_statements_reset(userid, dbid, queryid) AS nothing, calls"
        " FROM pg_stat_statements WHERE query LIKE '%% AS several' ORDER BY query"
    ).fetchall()
    assert done == [{"what": "was reset", "nothing": "", "calls": 1}] * 3
    assert not [row for row in connection.execute("SELECT query FROM pg_stat_statements") if "several" in row["query"]]
    assert len(find(connection, "SELECT reverse($1) AS single")) == 1
    assert connection.execute("SELECT 1 AS x, pg_stat_statements_reset(NULL) AS y").fetchall() == [{"x": 1, "y": None}]
    assert len(find(connection, "SELECT reverse($1) AS single")) == 1
    connection.execute("SELECT pg_stat_statements_reset(), count(*) FROM pg_class WHERE false")
    assert find(connection, "SELECT reverse($1) AS single") == []
    for wrong, error in (
        ("SELECT pg_stat_statements_reset(0, 0, 0, 0)", psycopg.errors.UndefinedFunction),
        ("SELECT pg_stat_statements_reset('x')", psycopg.errors.InvalidTextRepresentation),
    ):
        with pytest.raises(error):
            connection.execute(wrong)  # type: ignore[arg-type]


def test_the_extensions_schema(connection: psycopg.Connection[DictRow]) -> None:
    names = ("public.pg_stat_statements", "public.pg_stat_statements_info")
    for name in names:
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute(f"SELECT * FROM {name}")  # type: ignore[arg-type]
    with pytest.raises(psycopg.errors.UndefinedFunction):
        connection.execute("SELECT public.pg_stat_statements_reset()")
    connection.execute("CREATE SCHEMA watching")
    try:
        connection.execute("CREATE EXTENSION pg_stat_statements")
        connection.execute("SELECT 1 AS seen")
        found = connection.execute(
            "SELECT calls, public.pg_stat_statements.query FROM public.pg_stat_statements"
            " WHERE pg_stat_statements.query = 'SELECT $1 AS seen'"
        ).fetchall()
        assert found == [{"calls": 1, "query": "SELECT $1 AS seen"}]
        assert connection.execute("SELECT s.dealloc FROM public.pg_stat_statements_info AS s").fetchall()
        connection.execute("SELECT public.pg_stat_statements_reset()")
        assert find(connection, "SELECT $1 AS seen") == []
        connection.execute("DROP EXTENSION pg_stat_statements")
        connection.execute("CREATE EXTENSION pg_stat_statements SCHEMA watching")
        assert connection.execute("SELECT count(*) > 0 AS some FROM watching.pg_stat_statements").fetchall()
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("SELECT * FROM public.pg_stat_statements")
    finally:
        connection.execute("DROP EXTENSION IF EXISTS pg_stat_statements")
        connection.execute("DROP SCHEMA watching")
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM watching.pg_stat_statements")


def test_others_texts_are_hidden(connection: psycopg.Connection[DictRow], other: psycopg.Connection[DictRow]) -> None:
    connection.execute("SELECT 1 AS hidden")
    other.execute("SELECT 1 AS own")
    seen = other.execute("SELECT queryid, query FROM pg_stat_statements").fetchall()
    assert {"queryid": None, "query": "<insufficient privilege>"} in seen
    assert "SELECT $1 AS own" in [row["query"] for row in seen]
    assert not any("hidden" in row["query"] for row in seen)
    logged = other.execute("SELECT query, queryid, usename FROM gpudb_query_log").fetchall()
    assert {row["query"] for row in logged if row["usename"] != "other"} == {"<insufficient privilege>"}
    assert "SELECT 1 AS own" in {row["query"] for row in logged}
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for function pg_stat_statements"):
        other.execute("SELECT pg_stat_statements_reset()")
    connection.execute("GRANT pg_read_all_stats TO other")
    assert "SELECT $1 AS hidden" in [row["query"] for row in other.execute("SELECT * FROM pg_stat_statements")]
    assert "SELECT 1 AS hidden" in [row["query"] for row in other.execute("SELECT * FROM gpudb_query_log")]


def test_the_statistics_are_of_the_current_role(
    connection: psycopg.Connection[DictRow], other: psycopg.Connection[DictRow]
) -> None:
    connection.execute("SET ROLE other")
    connection.execute("SELECT 1 AS acted")
    connection.execute("RESET ROLE")
    (row,) = find(connection, "SELECT $1 AS acted")
    owner = connection.execute("SELECT rolname FROM pg_roles WHERE oid = %s", (row["userid"],)).fetchone()
    assert owner == {"rolname": "other"}


def test_no_view_has_a_password(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute(sql.SQL("CREATE ROLE secretive PASSWORD {}").format(SECRET))
    with pytest.raises(psycopg.Error):
        connection.execute(f"ALTER ROLE nobody PASSWORD '{SECRET}'")
    with pytest.raises(psycopg.Error):
        connection.execute(f"ALTER ROL nobody PASSWORD '{SECRET}'")
    connection.execute("DROP ROLE secretive")
    body = f"SELECT ''{SECRET}'' AS password"
    connection.execute(f"CREATE FUNCTION told() RETURNS text LANGUAGE sql AS '{body}'")
    connection.execute("DROP FUNCTION told()")
    shown = [
        str(connection.execute(f"SELECT * FROM {view}").fetchall())
        for view in ("pg_stat_statements", "gpudb_query_log")
    ]
    assert not any(SECRET in each for each in shown)


def test_no_view_and_no_error_has_a_key(server: Program, connection: psycopg.Connection[DictRow]) -> None:
    told = []
    with psycopg.connect(server.dsn, autocommit=True) as client:
        for text in (
            f"SELECT 'postgresql://ann:{SECRET}@host/db' AS address",
            f"CREATE SERVER lake2 FOREIGN DATA WRAPPER lake_fdw OPTIONS (secret_access_key '{SECRET}')",
            f"CREATE TABLE copied (x int); COPY copied FROM 's3://KEY:{SECRET}@bucket/file.csv'",
            f"SELECT * FROM 's3://KEY:a/{SECRET}@bucket/file.parquet'",
            f"SELECT 'postgresql://ann:{SECRET}@host/db'::int",
            f"DO $$ BEGIN RAISE 'no way to %', 'https://host/x?sig={SECRET}'; END $$",
        ):
            try:
                client.execute(text)
            except psycopg.Error as error:
                told.append(f"{error.diag.message_primary} {error.diag.message_detail} {error.diag.message_hint}")
            activity = "SELECT query FROM pg_stat_activity WHERE pid = %s"
            told.append(str(connection.execute(activity, (client.info.backend_pid,)).fetchall()))
    told += [
        str(connection.execute(f"SELECT * FROM {view}").fetchall())
        for view in ("pg_stat_statements", "gpudb_query_log")
    ]
    assert "postgresql://ann:…@host/db" in told[0]
    assert not [each for each in told if SECRET in each]


def test_the_query_log_has_successes_and_failures(connection: psycopg.Connection[DictRow]) -> None:
    connection.execute("SELECT count(*) AS logged FROM generate_series(1, 100000)")
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT 1/0 AS logged")
    rows = connection.execute(
        "SELECT * FROM gpudb_query_log WHERE query LIKE '%AS logged%' AND query NOT LIKE '%query_log%' ORDER BY id"
    ).fetchall()
    assert [(row["sqlstate"], row["engine"], row["rows"]) for row in rows] == [("00000", "cpu", 1), ("22012", "cpu", 0)]
    first = rows[0]
    parts = sum(first[f"{phase}_ms"] for phase in ("parse", "bind", "plan", "execute", "encode"))
    assert math.isclose(parts, first["duration_ms"], rel_tol=1e-6)
    assert first["execute_ms"] > 0
    assert first["bind_ms"] > 0
    assert first["bytes"] > 0
    assert first["pid"] == connection.info.backend_pid
    identity = "SELECT queryid FROM pg_stat_statements WHERE query LIKE 'SELECT count(*) AS logged%'"
    assert connection.execute(identity).fetchone() == {"queryid": first["queryid"]}


def test_the_query_log_outlives_a_crash_and_is_bounded(tmp_path: Path) -> None:
    environment = {**ALL, "GPUDB_QUERY_LOG_ROWS": "50"}
    with Program(tmp_path / "data", *OPTIONS, environment=environment) as server:
        connection = psycopg.connect(server.dsn, autocommit=True)
        with connection:
            for number in range(100):
                connection.execute(f"SELECT {number} AS kept")
            connection.execute("SELECT count(*) FROM gpudb_query_log")  # what ended before is written
            log = sqlite3.connect(f"file:{tmp_path / 'data' / 'query_log.db'}?mode=ro", uri=True)
            last = "SELECT max(id) FROM log"
            wait_until(lambda: log.execute(last).fetchone()[0] >= 101, "this statement is written, too")
            log.close()
            server.kill()
    assert (tmp_path / "data" / "query_log.db").stat().st_mode & 0o777 == 0o600
    with Program(tmp_path / "data", *OPTIONS, environment=environment) as server:
        connection = psycopg.connect(server.dsn, autocommit=True)
        with connection:
            (number, kept, first) = connection.execute(
                "SELECT count(*), count(*) FILTER (WHERE query LIKE '% AS kept'), min(id) FROM gpudb_query_log"
            ).fetchone() or (0, 0, 0)
            assert number == 50
            assert kept == 49
            assert first == 52
        server.end()


def test_without_tracking_nothing_is_recorded(tmp_path: Path) -> None:
    environment = {**ALL, "GPUDB_TRACK_STATEMENTS": "false"}
    with Program(tmp_path / "data", *OPTIONS, environment=environment) as server:
        connection = psycopg.connect(server.dsn, autocommit=True)
        with connection:
            connection.execute("SELECT 1")
            for view in ("pg_stat_statements", "gpudb_query_log"):
                assert connection.execute(f"SELECT count(*) FROM {view}").fetchone() == (0,)
    assert not (tmp_path / "data" / "query_log.db").exists()


def test_transactions_and_changed_rows_are_counted(connection: psycopg.Connection[DictRow]) -> None:
    figures = (
        "SELECT numbackends, xact_commit, xact_rollback, tup_inserted, tup_updated, tup_deleted, sessions, active_time,"
        " stats_reset IS NOT NULL AS known FROM pg_stat_database WHERE datname = 'gpudb'"
    )
    before = connection.execute(figures).fetchone()
    connection.execute("CREATE TABLE changed (a int, b int)")
    connection.execute("INSERT INTO changed SELECT g, g FROM generate_series(1, 10) g")
    connection.execute("UPDATE changed SET b = 0 WHERE a <= 4")
    connection.execute("DELETE FROM changed WHERE a > 8")
    with pytest.raises(psycopg.Error), connection.transaction():
        connection.execute("INSERT INTO changed VALUES (1, 1)")
        connection.execute("SELECT 1/0")
    after = connection.execute(figures).fetchone()
    assert before is not None
    assert after is not None
    growth = {name: after[name] - before[name] for name in after if name not in ("known", "active_time")}
    assert (growth["tup_inserted"], growth["tup_updated"], growth["tup_deleted"]) == (11, 4, 2)
    assert growth["xact_rollback"] == 1
    assert growth["xact_commit"] == 5  # the first of these reads counts as well
    assert after["numbackends"] == 1
    assert after["active_time"] > before["active_time"]
    assert after["known"]
    row = connection.execute(
        "SELECT n_tup_ins, n_tup_upd, n_tup_del, n_live_tup FROM pg_stat_user_tables WHERE relname = 'changed'"
    ).fetchone()
    assert row == {"n_tup_ins": 11, "n_tup_upd": 4, "n_tup_del": 2, "n_live_tup": 8}
    connection.execute("DROP TABLE changed")


def test_counts_of_the_database_its_tables_and_its_files_are_reset(
    connection: psycopg.Connection[DictRow], other: psycopg.Connection[DictRow]
) -> None:
    def read() -> tuple[int, int, int]:
        row = connection.execute(
            "SELECT (SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'reset') AS one,"
            " (SELECT tup_inserted FROM pg_stat_database WHERE datname = 'gpudb') AS whole,"
            " (SELECT writes * op_bytes FROM pg_stat_io WHERE context = 'bulkwrite') AS bytes"
        ).fetchone()
        assert row is not None
        return row["one"], row["whole"], row["bytes"]

    connection.execute("CREATE TABLE reset AS SELECT generate_series(1, 10) AS i")
    connection.execute("INSERT INTO reset VALUES (1)")
    inserted, of_all, written = read()
    assert inserted == 11
    assert of_all >= 11
    assert written > 0
    oid = connection.execute("SELECT 'reset'::regclass::oid AS oid").fetchone()
    assert oid is not None
    connection.execute(sql.SQL("SELECT pg_stat_reset_single_table_counters({}::oid)").format(oid["oid"]))
    assert read() == (0, of_all, written)
    connection.execute("SELECT pg_stat_reset_shared('io')")
    connection.execute("SELECT pg_stat_reset()")
    assert read() == (0, 0, 0)
    moments = connection.execute("SELECT stats_reset FROM pg_stat_database WHERE datname = 'gpudb'").fetchall()
    moments += connection.execute("SELECT stats_reset FROM pg_stat_io").fetchall()
    now = connection.execute("SELECT clock_timestamp() AS now").fetchone()
    assert now is not None
    assert all((now["now"] - each["stats_reset"]).total_seconds() < 60 for each in moments)
    connection.execute("INSERT INTO reset VALUES (1), (2)")
    assert read()[:2] == (2, 2)
    with pytest.raises(psycopg.errors.InvalidParameterValue, match='unrecognized reset target: "nothing"'):
        connection.execute("SELECT pg_stat_reset_shared('nothing')")
    for call in ("pg_stat_reset()", "pg_stat_reset_shared('io')", "pg_stat_reset_single_table_counters(1)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for function pg_stat_reset"):
            other.execute(sql.SQL("SELECT {}").format(sql.SQL(call)))
    connection.execute("DROP TABLE reset")

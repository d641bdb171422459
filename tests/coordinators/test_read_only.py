"""Servers that only read: every write is refused, they follow a server that writes, and never take its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.coordinators import Connection, catch_up, connect, read_state, read_value, start_coordinator
from tests.support.postgres_program import PostgresProgram
from tests.support.server_program import Program
from tests.support.sessions import wait_until

WRITES = (
    "INSERT INTO t VALUES (9)",
    "UPDATE t SET n = 9",
    "DELETE FROM t",
    "MERGE INTO t USING (SELECT 1 AS m) s ON n = m WHEN MATCHED THEN DELETE",
    "TRUNCATE t",
    "COPY t FROM STDIN",
    "SELECT nextval('s')",
    "SELECT setval('s', 9)",
    "SELECT n FROM t FOR UPDATE",
    "SELECT gpudb_restore_snapshot('t', 1)",
    "WITH gone AS (DELETE FROM t RETURNING n) SELECT * FROM gone",
    "CREATE TABLE u (n int)",
    "CREATE TABLE u AS SELECT 1 AS n",
    "CREATE TEMP TABLE u (n int)",
    "CREATE VIEW v AS SELECT 1 AS n",
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA other",
    "CREATE ROLE other",
    "ALTER ROLE gpudb SET work_mem = '1MB'",
    "GRANT SELECT ON t TO public",
    "CREATE DATABASE other",
    "CREATE RESOURCE GROUP other",
    "COMMENT ON TABLE t IS 'x'",
    "ANALYZE t",
    "REFRESH MATERIALIZED VIEW m",
    "DO $$ BEGIN INSERT INTO t VALUES (9); END $$",
)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data directory of both servers."""
    return tmp_path_factory.mktemp("read_only") / "data"


@pytest.fixture(scope="module")
def writer(postgres: PostgresProgram, data_dir: Path) -> Iterator[Program]:
    """A server that writes."""
    with start_coordinator(data_dir, postgres.url) as program:
        with connect(program) as connection:
            connection.execute("CREATE TABLE t (n int); INSERT INTO t VALUES (1); CREATE SEQUENCE s")
            connection.execute("CREATE MATERIALIZED VIEW m AS SELECT n FROM t")
        yield program


@pytest.fixture(scope="module")
def standby(postgres: PostgresProgram, writer: Program, data_dir: Path) -> Iterator[Connection]:
    """A session of a server that only reads."""
    with (
        start_coordinator(data_dir, postgres.url, "--read-only") as program,
        connect(program) as connection,
    ):
        yield connection


def test_it_follows(writer: Program, standby: Connection) -> None:
    with connect(writer) as connection:
        connection.execute("INSERT INTO t VALUES (2)")
    catch_up(standby)
    assert standby.execute("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (2,)]
    assert standby.info.parameter_status("in_hot_standby") == "on"
    assert read_value(standby, "SHOW transaction_read_only") == "on"
    assert read_value(standby, "SELECT last_value FROM s") == 1


@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_refused(standby: Connection, write: str) -> None:
    for setting in ("on", "off"):
        standby.execute(f"SET default_transaction_read_only = {setting}".encode())
        assert read_state(standby, write) == "25006"
    standby.execute("RESET default_transaction_read_only")


@pytest.mark.parametrize("write", WRITES[:1] + WRITES[6:7] + WRITES[11:12] + ("ANALYZE t",))
def test_a_transaction_does_not_lift_it(standby: Connection, write: str) -> None:
    standby.execute("BEGIN")
    states = [read_state(standby, each) for each in ("SET TRANSACTION READ WRITE", write, "COMMIT")]
    assert "25006" in states or states[0] is not None
    if standby.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        standby.execute("ROLLBACK")


def test_it_never_leads(postgres: PostgresProgram, writer: Program, standby: Connection) -> None:
    writer.kill()
    with postgres.connect("catalog") as catalog:
        wait_until(
            lambda: (
                read_value(catalog, "SELECT count(*) FROM gpudb.gpudb_coordinators WHERE NOT leads") == 1
                and read_value(catalog, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") == 0
            ),
            "the writer is gone",
        )
        beat = read_value(catalog, "SELECT max(heartbeat) FROM gpudb.gpudb_coordinators")
        query = "SELECT max(heartbeat) FROM gpudb.gpudb_coordinators WHERE NOT leads"
        wait_until(lambda: read_value(catalog, query) > beat, "it beats again")
        assert read_value(catalog, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted") == 0
    assert read_value(standby, "SELECT max(n) FROM t") == 2


def test_a_directory_of_its_own(tmp_path: Path) -> None:
    """A server alone that only reads; one without a database is refused."""
    with Program(tmp_path / "data") as program, connect(program) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n")
        program.end()
    with Program(tmp_path / "data", "--read-only") as program, connect(program) as connection:
        assert read_value(connection, "SELECT n FROM t") == 1
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("DELETE FROM t")
        program.end()
    with pytest.raises(RuntimeError, match="holds no database"):
        Program(tmp_path / "missing", "--read-only")

"""gpudb_query_log of statements on workers: engine, plan, and what they fell back for."""

from __future__ import annotations

from pathlib import Path

import psycopg

from tests.support.server_program import Program


def test_plan_and_engine_of_statements_on_workers(tmp_path: Path) -> None:
    options = ("--engine", "twin", "--workers", "1")
    with (
        Program(tmp_path / "data", *options, environment={"GPUDB_QUERY_LOG_MIN_DURATION": "0"}) as program,
        psycopg.connect(program.dsn, autocommit=True) as connection,
    ):
        connection.execute("CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 100) AS i")
        for statement in ("SELECT sum(a) FROM t", "SELECT sum(a) FROM t", "SELECT max(a) FROM t", "SELECT 1"):
            connection.execute(statement)
        rows = connection.execute(
            "SELECT query, engine, spilled_bytes, plan_hash FROM gpudb_query_log"
            " WHERE query LIKE 'SELECT sum%' OR query LIKE 'SELECT max%' OR query = 'SELECT 1' ORDER BY id"
        ).fetchall()
    assert [row[0] for row in rows] == ["SELECT sum(a) FROM t"] * 2 + ["SELECT max(a) FROM t", "SELECT 1"]
    assert [row[1] for row in rows[:3]] == ["twin"] * 3
    assert [row[2] for row in rows] == [0] * 4
    first, second, other, none = (row[3] for row in rows)
    assert first == second != other
    assert len(first) == 16
    assert none is None

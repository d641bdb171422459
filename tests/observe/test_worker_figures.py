"""gpudb_query_log of statements on workers: engine, plan, and what they fell back for."""

from __future__ import annotations

import time
from pathlib import Path

import psycopg

from gpudb.engine.protocol import Measures
from gpudb.observe.batches import make_batch
from gpudb.observe.statement import FinishedTuple
from gpudb.observe.totals import StatementTotals
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


def test_what_workers_spill_is_added_up() -> None:
    totals = StatementTotals()
    for spilled in (5 << 20, 0, 3 << 20):
        measures = Measures(engine="twin", stages=(), spilled=spilled)
        record: FinishedTuple = ("SELECT k", "gpudb", "00000", 5, 1, time.monotonic(), 0.01, 0.0, 10, 80, measures)
        totals.consume(make_batch([record]))
    assert totals.spilled == 8 << 20

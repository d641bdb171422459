"""Statements that a client repeats: each is counted, whoever drains meanwhile."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement import RepeatedStatement
from gpudb.observe.statement_statistics import StatementStatistics
from gpudb.observe.totals import StatementTotals
from tests.support.http_client import scrape
from tests.support.server_program import Program

CLIENTS, RUNS = 3, 400


def test_none_is_lost_between_sessions_and_the_recorder() -> None:
    totals, statistics = StatementTotals(), StatementStatistics()
    recorder = StatementRecorder(totals, statistics)

    def add(count: int) -> None:
        repeated: RepeatedStatement | None = None
        for _ in range(count):
            if repeated is None or repeated.below < 0:
                repeated = RepeatedStatement("SELECT 1", "gpudb", 5, 1, 1.0)
                recorder.record(repeated)
            repeated.append((time.monotonic(), 0.25, 0.125, 1, 11))

    threads = [threading.Thread(target=add, args=(20_000,)) for _ in range(CLIENTS)]
    for each in threads:
        each.start()
    while any(each.is_alive() for each in threads):
        recorder.drain()
    recorder.drain()
    assert sum(totals.statements.values()) == totals.rows == 20_000 * CLIENTS
    assert totals.bytes == 11 * totals.rows
    assert totals.phases["encode"] == totals.phases["execute"] == 0.125 * totals.rows
    (entry,) = statistics.list_entries()
    assert (entry.execution.count, entry.execution.mean, entry.execution.deviation) == (totals.rows, 250.0, 0.0)


def test_repeated_statements_of_clients(tmp_path: Path) -> None:
    with Program(tmp_path / "data", "--engine", "cpu", "--http-port", "0") as server:
        clients = [psycopg.connect(server.dsn, autocommit=True) for _ in range(CLIENTS)]
        clients[0].execute("SELECT pg_stat_statements_reset()")
        for number in range(RUNS):
            for client in clients:
                client.execute("SELECT 1")
            if number % 100 == 0:
                clients[1].execute("SELECT 1 + 1")
        row = clients[2].execute("SELECT calls, rows FROM pg_stat_statements WHERE query = 'SELECT $1'").fetchone()
        assert row == (CLIENTS * RUNS, CLIENTS * RUNS)
        samples = scrape(server)
        counted = sum(value for (name, _), value in samples.items() if name == "gpudb_statements_total")
        assert counted == CLIENTS * RUNS + RUNS // 100 + 2
        for client in clients:
            client.close()


def test_a_failure_between_repetitions_is_a_failure(tmp_path: Path) -> None:
    with Program(tmp_path / "data", "--engine", "cpu", "--http-port", "0") as server:
        with psycopg.connect(server.dsn, autocommit=True) as client:
            for _ in range(5):
                client.execute("SELECT 1")
            client.execute("BEGIN")
            with pytest.raises(psycopg.errors.DivisionByZero):
                client.execute("SELECT 1 / 0")
            for _ in range(3):
                with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                    client.execute("SELECT 1")
            client.execute("ROLLBACK")
            client.execute("SELECT 1")
        samples = scrape(server)
        failed = {
            dict(labels)["sqlstate_class"]: value
            for (name, labels), value in samples.items()
            if name == "gpudb_statements_total" and dict(labels)["sqlstate_class"] != "00"
        }
        assert failed == {"22": 1, "25": 3}

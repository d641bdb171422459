"""Readiness and metrics of a server with workers, on the engine twin."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from gpudb.server.http.readiness import Readiness
from tests.support.http_client import get, read, scrape, wait_for
from tests.support.server_program import Program


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder: Path = tmp_path_factory.mktemp("workers")
    options = ("--http-port", "0", "--engine", "twin", "--workers", "2")
    with Program(folder / "data", *options) as program:
        wait_for(lambda: get(f"{program.http}/readyz")[0] == 200)
        yield program
        program.end()


def test_workers_and_fallbacks_are_measured(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT g AS a, g % 10 AS b FROM generate_series(1, 10000) g")
        before = scrape(server)
        connection.execute("SELECT b, sum(a) FROM t GROUP BY b")
        connection.execute("SELECT count(*) FROM t WHERE a + random() > 5")
        pattern = "kangaroo"
        connection.execute(f"SELECT to_char(date '2026-01-01' + a, 'YYYY \"{pattern}\"') FROM t LIMIT 1")
    after = scrape(server)
    assert read(after, "gpudb_workers_ready") == read(after, "gpudb_workers_expected") == 2
    assert (read(after, "gpudb_scheduler_connected"), read(after, "gpudb_scheduler_workers")) == (1, 2)
    for number in ("0", "1"):
        assert read(after, "gpudb_worker_memory_bytes", worker=number) > 1 << 20
    wait_for(lambda: sum(read(scrape(server), "gpudb_worker_resident_bytes", worker=each) for each in "01") > 0)
    statements = "gpudb_statements_total"
    on_workers = {"engine": "twin", "sqlstate_class": "00"}
    assert read(after, statements, **on_workers) > read(before, statements, **on_workers)
    assert read(after, "gpudb_statement_phase_seconds_total", phase="plan") > 0
    assert read(after, "gpudb_fallbacks_total", construct="volatile function") == 1
    assert pattern not in str(after)


def test_a_missing_worker_makes_the_server_unready() -> None:
    """A worker that dies is back within milliseconds here, so its absence is made up."""
    members = SimpleNamespace(count=2, list_heartbeats=lambda: present)
    database: Any = SimpleNamespace(cluster=None, cluster_start=object())
    readiness = Readiness()
    assert readiness.find_obstacle() == "the catalog is not open yet"
    readiness.opened(database)
    readiness.warmed()
    assert readiness.find_obstacle() == "the workers are starting"
    database.cluster = SimpleNamespace(members=members)
    present: list[int] = [0]
    assert readiness.find_obstacle() == "1 of 2 workers are ready"
    present = [0, 1]
    assert readiness.find_obstacle() is None
    readiness.drain()
    assert readiness.find_obstacle() == "the server is shutting down"


def test_a_worker_that_was_killed_is_measured_again(server: Program) -> None:
    asked = "SELECT att_value::int FROM pgstrom_device_info() WHERE att_name = 'PROCESS_ID' AND gpu_id = 1"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        (process,) = connection.execute(asked).fetchone() or (0,)
        os.kill(process, signal.SIGKILL)
        wait_for(lambda: connection.execute(asked).fetchone() not in (None, (process,)))
    wait_for(lambda: read(scrape(server), "gpudb_workers_ready") == 2)
    assert read(scrape(server), "gpudb_worker_memory_bytes", worker="1") > 1 << 20
    assert get(f"{server.http}/readyz")[0] == 200

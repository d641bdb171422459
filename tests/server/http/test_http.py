"""Health, readiness and metrics over HTTP, beside clients of a real server."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from gpudb.observe.metrics import METRICS
from tests.support.http_client import get, read, scrape, wait_for
from tests.support.server_program import Program

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
SECRET = "kangaroo"
ELSEWHERE = re.compile(r"gpudb_(worker|gpu|fallback|scheduler)")
"""Metrics of workers, GPUs and fallbacks, which a server of the CPU engine has none of."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with Program(tmp_path_factory.mktemp("http") / "data", "--http-port", "0", "--engine", "cpu") as program:
        yield program


def test_readiness_follows_the_start(server: Program) -> None:
    assert get(f"{server.http}/healthz")[0] == 200
    seen: list[tuple[int, str]] = []

    def is_ready() -> bool:
        status, _, body = get(f"{server.http}/readyz")
        seen.append((status, body.strip()))
        return status == 200

    wait_for(is_ready)
    assert set(seen) <= {(503, "the system catalog is being loaded"), (200, "ready")}
    assert get(f"{server.http}/nothing")[0] == 404


def test_statements_are_counted(server: Program) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT g AS a FROM generate_series(1, 1000) g")
        before = scrape(server)
        for _ in range(3):
            connection.execute("SELECT 1")
        connection.execute("SELECT 1; SELECT 2; SELECT 3")
        assert connection.execute("SELECT a FROM t WHERE a > %s", (5,)).rowcount == 995
        connection.execute("INSERT INTO t SELECT 1 FROM generate_series(1, 7)")
        for sql in ("SELECT 1/0", f"SELECT '{SECRET}'::int", f"SELECT {SECRET}"):
            with pytest.raises(psycopg.Error):
                connection.execute(sql)
        with pytest.raises(psycopg.Error), connection.transaction():
            connection.execute("SELECT 1/0")
        after = scrape(server)

    def growth(name: str, **labels: str) -> float:
        return read(after, name, **labels) - read(before, name, **labels)

    statements = "gpudb_statements_total"
    assert growth(statements, engine="none", sqlstate_class="00") == 2  # BEGIN and ROLLBACK
    assert growth(statements, engine="cpu", sqlstate_class="00") == 6 + 2
    assert sum(growth(statements, engine=each, sqlstate_class="22") for each in ("cpu", "none")) == 3
    assert sum(growth(statements, engine=each, sqlstate_class="42") for each in ("cpu", "none")) == 1
    assert growth("gpudb_statement_rows_total") == 6 + 995 + 7
    assert growth("gpudb_statement_result_bytes_total") > 995 * 3
    assert growth("gpudb_statement_duration_seconds_count", engine="cpu") >= 2
    assert growth("gpudb_statement_duration_seconds_sum", engine="cpu") > 0
    assert growth("gpudb_statement_phase_seconds_total", phase="execute") > 0
    assert growth("gpudb_statement_phase_seconds_total", phase="encode") > 0
    assert growth("gpudb_transactions_total", outcome="rollback") >= 1
    assert growth("gpudb_transactions_total", outcome="commit") >= 6
    assert growth("gpudb_sent_bytes_total") > growth("gpudb_statement_result_bytes_total")
    assert growth("gpudb_received_bytes_total") > 100
    assert growth("gpudb_written_rows_total") == 7
    assert read(after, "gpudb_connections", state="idle") == 1
    assert SECRET not in str(after)


def test_the_registry_is_the_list_of_metrics(server: Program) -> None:
    described = {each.name: each for each in METRICS}
    with psycopg.connect(server.dsn) as connection:
        connection.execute("SELECT 1")
    status, kind, body = get(f"{server.http}/metrics", OPENMETRICS)
    assert status == 200
    assert kind.startswith("application/openmetrics-text")
    families = {each.name: each for each in parse_openmetrics(body) if not each.name.startswith("process_")}
    for name, family in families.items():
        known = described[name if name in described else f"{name}_total"]
        assert (family.type, family.documentation) == (known.kind, known.meaning)
        assert all(set(sample.labels) - {"le"} == set(known.labels) for sample in family.samples)
    names = families.keys() | {f"{name}_total" for name in families}
    assert [name for name in described if name not in names and not ELSEWHERE.match(name)] == []


def test_names_follow_the_conventions() -> None:
    units = ("_seconds", "_bytes", "_ratio", "_info")
    for each in METRICS:
        assert each.name.startswith("gpudb_")
        assert each.name.endswith("_total") == (each.kind == "counter")
        assert each.kind != "histogram" or each.name.endswith(units)
        assert not re.search(r"_(ms|milliseconds|kb|mb|percent)(_|$)", each.name)


def test_a_scrape_with_many_connections_is_short(server: Program) -> None:
    clients = [psycopg.connect(server.dsn, autocommit=True) for _ in range(100)]
    try:
        assert read(scrape(server), "gpudb_connections", state="idle") >= 100
        times = []
        for _ in range(10):
            started = time.perf_counter()
            get(f"{server.http}/metrics")
            times.append(time.perf_counter() - started)
        print(f"a scrape took {1000 * min(times):.1f} ms")
        assert min(times) < 0.1
    finally:
        for client in clients:
            client.close()


def test_a_port_in_use_is_an_error(server: Program, tmp_path: Path) -> None:
    port = server.http.rpartition(":")[2]
    command = [sys.executable, "-m", "gpudb.cli", "serve", "--port", "0", "--http-port", port]
    ended = subprocess.run(
        [*command, "--data-dir", str(tmp_path / "data")], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port} for HTTP: Address already in use" in ended.stderr


def test_a_server_that_drains_is_not_ready(tmp_path: Path) -> None:
    options = ("--http-port", "0", "--engine", "cpu", "--shutdown-timeout", "30")
    with Program(tmp_path / "data", *options) as server, psycopg.connect(server.dsn) as connection:
        wait_for(lambda: get(f"{server.http}/readyz")[0] == 200)
        connection.execute("SELECT 1")
        os.kill(server.process.pid, signal.SIGTERM)
        wait_for(lambda: get(f"{server.http}/readyz")[0] == 503)
        assert get(f"{server.http}/readyz")[2] == "the server is shutting down\n"
        assert get(f"{server.http}/healthz")[0] == 200
        assert read(scrape(server), "gpudb_ready") == 0
        assert connection.execute("SELECT 2").fetchone() == (2,)
        ending = threading.Thread(target=connection.commit)
        ending.start()
        assert server.process.wait(60) == 0
        ending.join()
        server.end()

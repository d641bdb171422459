"""The server on a GPU: answers, EXPLAIN, errors, new rows, and a lost worker, as a client sees them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.lab import ON_GPUS

pytestmark = ON_GPUS


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with GPU workers."""
    from gpudb.cli.program import Program

    folder = tmp_path_factory.mktemp("gpu")
    program = Program(folder / "data", folder / "log", engine="gpu")
    try:
        yield program.url
    finally:
        program.stop()


@pytest.fixture(scope="module")
def client(dsn: str) -> Iterator[Any]:
    """A session with a table of 200,000 rows."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, (i % 100) / 4.0::numeric(10,2) AS price,"
            " 'n' || i % 3 AS name FROM generate_series(1, 200000) i"
        )
        connection.execute("CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, 5) i")
        connection.execute("SET gpudb.fallback = off")
        yield connection


def test_joins_groups_and_sorts(client: Any) -> None:
    rows = client.execute(
        "SELECT label, count(*), sum(price), avg(price), min(name) FROM orders JOIN kinds USING (k)"
        " GROUP BY label ORDER BY 2 DESC, 1 LIMIT 2"
    ).fetchall()
    assert [(row[0], row[1], row[4]) for row in rows] == [("kind 1", 28572, "n0"), ("kind 2", 28572, "n0")]


def test_explain_names_the_gpu(client: Any) -> None:
    lines = [line for (line,) in client.execute("EXPLAIN ANALYZE SELECT avg(price) FROM orders WHERE k = 3").fetchall()]
    text = "\n".join(lines)
    assert "GpuScan" in text or "GpuFused" in text
    assert "Worker 0: rows=" in text


def test_new_rows_are_seen(client: Any) -> None:
    client.execute("INSERT INTO kinds VALUES (6, 'kind 6')")
    assert client.execute("SELECT count(*) FROM orders JOIN kinds USING (k)").fetchone() == (200000,)
    client.execute("DELETE FROM kinds WHERE k = 6")
    assert client.execute("SELECT count(*) FROM kinds").fetchone() == (6,)


def test_errors_have_their_state(client: Any) -> None:
    import psycopg

    with pytest.raises(psycopg.errors.DivisionByZero):
        client.execute("SELECT 1 / (k - k) FROM orders")


def test_a_lost_worker_comes_back(client: Any) -> None:
    before = _workers(client)
    assert before
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    ends = time.monotonic() + 120
    while len(_workers(client) - before) < len(before):
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert _answered(client, ends) == (200000, 20000100000)


def _workers(client: Any) -> set[int]:
    """Returns the processes of the ready workers."""
    asked = "SELECT att_value::int FROM pgstrom_device_info() WHERE att_name = 'PROCESS_ID'"
    return {pid for (pid,) in client.execute(asked).fetchall()}


def _answered(client: Any, ends: float) -> Any:
    import psycopg

    while True:
        try:
            return client.execute("SELECT count(*), sum(id) FROM orders").fetchone()
        except (psycopg.errors.AdminShutdown, psycopg.errors.SystemError):  # a worker was lost, or is restarting
            assert time.monotonic() < ends
            time.sleep(0.2)

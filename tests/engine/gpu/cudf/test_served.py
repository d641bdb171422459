"""The server on a GPU: answers, EXPLAIN, errors, new rows, and a worker lost, as a client sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server on the GPU."""
    from gpudb.cli.program import Program

    folder = tmp_path_factory.mktemp("gpu")
    program = Program(folder / "data", folder / "log", engine="gpu")
    try:
        yield program.url
    finally:
        program.stop()


@pytest.fixture(scope="module")
def client(dsn: str) -> Iterator[Any]:
    """A session, with a table of 200,000 rows."""
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
    listed = subprocess.run(
        ["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True, check=True
    )
    own = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _is_worker(path)}
    for pid in {int(line) for line in listed.stdout.split() if line.isdigit()} & own or own:
        os.kill(pid, signal.SIGKILL)
    assert _answers_again(client)


def _is_worker(process: Path) -> bool:
    try:
        return (
            b"multiprocessing" in (process / "cmdline").read_bytes()
            and b"spawn_main" in (process / "cmdline").read_bytes()
        )
    except OSError:
        return False


def _answers_again(client: Any) -> bool:
    import psycopg

    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        try:
            return bool(client.execute("SELECT count(*), sum(id) FROM orders").fetchone() == (200000, 20000100000))
        except psycopg.errors.SystemError:  # 58000: the worker was lost, or starts again
            time.sleep(0.2)
    return False

"""The complete demonstration with few rides."""

from __future__ import annotations

import os
import re
import signal
import socket
from pathlib import Path

import psycopg
import pytest

from gpudb.cli import demo
from gpudb.demo import statements, taxi
from gpudb.errors import GpudbError
from tests.support.command_line import run_command
from tests.support.sessions import wait_until


def test_it_loads_queries_and_leaves_nothing(tmp_path: Path) -> None:
    done = run_command("demo", "--rows", "50000", env={**os.environ, "TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"loaded 50,000 rides \(.* of CSV\) in .*: [\d,]+ rides/s", done.stdout)
    for title, text in statements.read_queries():
        assert title in done.stdout
        assert text.splitlines()[0] in done.stdout
    assert "psql -h 127.0.0.1 -p" in done.stdout
    assert list(tmp_path.iterdir()) == []
    port = re.search(r"127\.0\.0\.1:(\d+)", done.stdout)
    assert port is not None
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"host=127.0.0.1 port={port[1]} user=gpudb dbname=gpudb connect_timeout=5")


def test_keep_leaves_the_server_and_its_rides(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        asked = probe.getsockname()[1]
    arguments = ("demo", "--rows", "20000", "--data-dir", tmp_path / "data", "--keep", "--port", str(asked))
    done = run_command(*arguments, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    stop = re.search(r"kill (\d+)", done.stdout)
    port = re.search(r"-p (\d+) ", done.stdout)
    assert stop is not None
    assert port is not None
    assert int(port[1]) == asked
    dsn = f"host=127.0.0.1 port={port[1]} user=gpudb dbname=gpudb connect_timeout=60"
    try:
        with psycopg.connect(dsn) as connection:
            found = connection.execute("SELECT count(*), sum(trip_id), sum(total_amount) FROM trips").fetchone()
    finally:
        os.kill(int(stop[1]), signal.SIGTERM)
    table = [batch.to_pydict() for batch in taxi.generate_rides(20_000, 1)]
    ids = sum(sum(batch["trip_id"]) for batch in table)
    total = sum(value for batch in table for value in batch["total_amount"] if value is not None)
    assert found == (20_000, ids, total)

    def refuses() -> bool:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            return True
        return False

    wait_until(refuses, "the server ends")


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    with pytest.raises(GpudbError) as caught:
        demo.run(10, None, keep=False, seed=1)
    assert "pip install" in (caught.value.hint or "")


def test_the_table_has_the_makers_columns() -> None:
    names = re.findall(r"^    (\w+) ", statements.read_create_table(), re.MULTILINE)
    assert names == taxi.SCHEMA.names
    assert len(statements.read_queries()) == 4

"""The server program on workers: when it ends, by a signal that it heeds or by one that it cannot, no process is left."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.differential import program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.timeout(300)
def test_no_process_is_left(tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "START_TIMEOUT_S", 180.0)  # it starts workers
    before = {each.pid for each in psutil.Process().children()}
    host, port, stop = program.start_server(tmp_path / "data", "--engine", "twin", "--workers", "2")
    left: list[psutil.Process] = []
    try:
        (server,) = (each for each in psutil.Process().children() if each.pid not in before)
        with psycopg.connect(f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=20") as connection:
            connection.execute("CREATE TABLE t AS SELECT i FROM generate_series(1, 1000) i")
            assert connection.execute("SELECT count(*), sum(i) FROM t").fetchall() == [(1000, 500500)]
            left = server.children(recursive=True)
        assert len(left) >= 2
        server.send_signal(number)
        ends = time.monotonic() + 30
        while any(each.is_running() for each in left) and time.monotonic() < ends:
            time.sleep(0.1)
        assert [each.cmdline() for each in left if each.is_running()] == []
    finally:
        stop()
        for each in left:
            if each.is_running():
                each.kill()

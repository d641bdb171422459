"""Shutdown of a server with workers: after SIGTERM or SIGKILL no process remains."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.support.server_program import Program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.timeout(300)
def test_no_process_is_left(tmp_path: Path, number: signal.Signals) -> None:
    program = Program(tmp_path / "data", "--engine", "twin", "--workers", "2")
    left: list[psutil.Process] = []
    try:
        server = psutil.Process(program.process.pid)
        with psycopg.connect(program.dsn) as connection:
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
        program.end()
        for each in left:
            if each.is_running():
                each.kill()

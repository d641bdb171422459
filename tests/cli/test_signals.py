"""Signals of the server program that the system hands to another thread than the main one."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.server_program import Program
from tests.support.sessions import wait_until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Program]:
    (tmp_path / "passwords").mkdir()
    with Program(
        tmp_path / "data", "--engine", "cpu", environment={"GPUDB_ROLE_PASSWORDS": str(tmp_path / "passwords")}
    ) as program:
        yield program


def send_to_another_thread(process_id: int, number: signal.Signals) -> None:
    """Sends a signal to a thread of a process that takes it and is not its main one."""

    def takes(task: Path) -> bool:
        blocked = next(line for line in (task / "status").read_text().splitlines() if line.startswith("SigBlk:"))
        return not int(blocked.split()[1], 16) >> (number - 1) & 1

    tasks = [task for task in Path(f"/proc/{process_id}/task").iterdir() if int(task.name) != process_id]
    other = int(next(task for task in tasks if takes(task)).name)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.tgkill(process_id, other, int(number)) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def test_the_main_thread_is_woken(server: Program, tmp_path: Path) -> None:
    (tmp_path / "passwords" / "ann").write_text("secret")
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        send_to_another_thread(server.process.pid, signal.SIGHUP)
        wait_until(lambda: connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ann'").rowcount, "the role")
    send_to_another_thread(server.process.pid, signal.SIGTERM)
    assert server.process.wait(30) == 0
    assert server.process.stdout is not None
    server.process.stdout.close()

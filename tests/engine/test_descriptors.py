"""Descriptors that another process is handed: by their key, as long as they are offered."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.engine.descriptors import DescriptorServer, receive_descriptor
from tests.support.sessions import wait_until

READ = """import os, sys
from gpudb.engine.descriptors import receive_descriptor
print(os.pread(receive_descriptor(sys.argv[1], sys.argv[2]), 5, 0).decode())"""


@pytest.fixture
def server() -> Iterator[DescriptorServer]:
    server = DescriptorServer()
    yield server
    server.close()


def _make(data: bytes) -> int:
    made = os.memfd_create("rows")
    os.write(made, data)
    return made


def test_another_process_reads_it(server: DescriptorServer) -> None:
    path, key = server.offer(_make(b"hello"))
    found = subprocess.run([sys.executable, "-c", READ, path, key], capture_output=True, check=True, text=True)
    assert found.stdout == "hello\n"
    folder = Path(path).parent.stat()
    assert (folder.st_mode & 0o777, folder.st_uid) == (0o700, os.getuid())


def test_each_key_has_its_own_until_it_is_withdrawn(server: DescriptorServer) -> None:
    (path, one), (_, two) = server.offer(_make(b"one")), server.offer(_make(b"two"))
    held = receive_descriptor(path, one)
    server.withdraw(one)
    server.withdraw(one)
    with pytest.raises(OSError, match="not there any more"):
        receive_descriptor(path, one)
    with pytest.raises(OSError, match="not there any more"):
        receive_descriptor(path, "00" * 32)
    other = receive_descriptor(path, two)
    assert (os.pread(held, 3, 0), os.pread(other, 3, 0)) == (b"one", b"two")
    os.close(held)
    os.close(other)


def test_one_that_asks_for_nothing_keeps_no_other_waiting(
    server: DescriptorServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpudb.engine.descriptors._SECONDS", 120.0)
    path, key = server.offer(_make(b"hello"))
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(path)
        os.close(receive_descriptor(path, key))
        silent.close()


def test_nothing_is_left_after_its_end() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    stale = Path(tempfile.gettempdir()) / f"gpudb-descriptors-{ended.pid}-x"
    stale.mkdir()
    server = DescriptorServer()
    path, _ = server.offer(_make(b"hello"))
    assert not stale.exists()
    server.close()
    server.close()
    assert not Path(path).parent.exists()
    with pytest.raises(OSError):
        receive_descriptor(path, "00" * 32)
    wait_until(lambda: set(Path("/proc/self/fd").iterdir()) <= before, "the descriptors are closed")

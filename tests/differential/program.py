"""Starts gpudb's server program as a user would, and stops it."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

START_TIMEOUT_S = 240.0
STOP_TIMEOUT_S = 20.0

Stopper = Callable[[], None]

_LISTENING = re.compile(rb"listening on (\S+):(\d+)")


def start_server(data_dir: Path, *options: str) -> tuple[str, int, Stopper]:
    """Runs `gpudb serve` on a free port over `data_dir`; gives host, port and a function that ends it.

    Raises RuntimeError with the program's own output when it ends, or says nothing within four minutes.
    """
    log = data_dir.parent / f"{data_dir.name}.log"
    command = [sys.executable, "-m", "gpudb.cli", "serve", "--host", "127.0.0.1", "--port", "0"]
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [*command, "--data-dir", str(data_dir), *options],
            stdout=subprocess.PIPE,
            stderr=errors,
            stdin=subprocess.DEVNULL,
        )
    try:
        host, port = _read_address(process, log)
    except BaseException:
        _stop(process)
        raise
    return host, port, lambda: _stop(process)


@contextmanager
def running_server(data_dir: Path, *options: str) -> Iterator[str]:
    """Runs `gpudb serve` over `data_dir`; gives a connection string for user and database gpudb."""
    host, port, stop = start_server(data_dir, *options)
    try:
        yield f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=10 client_encoding=UTF8"
    finally:
        stop()


def _read_address(process: subprocess.Popen[bytes], log: Path) -> tuple[str, int]:
    assert process.stdout is not None
    descriptor = process.stdout.fileno()
    deadline = time.monotonic() + START_TIMEOUT_S
    seen = b""
    while (left := deadline - time.monotonic()) > 0:
        if not select.select([descriptor], [], [], left)[0]:
            continue
        piece = os.read(descriptor, 4096)
        if not piece:
            break
        seen += piece
        # a line that is whole: the port's last digits may still be on their way
        if (found := _LISTENING.search(seen)) and b"\n" in seen[found.end() :]:
            return found[1].decode(), int(found[2])
    output = seen.decode(errors="replace") + log.read_text(errors="replace")
    raise RuntimeError(f"gpudb serve did not start listening (exit status {process.poll()}):\n{output[-4000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_TIMEOUT_S)
    if process.stdout is not None:
        process.stdout.close()

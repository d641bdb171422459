"""The server program as something to kill: started on a data directory, its clients' connection string known."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

START_S = 200.0
END_S = 60.0

_LISTENING = re.compile(rb"listening on (\S+):(\d+)\n")


class Program:
    """`gpudb serve` over a data directory, until `kill` (SIGKILL) or `stop` (SIGTERM). A context manager that kills.

    `dsn` is for user and database gpudb; what the program wrote to stderr lies in `log`.
    """

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.log = data_dir.parent / f"{data_dir.name}.log"
        command = [sys.executable, "-m", "gpudb.cli", "serve", "--port", "0", "--data-dir", str(data_dir), *options]
        with self.log.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
        try:
            host, port = self._address()
        except BaseException:
            self.kill()
            raise
        self.dsn = f"host={host} port={port} user=gpudb dbname=gpudb connect_timeout=10 client_encoding=UTF8"

    def _address(self) -> tuple[str, int]:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        deadline = time.monotonic() + START_S
        seen = b""
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], left)[0]:
                continue
            piece = os.read(descriptor, 4096)
            seen += piece
            if (found := _LISTENING.search(seen)) is not None:
                return found[1].decode(), int(found[2])
            if not piece:
                break
        raise RuntimeError(f"the server did not start: {seen!r} {self.said()[-4000:]}")

    def said(self) -> str:
        """What the program wrote to stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """kill -9, at once."""
        self.process.kill()
        self._wait()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        return self._wait()

    def _wait(self) -> int:
        try:
            return self.process.wait(END_S)
        finally:
            if self.process.stdout is not None:
                self.process.stdout.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.kill()

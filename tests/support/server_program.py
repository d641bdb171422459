"""gpudb's server program on a free port of loopback, started and stopped."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tests.support.forked.process import ForkedProgram

START_S = 240.0
STOP_S = 20.0
END_S = 60.0

_LISTENING = re.compile(rb"listening on (\S+):(\d+)\n")
_HTTP = re.compile(rb"http on (\S+:\d+)\n")


class Program:
    """`gpudb serve` over a data directory, until `kill`, `stop` or `end`. A context manager that kills.

    `dsn` is for user and database gpudb, `http` the URL of health and metrics, if options name a port for it. The
    program's stderr goes to the file `log`. `environment` adds variables; what Python reads of them at its start needs
    a program that is `executed`, not forked.
    Raises RuntimeError with the program's output if it ends, or does not listen within START_S.
    """

    def __init__(
        self, data_dir: Path, *options: str, environment: Mapping[str, str] | None = None, executed: bool = False
    ) -> None:
        self.log = data_dir.parent / f"{data_dir.name}.log"
        command = ["serve", "--host", "127.0.0.1", "--port", "0", "--data-dir", str(data_dir), *options]
        variables = {**os.environ, **(environment or {})}
        self.process: ForkedProgram | subprocess.Popen[bytes]
        with self.log.open("ab") as errors:
            if executed:
                command = [sys.executable, "-m", "gpudb.cli", *command]
                self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=variables)
            else:
                self.process = ForkedProgram("gpudb.cli", *command, stderr=errors, env=variables)
        try:
            self.host, self.port = self._address()
        except BaseException:
            self.kill()
            raise
        self.dsn = f"host={self.host} port={self.port} user=gpudb dbname=gpudb connect_timeout=60 client_encoding=UTF8"

    def _address(self) -> tuple[str, int]:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        deadline = time.monotonic() + START_S
        seen, self.http = b"", ""
        while (remaining := deadline - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], remaining)[0]:
                continue
            piece = os.read(descriptor, 4096)
            seen += piece
            if (http := _HTTP.search(seen)) is not None:
                self.http = f"http://{http[1].decode()}"
            # The pattern ends with the line: the last digits of the port may arrive later.
            if (found := _LISTENING.search(seen)) is not None:
                return found[1].decode(), int(found[2])
            if not piece:
                break
        output = seen.decode(errors="replace") + self.read_log()
        raise RuntimeError(
            f"gpudb serve did not start listening (exit status {self.process.poll()}):\n{output[-4000:]}"
        )

    def read_log(self) -> str:
        """Returns the program's stderr."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """Sends SIGKILL and waits."""
        self.process.kill()
        self._wait(END_S)

    def stop(self) -> int:
        """Sends SIGTERM and returns the exit status."""
        self.process.terminate()
        return self._wait(END_S)

    def end(self) -> None:
        """Sends SIGTERM, and SIGKILL if the program still runs after STOP_S."""
        self.process.terminate()
        try:
            self._wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def _wait(self, seconds: float) -> int:
        try:
            return self.process.wait(seconds)
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


def start_server(data_dir: Path, *options: str) -> tuple[str, int, Callable[[], None]]:
    """Starts `gpudb serve` over `data_dir`; returns its host, its port and a function that ends it."""
    program = Program(data_dir, *options)
    return program.host, program.port, program.end


@contextmanager
def running_server(data_dir: Path, *options: str) -> Iterator[str]:
    """Runs `gpudb serve` over `data_dir`; yields a connection string for user and database gpudb."""
    program = Program(data_dir, *options)
    try:
        yield program.dsn
    finally:
        program.end()

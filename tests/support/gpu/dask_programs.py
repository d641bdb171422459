"""A Dask scheduler and its workers, each in its own process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpudb.certificates import locate_member

START_S = 200


class Scheduler:
    """A Dask scheduler and workers, each in its own process; with TLS if a folder has their `certificates`."""

    def __init__(self, folder: Path, certificates: Path | None = None) -> None:
        self.programs: list[subprocess.Popen[bytes]] = []
        self._folder, self._certificates = folder, certificates
        log = self._started("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        found = wait_for_output(log, rb"Scheduler at:\s+(t(?:cp|ls)://\S+)")
        self.address = found.decode()

    def worker(self, name: str, *options: str, **environment: str) -> None:
        """Starts a worker with additional environment variables."""
        command = ("worker", self.address, "--name", name, "--nthreads", "1", "--no-dashboard", *options)
        self._started(*command, **environment)

    def _started(self, *command: str, **environment: str) -> Path:
        log = self._folder / f"{len(self.programs)}.log"
        if self._certificates is not None:
            files = locate_member(self._certificates, command[0])
            tls = ("--tls-ca-file", files.authority, "--tls-cert", files.certificate, "--tls-key", files.key)
            command = (*command, *map(str, tls))
        options = {"cwd": self._folder, "stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        options["env"] = {**os.environ, **environment}
        with log.open("wb") as out:
            program: Any = subprocess.Popen([sys.executable, "-m", "dask", *command], stdout=out, **options)
        self.programs.append(program)
        return log

    def close(self) -> None:
        """Ends all of them."""
        for program in reversed(self.programs):
            program.terminate()
        for program in reversed(self.programs):
            try:
                program.wait(60)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait(60)


def wait_for_output(log: Path, pattern: bytes) -> bytes:
    """Returns the first group of `pattern` once the log has it; raises AssertionError after START_S."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        found = re.search(pattern, log.read_bytes())
        if found is not None:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text())

"""A Dask scheduler and its workers, each in its own process."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpudb.certificates import CertificateFiles, locate_member
from gpudb.config.database import EMBEDDED, DatabaseSettings
from tests.support.forked.process import ForkedProgram

START_S = 200


def joining(address: str, certificates: CertificateFiles | None = None, **options: Any) -> DatabaseSettings:
    """The settings of a database of the twin engine, whose workers are a scheduler's."""
    settings = replace(EMBEDDED, engine="twin", scheduler=address, **options)
    if certificates is None:
        return settings
    ca, certificate, key = certificates.authority, certificates.certificate, certificates.key
    return replace(settings, cluster_tls_ca=ca, cluster_tls_cert=certificate, cluster_tls_key=key)


class Scheduler:
    """A Dask scheduler and workers, each in its own process; with TLS if a folder has their `certificates`."""

    def __init__(self, folder: Path, certificates: Path | None = None) -> None:
        self.programs: list[ForkedProgram] = []
        self._numbers = itertools.count()
        self._folder, self.certificates = folder, certificates
        self.address = self._start_scheduler("0")

    def _start_scheduler(self, port: str) -> str:
        log = self._started("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
        return wait_for_output(log, rb"Scheduler at:\s+(t(?:cp|ls)://\S+)").decode()

    def kill_scheduler(self) -> None:
        """Sends SIGKILL to the scheduler; returns once its workers have ended too, as they do by themselves."""
        self.programs[0].kill()
        for program in self.programs:
            program.wait(START_S)

    def start_again(self) -> None:
        """Starts another scheduler at the address of the one that was killed, without workers."""
        self.programs.clear()
        self._start_scheduler(self.address.rpartition(":")[2])

    def worker(self, name: str, *options: str, **environment: str) -> None:
        """Starts a worker with additional environment variables."""
        command = ("worker", self.address, "--name", name, "--nthreads", "1", "--no-dashboard", *options)
        self._started(*command, **environment)

    def _started(self, *command: str, **environment: str) -> Path:
        log = self._folder / f"{next(self._numbers)}.log"
        if self.certificates is not None:
            files = locate_member(self.certificates, command[0])
            tls = ("--tls-ca-file", files.authority, "--tls-cert", files.certificate, "--tls-key", files.key)
            command = (*command, *map(str, tls))
        with log.open("wb") as out:
            program = ForkedProgram(
                "dask", *command, stdout=out, stderr=out, env={**os.environ, **environment}, folder=self._folder
            )
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


def are_workers_left(client: Any, count: int) -> bool:
    """Returns whether `count` workers answer, and none has a plugin of gpudb: those of a server that left restart."""
    try:
        plugins = client.run(lambda dask_worker: list(dask_worker.plugins))
    except OSError:  # one ends at this moment
        return False
    return len(plugins) == count and not any("gpudb" in each for each in plugins.values())


def wait_for_output(log: Path, pattern: bytes) -> bytes:
    """Returns the first group of `pattern` once the log has it; raises AssertionError after START_S."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        found = re.search(pattern, log.read_bytes())
        if found is not None:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(log.read_text())

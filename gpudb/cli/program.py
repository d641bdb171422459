"""The server program as a child process: started on a free port, stopped in order."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from gpudb.errors import GpudbError

START_S = 120.0
STOP_S = 20.0

_HTTP = re.compile(rb"http on (\S+:\d+)\n")
_LISTENING = re.compile(rb"listening on (\S+):(\d+)\n")


class Program:
    """A `gpudb serve` process, which outlives this one unless `stop` is called."""

    def __init__(
        self,
        data_dir: Path,
        log: Path,
        port: int = 0,
        engine: str = "auto",
        environment: Mapping[str, str] = MappingProxyType({}),
        *,
        http: bool = False,
    ) -> None:
        """Starts it, with an `environment` added to this process's, and waits for its port; 08001 with its output if it
        ends or does not listen within START_S. With `http` it also serves HTTP, on a free port.
        """
        command = [sys.executable, "-m", "gpudb.cli", "serve", "--host", "127.0.0.1", "--port", str(port)]
        command += ["--engine", engine, *(["--http-port", "0"] if http else [])]
        self._http = b""
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [*command, "--data-dir", str(data_dir)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **environment},
                start_new_session=True,  # Ctrl-C is for this process, which stops the server in order
            )
        try:
            self.port = self._wait_for_port(log)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Its process ID."""
        return self._process.pid

    @property
    def url(self) -> str:
        """Its connection string for drivers."""
        return f"postgresql://gpudb@127.0.0.1:{self.port}/gpudb"

    @property
    def console_url(self) -> str:
        """The address of its console, if it serves HTTP."""
        return f"http://{self._http.decode()}/console/"

    def _wait_for_port(self, log: Path) -> int:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + START_S
        output_bytes = b""
        while (remaining := deadline - time.monotonic()) > 0:
            if select.select([descriptor], [], [], remaining)[0]:
                piece = os.read(descriptor, 4096)
                output_bytes += piece
                if (http := _HTTP.search(output_bytes)) is not None:
                    self._http = http[1]
                if (match := _LISTENING.search(output_bytes)) is not None:
                    return int(match[2])
                if not piece:
                    break
        output = log.read_text(errors="replace").strip()[-2000:]
        message = "the server did not start" + (f":\n{output}" if output else "")
        raise GpudbError(message, condition="sqlclient_unable_to_establish_sqlconnection")

    def stop(self) -> None:
        """Stops it: in order, by force after STOP_S."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)
        if self._process.stdout is not None:
            self._process.stdout.close()

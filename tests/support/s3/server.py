"""Starts moto's S3 server on a free port of loopback, in an environment that uv builds from the lock beside this file."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request, urlopen

START_S = 60.0
_LOCK = Path(__file__).with_name("requirements.lock")


@dataclass(frozen=True, slots=True)
class S3Server:
    """A running server; `environment` has the variables by which clients find it."""

    endpoint: str
    environment: Mapping[str, str]

    def create_bucket(self, name: str) -> None:
        """Creates a bucket."""
        with urlopen(Request(f"{self.endpoint}/{name}", method="PUT"), timeout=20):
            pass


@contextmanager
def running_s3_server(folder: Path) -> Iterator[S3Server]:
    """Runs the server; its environment is built in `folder`."""
    uv = Path(sys.executable).with_name("uv")
    environment = folder / "moto"
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, environment],
        [uv, "pip", "install", "--quiet", "--python", environment / "bin" / "python", "-r", _LOCK],
    ):
        subprocess.run(list(map(str, command)), check=True, timeout=240)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [environment / "bin" / "moto_server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _wait(endpoint, process)
        variables = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "tests", "AWS_SECRET_ACCESS_KEY": "tests"}
        yield S3Server(endpoint, variables)
    finally:
        process.terminate()
        process.wait(20)


def _wait(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            with urlopen(endpoint, timeout=5):
                return
        except (URLError, OSError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)

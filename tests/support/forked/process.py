"""A program in a process of its own, with what tests use of subprocess.Popen."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

_ROOT = Path(__file__).parents[3]
_COMMANDS = (
    "gpudb.cli.backup", "gpudb.cli.load", "gpudb.cli.maintenance", "gpudb.cli.role_passwords", "gpudb.cli.serve",
    "gpudb.cli.sql", "gpudb.duckdb.*", "gpudb.functions.*", "gpudb.server.http.server", "gpudb.server.wire.*",
    "gpudb.session.*", "gpudb.storage.*", "gpudb.api.embedded", "pyiceberg.catalog.sql", "typer.rich_utils",
)  # fmt: skip
_CLUSTERS = (*_COMMANDS, "distributed.nanny", "distributed.http", "gpudb.plan.dask.dask_sql_planner:warm_up")
"""What servers import, and call, before their first statement; Polars is not among it: its threads survive no fork."""
_ANSWER = 32
END_S = 60.0


class _Parent:
    """The process that this process's programs are forked from."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gpudb-forked-")
        self.path = str(Path(self._folder.name) / "socket")
        self._owner = os.getpid()
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).with_name("parent.py")), self.path, *modules]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=_ROOT
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            raise RuntimeError(f"the process to fork from has ended: {self._process.wait(END_S)}")
        atexit.register(self.end)

    def fork(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> tuple[int, socket.socket]:
        """Returns the process id of a child with these streams, and what tells its exit status."""
        with contextlib.ExitStack() as failed:
            asks = failed.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            asks.connect(self.path)
            socket.send_fds(asks, [json.dumps(request).encode()], descriptors)
            pid = int(asks.recv(_ANSWER))
            failed.pop_all()
        return pid, asks

    def end(self) -> None:
        """Ends it; its children run on."""
        if os.getpid() == self._owner:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(END_S)
            self._folder.cleanup()


_PARENTS: dict[Sequence[str], _Parent] = {}
_LOCK = threading.Lock()


def _parent(modules: Sequence[str]) -> _Parent:
    with _LOCK:
        if modules not in _PARENTS:
            _PARENTS[modules] = _Parent(modules)
        return _PARENTS[modules]


def shell_variables(folder: Path) -> dict[str, str]:
    """Returns variables with which a shell finds this Python's commands; `gpudb`, put into a folder, is forked."""
    command = folder / "gpudb"
    program = [sys.executable, "-S", "-E", str(Path(__file__).with_name("command.py")), "gpudb.cli"]
    command.write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"FORKED_FROM": _parent(_COMMANDS).path, "PATH": path}


class ForkedProgram:
    """`python -m MODULE ARGUMENTS…`, as subprocess.Popen would run it, text streams included.

    `stdout` and `stderr` are subprocess.PIPE or open files; stdin is empty. Variables that a
    library reads when it is imported are those of this process.
    """

    def __init__(
        self,
        module: str,
        *arguments: str | Path,
        stdin: IO[Any] | None = None,
        stdout: int | IO[Any] = subprocess.PIPE,
        stderr: int | IO[Any] = subprocess.PIPE,
        text: bool = False,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.args = [module, *map(str, arguments)]
        self.returncode: int | None = None
        self._collecting = threading.Lock()
        self.stdout: Any = None
        self.stderr: Any = None
        request = {
            "module": module,
            "arguments": self.args[1:],
            "environment": dict(os.environ if env is None else env),
            "folder": str(folder or Path.cwd()),
        }
        modules = _CLUSTERS if {"dask", "--engine", "--scheduler"} & {*self.args} else _COMMANDS
        with contextlib.ExitStack() as given:
            streams = [(stdin or given.enter_context(Path(os.devnull).open("rb"))).fileno()]
            for name, stream in (("stdout", stdout), ("stderr", stderr)):
                if stream == subprocess.PIPE:
                    reads, writes = os.pipe()
                    given.callback(os.close, writes)
                    setattr(self, name, os.fdopen(reads, "r", encoding="utf-8") if text else io.FileIO(reads))
                    streams.append(writes)
                else:
                    assert not isinstance(stream, int)
                    streams.append(stream.fileno())
            self.pid, self._status = _parent(modules).fork(request, streams)

    def poll(self) -> int | None:
        """Returns the exit status, None while it runs."""
        return self._collect(0)

    def wait(self, timeout: float | None = None) -> int:
        """Returns the exit status; raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self._collect(timeout) is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        assert self.returncode is not None
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Returns what is left of stdout and stderr, when it has ended."""
        told: dict[str, Any] = {"stdout": None, "stderr": None}

        def read(name: str, stream: IO[Any]) -> None:
            told[name] = stream.read()

        streams = {name: stream for name in told if (stream := getattr(self, name)) is not None and not stream.closed}
        threads = [threading.Thread(target=read, args=each, daemon=True) for each in streams.items()]
        deadline = None if timeout is None else time.monotonic() + timeout
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                assert timeout is not None
                raise subprocess.TimeoutExpired(self.args, timeout)
        self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        for stream in streams.values():
            stream.close()
        return told["stdout"], told["stderr"]

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Sends SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _collect(self, timeout: float | None) -> int | None:
        while self.returncode is None:
            try:
                ready = select.select([self._status], [], [], timeout)[0]
            except (OSError, ValueError):  # another thread has just collected it
                continue
            if not ready:
                break
            with self._collecting:
                if self.returncode is None:
                    status = self._status.recv(_ANSWER)
                    self.returncode = int(status)
                    self._status.close()
        return self.returncode

    def __enter__(self) -> ForkedProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self.wait(END_S)


def run(
    module: str, *arguments: str | Path, stdin: str = "", timeout: float = 100, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end; input and output are text. Raises subprocess.TimeoutExpired, and kills it then."""
    with tempfile.TemporaryFile() as given:
        given.write(stdin.encode())
        given.seek(0)
        program = ForkedProgram(module, *arguments, stdin=given, text=True, env=env)
    try:
        out, err = program.communicate(timeout)
    except subprocess.TimeoutExpired:
        program.kill()
        program.communicate(END_S)
        raise
    assert program.returncode is not None
    return subprocess.CompletedProcess(program.args, program.returncode, out, err)

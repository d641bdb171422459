"""Processes that evaluate functions of `regex_matching` which take long, and are killed when their statement ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from gpudb.duckdb import running
from gpudb.errors import QueryCanceled, SqlError

LIMIT_S = 30.0
"""How long a call may take whose statement is not known."""
_ASK_S = 0.05
"""How often it is asked whether the statement is cancelled."""
_MOST = max(2, os.cpu_count() or 1)
_HEADER = struct.Struct("<Q")


class _Process:
    """A matcher. One call at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", "from gpudb.functions import matcher_process; matcher_process.serve()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def call(self, request: bytes, statement: int) -> tuple[bool, Any]:
        """Returns whether the call succeeded, and its result or error."""
        self._stdin.write(_HEADER.pack(len(request)) + request)
        self._stdin.flush()
        deadline = None if running.is_running(statement) else time.monotonic() + LIMIT_S
        while not select.select([self._stdout], [], [], _ASK_S)[0]:
            if running.is_stopped(statement):
                raise QueryCanceled("canceling statement due to user request")
            if deadline is not None and time.monotonic() > deadline:
                raise SqlError.of("program_limit_exceeded", f"a pattern took more than {LIMIT_S:g} seconds to match")
        header = self._stdout.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise SqlError.of("out_of_memory", "the process that matches a pattern has ended")
        answer: tuple[bool, Any] = pickle.loads(self._stdout.read(*_HEADER.unpack(header)))
        return answer

    def kill(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        self._stdin.close()
        self._stdout.close()


class _Processes:
    """At most so many matchers as processors; idle ones wait for the next call."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(_MOST)
        atexit.register(self._end)

    @contextlib.contextmanager
    def take(self, statement: int) -> Iterator[_Process]:
        """Lends a process, which is killed after an error; waits while all are lent."""
        while not self._room.acquire(timeout=_ASK_S):
            if running.is_stopped(statement):
                raise QueryCanceled("canceling statement due to user request")
        try:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            process = process or _Process()
            try:
                yield process
            except BaseException:
                process.kill()
                raise
            with self._lock:
                self._idle.append(process)
        finally:
            self._room.release()

    def _end(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.kill()


_processes = _Processes()


def call(name: str, arguments: Sequence[Any], statement: int) -> Any:
    """Calls a function of `regex_matching` in a matcher and returns its result, or raises its error.

    57014 if the statement is cancelled, 54000 for one that is not known after LIMIT_S, 53200 if the process has ended.
    """
    request = pickle.dumps((name, arguments))
    with _processes.take(statement) as process:
        succeeded, result = process.call(request, statement)
    if not succeeded:
        raise result
    return result


def _begin_in_child() -> None:
    """A child process has none of its parent's."""
    global _processes
    _processes = _Processes()


os.register_at_fork(after_in_child=_begin_in_child)

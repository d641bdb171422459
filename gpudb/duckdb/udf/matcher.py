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
_ASK_MS = 50
"""How often it is asked whether the statement is cancelled."""
_MOST = max(2, os.cpu_count() or 1)
_HEADER = struct.Struct("<Q")


class _Wanted:
    """Whether anybody waits for a call: its statement runs on, or, if that is not known, LIMIT_S are not over."""

    def __init__(self, statement: int) -> None:
        self._statement, self._cancel = statement, running.find(statement)
        self._ends = time.monotonic() + LIMIT_S

    def check(self) -> None:
        """Raises 57014 or 54000 if nobody does."""
        if self._cancel is None:
            if time.monotonic() > self._ends:
                raise SqlError.of("program_limit_exceeded", f"a pattern took more than {LIMIT_S:g} seconds to match")
        elif not running.is_wanted(self._statement, self._cancel):
            raise QueryCanceled("canceling statement due to user request")


class _Process:
    """A matcher. One call at a time."""

    def __init__(self) -> None:
        command = [sys.executable, "-P", "-c", "from gpudb.functions import matcher_process; matcher_process.serve()"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def call(self, request: bytes, wanted: _Wanted) -> tuple[bool, Any]:
        """Returns whether the call succeeded, and its result or error."""
        try:
            self._stdin.write(_HEADER.pack(len(request)) + request)
            self._stdin.flush()
        except BrokenPipeError:
            raise _ended() from None
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        while not poll.poll(_ASK_MS):
            wanted.check()
        header = self._stdout.read(_HEADER.size)
        if len(header) < _HEADER.size:
            raise _ended()
        answer: tuple[bool, Any] = pickle.loads(self._stdout.read(*_HEADER.unpack(header)))
        return answer

    @property
    def has_ended(self) -> bool:
        """Whether it was ended by somebody else."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._stdin, self._stdout):
            with contextlib.suppress(OSError):  # of a request that was not written
                stream.close()


def _ended() -> SqlError:
    return SqlError.of("out_of_memory", "the process that matches a pattern has ended")


class _Processes:
    """At most so many matchers as processors; idle ones wait for the next call."""

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._lock = threading.Lock()
        self._room = threading.Semaphore(_MOST)
        atexit.register(self._end)

    @contextlib.contextmanager
    def take(self, wanted: _Wanted) -> Iterator[_Process]:
        """Lends a process, which is killed after an error; waits while all are lent."""
        while not self._room.acquire(timeout=_ASK_MS / 1000):
            wanted.check()
        try:
            with self._lock:
                process = self._idle.pop() if self._idle else None
            if process is not None and process.has_ended:
                process.kill()
                process = None
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
    request, wanted = pickle.dumps((name, arguments)), _Wanted(statement)
    with _processes.take(wanted) as process:
        succeeded, result = process.call(request, wanted)
    if not succeeded:
        raise result
    return result


def _begin_in_child() -> None:
    """A child process has none of its parent's."""
    global _processes
    _processes = _Processes()


os.register_at_fork(after_in_child=_begin_in_child)

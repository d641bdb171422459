"""A child process as its parent sees it: it takes one call at a time, and is killed when nobody waits for the call."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.processes.serving import read_message, write_message

POLL_MS = 50
"""How often it is asked, while a call runs, whether anybody waits for it."""
_CHUNK = 1 << 20
_FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP})

Wanted = Callable[[], None]
"""Raises an error if nobody waits for a call any more."""
Answer = Callable[[Any], Any]
"""Answers a question that a child asks amid a call."""


class ChildProcess:
    """A process that serves the functions of a module (`serving.main`)."""

    def __init__(self, module: str, *, memory_bytes: int = 0, environment: Mapping[str, str] | None = None) -> None:
        """`memory_bytes` limits its data (0: no limit); `environment` is all of its variables (None: the parent's)."""
        code = f"from gpudb.processes.serving import main; main({module!r}, {memory_bytes})"
        command = [sys.executable, "-P", "-c", code]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True, env=environment
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._depth, self._is_killed = 0, False

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended, by whatever."""
        return self._process.poll() is not None

    def call(self, name: str, arguments: Sequence[Any], wanted: Wanted, answer: Answer | None = None) -> Any:
        """Calls a function of the module, and returns its result or raises its error.

        The process is killed if `wanted` raises, if an answer is cancelled, and where it cannot be talked with any
        more: 53200, the usual cause, or 58000 after a crash. Other errors of answers are the function's.
        """
        stream = _Stream(self._in, self._out, wanted)
        self._depth += 1
        try:
            write_message(stream, "call", (name, tuple(arguments)))
            kind, content = self._read(stream)
            while kind == "ask":
                reply, value = _reply(content, answer)
                if self._is_killed:  # by a call within the answer
                    raise value if reply == "error" else ended()
                write_message(stream, reply, value)
                kind, content = self._read(stream)
        except BaseException:
            self.kill()
            raise
        finally:
            self._depth -= 1
            self._close_if_killed()
        if kind == "error":
            raise content
        return content

    def _read(self, stream: _Stream) -> tuple[str, Any]:
        message = read_message(stream)
        if message is None:
            raise self._ended()
        return message

    def _ended(self) -> SqlError:
        """Returns the error for a child that has ended by itself: 58000 for one that a fault of its code ended."""
        number = -self._process.wait()
        if number not in _FAULTS:
            return ended()
        detail = f"It was ended by signal {number}: {signal.strsignal(number)}."
        return SqlError.of("system_error", "a process of this statement has crashed", detail=detail)

    def kill(self) -> None:
        """Ends it, with the processes that it has started; idempotent."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._is_killed = True
        self._close_if_killed()

    def _close_if_killed(self) -> None:
        """Closes the pipes, unless a call still reads or writes them: others would get their numbers."""
        if self._is_killed and not self._depth:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()


class _Stream:
    """The pipes of a child, for one call: reading and writing raise what `wanted` raises."""

    def __init__(self, to_child: int, from_child: int, wanted: Wanted) -> None:
        self._to, self._from, self._wanted = to_child, from_child, wanted
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(to_child, select.POLLOUT)
        self._readable.register(from_child, select.POLLIN)

    def write(self, data: bytes | memoryview) -> None:
        """Writes all of it; 53200 if the child has ended."""
        left = memoryview(data)
        while left:
            self._wait(self._writable)
            try:
                left = left[os.write(self._to, left[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise ended() from None

    def read(self, size: int) -> bytearray:
        """Reads so many bytes; fewer at the end of the stream."""
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            self._wait(self._readable)
            count = os.readv(self._from, [view[done : done + _CHUNK]])
            if not count:
                break
            done += count
        view.release()
        del data[done:]
        return data

    def flush(self) -> None:
        """Does nothing: nothing is held back."""

    def _wait(self, poll: select.poll) -> None:
        while not poll.poll(POLL_MS):
            self._wanted()


def _reply(question: Any, answer: Answer | None) -> tuple[str, Any]:
    assert answer is not None
    try:
        return "answer", answer(question)
    except QueryCanceled:
        raise
    except GpudbError as error:
        return "error", error


def ended() -> SqlError:
    """Returns the error for a process that has ended by itself."""
    hint = "It may have run out of memory."
    return SqlError.of("out_of_memory", "a process of this statement has ended", hint=hint)

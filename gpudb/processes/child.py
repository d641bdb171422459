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
from gpudb.processes.serving import SHARED_LEAST, read_message, write_message
from gpudb.processes.shared_memory import Bytes, Place, SharedMemory, fill, get_buffer

POLL_MS = 50
"""How often it is asked, while a call runs, whether anybody waits for it."""
_CHUNK = 1 << 20
_FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP})

Wanted = Callable[[], None]
"""Raises an error if nobody waits for a call any more."""
Answer = Callable[[Any], Any]
"""Answers a question that a child asks amid a call."""


class ProcessUnavailable(SqlError):
    """53200: a process cannot be started, or has ended by itself, by no signal, before it answered anything."""

    condition = "out_of_memory"


class ChildProcess:
    """A process that serves the functions of a module (`serving.main`)."""

    def __init__(
        self,
        module: str,
        *,
        memory_bytes: int = 0,
        environment: Mapping[str, str] | None = None,
        shared: SharedMemory | None = None,
    ) -> None:
        """`memory_bytes` limits its data (0: no limit); `environment` is all of its variables (None: the parent's).

        Large buffers of its calls lie in the memory that is `shared` with it. Raises ProcessUnavailable.
        """
        given = None if shared is None else (shared.descriptor, shared.size)
        code = f"from gpudb.processes.serving import main; main({module!r}, {memory_bytes}, {given})"
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                env=environment,
                pass_fds=() if shared is None else (shared.descriptor,),
            )
        except OSError as error:
            raise ProcessUnavailable(f"a process of this statement could not be started: {error.strerror}") from error
        self._shared = shared
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        self._depth, self._is_killed, self._has_answered = 0, False, False

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
        more: 53200, the usual cause (ProcessUnavailable before its first answer), or 58000 after a crash. Other errors
        of answers are the function's.
        """
        stream = _Stream(self._in, self._out, wanted, self._ended)
        buffers = _CallBuffers(self._shared)
        self._depth += 1
        try:
            write_message(stream, "call", (name, tuple(arguments)), buffers.share)
            kind, content = self._read(stream, buffers)
            while kind in {"ask", "room"}:
                reply: str = "answer"
                value: Any = None
                if kind == "ask":
                    reply, value = _reply(content, answer)
                else:
                    value = buffers.give(content)
                if self._is_killed:  # by a call within the answer
                    raise value if reply == "error" else ended()
                write_message(stream, reply, value)
                kind, content = self._read(stream, buffers)
        except BaseException:
            self.kill()
            raise
        finally:
            self._depth -= 1
            self._close_if_killed()
            buffers.release()
        if kind == "error":
            raise content
        return content

    def _read(self, stream: _Stream, buffers: _CallBuffers) -> tuple[str, Any]:
        message = read_message(stream, buffers.find)
        if message is None:
            raise self._ended()
        self._has_answered = True
        return message

    def _ended(self) -> SqlError:
        """Returns the error for a child that has ended by itself: 58000 for one that a fault of its code ended."""
        number = -self._process.wait()
        if number <= 0 and not self._has_answered:
            return ended(ProcessUnavailable)
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


class _CallBuffers:
    """The buffers of one call in the memory that is shared with the child: of its arguments, questions and result."""

    def __init__(self, memory: SharedMemory | None) -> None:
        self._memory = memory
        self._arguments: list[Bytes] = []
        self._given: tuple[int, Bytes] | None = None

    def share(self, parts: list[memoryview]) -> list[Place | None]:
        """Returns where buffers of arguments lie; large ones that lie elsewhere are copied, if there is room."""
        return [self._share(part) for part in parts]

    def _share(self, part: memoryview) -> Place | None:
        if self._memory is None or (found := self._memory.find(part)) is not None:
            return None if self._memory is None else found
        region = self._memory.allocate(part.nbytes) if part.nbytes >= SHARED_LEAST else None
        if region is None:
            return None
        start, held = region
        self._arguments.append(held)
        return fill(held, start, [part])[0]

    def give(self, size: int) -> int | None:
        """Returns the start of a region for what the child writes next, for which it has asked for so many bytes."""
        self._given = None if self._memory is None else self._memory.allocate(size)
        return None if self._given is None else self._given[0]

    def find(self, place: Place) -> Any:
        """Returns a buffer of what the child has written."""
        assert self._given is not None
        start, held = self._given
        return get_buffer(held, start, place)

    def release(self) -> None:
        """Lets go of what the call had, whatever still refers to the call."""
        self._arguments, self._given = [], None


class _Stream:
    """The pipes of a child, for one call: reading and writing raise what `wanted` raises."""

    def __init__(self, to_child: int, from_child: int, wanted: Wanted, find_error: Callable[[], SqlError]) -> None:
        self._to, self._from, self._wanted, self._find_error = to_child, from_child, wanted, find_error
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(to_child, select.POLLOUT)
        self._readable.register(from_child, select.POLLIN)

    def write(self, data: bytes | memoryview) -> None:
        """Writes all of it; raises what `find_error` finds if the child has ended."""
        left = memoryview(data)
        while left:
            self._wait(self._writable)
            try:
                left = left[os.write(self._to, left[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._find_error() from None

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


def ended(kind: type[SqlError] = SqlError) -> SqlError:
    """Returns the error, of a class, for a process that has ended by itself."""
    hint = "It may have run out of memory."
    return kind("a process of this statement has ended", condition="out_of_memory", hint=hint)

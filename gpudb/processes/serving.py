"""What a child process runs: calls that it reads from stdin, answered on stdout, both by pickle.

A message is a length and a pickled pair. The parent sends ("call", (name, arguments)); the child answers
("result", value) or ("error", GpudbError), and before that ("ask", question) as often as it has questions, each of
which the parent answers by ("answer", value) or ("error", GpudbError). Amid a question it may call again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from gpudb.errors import GpudbError, SqlError

HEADER = struct.Struct("<Q")
_ASK_S = 1.0
"""How often it is asked, amid a call too, whether the parent has ended."""


class Stream(Protocol):
    """What messages go through."""

    def read(self, size: int, /) -> bytes | bytearray: ...
    def write(self, data: Any, /) -> Any: ...
    def flush(self) -> None: ...


def write_message(stream: Stream, kind: str, content: Any) -> None:
    """Writes a message. Arrow's buffers are written as they lie, once."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps((kind, content), protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    lengths = pickle.dumps([len(head), *(part.nbytes for part in parts)])
    stream.write(HEADER.pack(len(lengths)) + lengths + head)
    for part in parts:
        stream.write(part)
    stream.flush()


def read_message(stream: Stream) -> tuple[str, Any] | None:
    """Reads a message; None at the end of the stream, amid one too."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    packed = stream.read(*HEADER.unpack(header))
    if not packed:
        return None
    head, *sizes = pickle.loads(packed)
    body = stream.read(head)
    buffers = [stream.read(size) for size in sizes]
    if len(body) < head or any(len(part) < size for part, size in zip(buffers, sizes, strict=True)):
        return None
    message: tuple[str, Any] = pickle.loads(body, buffers=buffers)
    return message


def ask(question: Any) -> Any:
    """Asks the parent amid a call, and returns its answer or raises its error.

    Before it answers, the parent may call functions of the module, within the call that asks.
    """
    write_message(_streams[1], "ask", question)
    while True:
        message = read_message(_streams[0])
        if message is None:
            os._exit(1)
        kind, content = message
        if kind != "call":
            break
        write_message(_streams[1], *_run(getattr(_served, content[0]), content[1]))
    if kind == "error":
        raise content
    return content


_streams: tuple[Stream, Stream]
"""What the child reads, and what it writes."""
_served: Any
"""The module whose functions are called."""


def main(module: str, memory_bytes: int = 0) -> None:
    """Serves the functions of a module until stdin ends, with at most so much memory for data (0: any).

    A function `prepare` of the module is called first, such as to import libraries. What they print goes to stderr. Any
    exception that is no GpudbError reaches the caller as 38000, with its text.
    """
    _end_with_parent()
    if memory_bytes:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    global _streams, _served
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _streams = calls, answers
    _served = import_module(module)
    if prepare := getattr(_served, "prepare", None):
        with contextlib.suppress(Exception):  # the call that needs what is missing tells so
            prepare()
    while (message := read_message(calls)) is not None:
        name, arguments = message[1]
        write_message(answers, *_run(getattr(_served, name), arguments))


def _run(function: Callable[..., Any], arguments: Any) -> tuple[str, Any]:
    try:
        return "result", function(*arguments)
    except GpudbError as error:
        error.__traceback__ = None
        return "error", error
    except MemoryError:
        return "error", SqlError.of("out_of_memory", "out of memory", detail="A process ran into its memory limit.")
    except Exception as error:
        shown = f"{type(error).__name__}: {error}"
        return "error", SqlError.of("external_routine_exception", shown)


def _end_with_parent() -> None:
    parent = os.getppid()

    def check(*_: object) -> None:
        if os.getppid() != parent:
            os._exit(1)

    signal.signal(signal.SIGALRM, check)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.setitimer(signal.ITIMER_REAL, _ASK_S, _ASK_S)

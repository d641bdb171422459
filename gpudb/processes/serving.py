"""What a child process runs: calls that it reads from stdin, answered on stdout, both by pickle.

A message is a length and a pickled pair. The parent sends ("call", (name, arguments)); the child answers
("result", value) or ("error", GpudbError), and before that ("ask", question) as often as it has questions, each of
which the parent answers by ("answer", value) or ("error", GpudbError). Amid a question it may call again.

Large buffers, as Arrow and NumPy have them, lie in memory that both share, if there is any: the message then has their
places. Before a large result or question the child asks ("room", bytes), which is answered by where they may lie, or by
None.
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
from gpudb.processes.shared_memory import MappedMemory, Place, align, fill

HEADER = struct.Struct("<Q")
SHARED_LEAST = 1 << 15
"""Fewer bytes are sent even if memory is shared."""
_ASK_S = 1.0
"""How often it is asked, amid a call too, whether the parent has ended."""


class Stream(Protocol):
    """What messages go through."""

    def read(self, size: int, /) -> bytes | bytearray: ...
    def write(self, data: Any, /) -> Any: ...
    def flush(self) -> None: ...


SharedPlaces = Callable[[list[memoryview]], list[Place | None]]
"""Puts buffers into shared memory; returns where they lie, None for each that is sent."""


def write_message(stream: Stream, kind: str, content: Any, share: SharedPlaces | None = None) -> None:
    """Writes a message. Arrow's buffers are written as they lie, once, or lie in shared memory."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps((kind, content), protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    places: list[Place | None] = [None] * len(parts) if share is None else share(parts)
    sizes = [part.nbytes if place is None else place for part, place in zip(parts, places, strict=True)]
    lengths = pickle.dumps([len(head), *sizes])
    stream.write(HEADER.pack(len(lengths)) + lengths + head)
    for part, place in zip(parts, places, strict=True):
        if place is None:
            stream.write(part)
    stream.flush()


def read_message(stream: Stream, find: Callable[[Place], Any] | None = None) -> tuple[str, Any] | None:
    """Reads a message; None at the end of the stream, amid one too. `find` returns the buffer at a shared place."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    packed = stream.read(*HEADER.unpack(header))
    if not packed:
        return None
    head, *sizes = pickle.loads(packed)
    body = stream.read(head)
    buffers = []
    for size in sizes:
        if isinstance(size, int):
            part = stream.read(size)
            if len(part) < size:
                return None
        else:
            assert find is not None
            part = find(size)
        buffers.append(part)
    if len(body) < head:
        return None
    message: tuple[str, Any] = pickle.loads(body, buffers=buffers)
    return message


def ask(question: Any) -> Any:
    """Asks the parent amid a call, and returns its answer or raises its error.

    Before it answers, the parent may call functions of the module, within the call that asks.
    """
    write_message(_streams[1], "ask", question, None if _memory is None else _share)
    while True:
        message = _read_message()
        if message is None:
            os._exit(1)
        kind, content = message
        if kind != "call":
            break
        _answer(content)
    if kind == "error":
        raise content
    return content


_streams: tuple[Stream, Stream]
"""What the child reads, and what it writes."""
_served: Any
"""The module whose functions are called."""
_memory: MappedMemory | None = None
"""What is shared with the parent."""


def main(module: str, memory_bytes: int = 0, shared: tuple[int, int] | None = None) -> None:
    """Serves the functions of a module until stdin ends, with at most so much memory for data (0: any).

    `shared` are the descriptor and the bytes of the memory that it shares with its parent.

    A function `prepare` of the module is called first, such as to import libraries. What they print goes to stderr. Any
    exception that is no GpudbError reaches the caller as 38000, with its text.
    """
    _end_with_parent()
    if memory_bytes:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    global _streams, _served, _memory
    _memory = None if shared is None else MappedMemory(*shared)
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _streams = calls, answers
    _served = import_module(module)
    if prepare := getattr(_served, "prepare", None):
        with contextlib.suppress(Exception):  # the call that needs what is missing tells so
            prepare()
    while (message := _read_message()) is not None:
        _answer(message[1])


def _read_message() -> tuple[str, Any] | None:
    return read_message(_streams[0], None if _memory is None else _find)


def _find(place: Place) -> Any:
    assert _memory is not None
    return _memory.view(place).data.toreadonly()


def _answer(call: tuple[str, Any]) -> None:
    """Runs a call of the parent, and writes its result or its error."""
    name, arguments = call
    kind, content = _run(getattr(_served, name), arguments)
    write_message(_streams[1], kind, content, None if _memory is None else _share)


def _share(parts: list[memoryview]) -> list[Place | None]:
    """Puts the buffers of a result into a region that the parent gives, if they are large and there is room."""
    assert _memory is not None
    nothing: list[Place | None] = [None] * len(parts)
    size = sum(align(part.nbytes) for part in parts)
    if size < SHARED_LEAST:
        return nothing
    write_message(_streams[1], "room", size)
    reply = _read_message()
    if reply is None:
        os._exit(1)
    start = reply[1]
    return nothing if start is None else [*fill(_memory.view((start, size)), start, parts)]


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

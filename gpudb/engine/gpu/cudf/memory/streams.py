"""The CUDA streams of this process: one per priority, so that short work does not queue behind long work.

A thread queues work on its priority's stream, or without a priority on one of those that read and move rows. Freed
memory becomes available in the order of the stream that it was allocated on, whichever stream reads it. So work is
complete before other threads get its result, and a thread keeps others' data until its own work on them is complete.

The default stream waits for all of these, and they wait for it: work that a library queues there is ordered, too.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import cupy
from cudf_polars.containers import DataFrame
from rmm.pylibrmm.stream import Stream

from gpudb.engine.gpu.backend.base import Priority

_TRANSFER_STREAMS = 4
"""Number of streams that read and move rows."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream as CuPy and as libcudf see it. It lives as long as the process, as memory allocated on it may."""

    cupy: Any
    libcudf: Any


class _Streams(threading.local):
    """The calling thread's stream."""

    mine: _Stream | None = None


_streams = _Streams()
_priority_streams: dict[Priority, _Stream] = {}
_transfer_streams: list[_Stream] = []
_turns = itertools.count()
_making = threading.Lock()


def set_priority(priority: Priority) -> None:
    """Sets the calling thread's priority."""
    with _making:
        if priority not in _priority_streams:
            _priority_streams[priority] = _make_stream(priority)
    _use_stream(_priority_streams[priority])


def current_stream() -> Any:
    """Returns the calling thread's stream for libcudf, and makes it CuPy's current one."""
    mine = _streams.mine
    if mine is None:
        with _making:
            while len(_transfer_streams) < _TRANSFER_STREAMS:
                _transfer_streams.append(_make_stream(0))
        mine = _use_stream(_transfer_streams[next(_turns) % _TRANSFER_STREAMS])
    return mine.libcudf


def synchronize() -> None:
    """Waits for all work of the calling thread: then any thread may read its results, and its inputs may be freed."""
    (_streams.mine.cupy if _streams.mine is not None else cupy.cuda.Stream.null).synchronize()


def synchronize_all() -> None:
    """Waits for all work of all threads: then freed memory can be allocated on any stream."""
    with _making:
        every = [*_priority_streams.values(), *_transfer_streams]
    for each in every:
        each.cupy.synchronize()


def run_synchronized(work: Callable[..., _T], *args: Any) -> _T:
    """Runs a function and waits for its work on the GPU, even if it fails."""
    current_stream()
    try:
        return work(*args)
    finally:
        synchronize()


def on_current_stream(frame: Any) -> Any:
    """Returns a complete frame on this thread's stream: cudf-polars continues on its inputs' streams."""
    return DataFrame(frame.columns, stream=current_stream(), num_rows=frame.num_rows)


def _use_stream(stream: _Stream) -> _Stream:
    if _streams.mine is not stream:
        stream.cupy.use()
        _streams.mine = stream
    return stream


def _make_stream(urgency: int) -> _Stream:
    # To CUDA a lower number is more urgent.
    made = cupy.cuda.Stream(priority=-urgency)
    return _Stream(made, Stream(made))

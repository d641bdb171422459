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

from gpudb.engine.gpu.backend.priority import URGENCY, Priority

_MOVING = 4
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
_lanes: dict[Priority, _Stream] = {}
_moving: list[_Stream] = []
_turns = itertools.count()
_making = threading.Lock()


def enter(lane: Priority) -> None:
    """Sets the calling thread's priority."""
    with _making:
        if lane not in _lanes:
            _lanes[lane] = _made(URGENCY[lane])
    _use(_lanes[lane])


def current() -> Any:
    """Returns the calling thread's stream for libcudf, and makes it CuPy's current one."""
    mine = _streams.mine
    if mine is None:
        with _making:
            while len(_moving) < _MOVING:
                _moving.append(_made(0))
        mine = _use(_moving[next(_turns) % _MOVING])
    return mine.libcudf


def complete() -> None:
    """Waits for all work of the calling thread: then any thread may read its results, and its inputs may be freed."""
    (_streams.mine.cupy if _streams.mine is not None else cupy.cuda.Stream.null).synchronize()


def complete_all() -> None:
    """Waits for all work of all threads: then freed memory can be allocated on any stream."""
    with _making:
        every = [*_lanes.values(), *_moving]
    for each in every:
        each.cupy.synchronize()


def completed(work: Callable[..., _T], *given: Any) -> _T:
    """Runs a function and waits for its work on the GPU, even if it fails."""
    current()
    try:
        return work(*given)
    finally:
        complete()


def taken(frame: Any) -> Any:
    """Returns a complete frame on this thread's stream: cudf-polars continues on its inputs' streams."""
    return DataFrame(frame.columns, stream=current(), num_rows=frame.num_rows)


def _use(stream: _Stream) -> _Stream:
    if _streams.mine is not stream:
        stream.cupy.use()
        _streams.mine = stream
    return stream


def _made(urgency: int) -> _Stream:
    # To CUDA a lower number is more urgent.
    made = cupy.cuda.Stream(priority=-urgency)
    return _Stream(made, Stream(made))

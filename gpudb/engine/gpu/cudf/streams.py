"""The streams of this process's GPU: each lane has one, so that what is short does not queue behind what is long.

What a thread computes goes to its lane's stream, or for a thread of none to one of those that read and move rows.
Memory is free again in the order of the stream that it was taken on, whoever reads it. So what other threads are to
read is complete before they get it, and what a thread reads of others is kept until it is through with it.

The driver's default stream waits for all of these, and they wait for it: what a library does there is in order too.
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
"""So many streams read and move rows."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream, as CuPy and as libcudf know it. It lives as long as the process: memory that was taken on it does."""

    cupy: Any
    libcudf: Any


class _Streams(threading.local):
    """The calling thread's."""

    mine: _Stream | None = None


_streams = _Streams()
_lanes: dict[Priority, _Stream] = {}
_moving: list[_Stream] = []
_turns = itertools.count()
_making = threading.Lock()


def enter(lane: Priority) -> None:
    """From now on the calling thread computes in a lane."""
    with _making:
        if lane not in _lanes:
            _lanes[lane] = _made(URGENCY[lane])
    _use(_lanes[lane])


def current() -> Any:
    """The calling thread's stream, as libcudf takes it; CuPy's current one from now on."""
    mine = _streams.mine
    if mine is None:
        with _making:
            while len(_moving) < _MOVING:
                _moving.append(_made(0))
        mine = _use(_moving[next(_turns) % _MOVING])
    return mine.libcudf


def complete() -> None:
    """Until all that the calling thread has begun is done: any thread may read it then, and let go of what it read."""
    (_streams.mine.cupy if _streams.mine is not None else cupy.cuda.Stream.null).synchronize()


def complete_all() -> None:
    """Until all that any thread has begun is done: memory that was let go of can be taken on any stream then."""
    with _making:
        every = [*_lanes.values(), *_moving]
    for each in every:
        each.cupy.synchronize()


def completed(work: Callable[..., _T], *given: Any) -> _T:
    """What some work gives, complete; nothing goes on if it fails."""
    current()
    try:
        return work(*given)
    finally:
        complete()


def taken(frame: Any) -> Any:
    """A frame that is complete, for what this thread computes of it: cudf-polars goes on in its frames' streams."""
    return DataFrame(frame.columns, stream=current(), num_rows=frame.num_rows)


def _use(stream: _Stream) -> _Stream:
    if _streams.mine is not stream:
        stream.cupy.use()
        _streams.mine = stream
    return stream


def _made(urgency: int) -> _Stream:
    # Less is more urgent to CUDA.
    made = cupy.cuda.Stream(priority=-urgency)
    return _Stream(made, Stream(made))

"""A pipeline's launches over columns that still lie where they lay: made once, with room for what comes of them.

A short statement's kernel takes less than it takes Python to begin it: to find room, gather what each launch is given
and fetch the outcome. So all that is kept, beside page-locked memory for the outcome. It holds addresses alone of the
columns: these may go, and then it does not fit any more.

It runs on the stream of whichever thread asks, and is through when that has its outcome: it waits for no other lane.
The launches are no CUDA graph: it saves nothing of so few, and while there is one, even kernels that were started by
themselves waited for all that another stream had queued, however urgent they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from gpudb.engine.gpu.fused.cuda.result_buffers import Target
from gpudb.engine.gpu.fused.ir.pipeline import Pipeline
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome, Segment

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel's function, its blocks, their threads and bytes of shared memory, and what it is given."""

    function: Any
    grid: int
    block: int
    shared: int
    given: tuple[Any, ...]

    def start(self) -> None:
        """Starts it on the current stream."""
        self.function((self.grid,), (self.block,), self.given, shared_mem=self.shared)


class Replay:
    """Launches of a pipeline over segments, all of whose arguments lie on the device; one thread's at a time.

    `gather` starts writing a target's groups one after the other.
    """

    def __init__(
        self,
        xp: Any,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        launches: Sequence[Launch],
        target: Target,
        gather: Callable[[Target], None],
    ) -> None:
        self._pipeline, self._target = pipeline, target
        self._columns = tuple(ref(column) for segment in segments for column in segment.columns)
        self._rows = tuple(segment.rows for segment in segments)
        self._launches, self._gather = [_by_address(xp, each) for each in launches], gather
        self._into = page_locked(target.fetched)
        # Its room may have been another's until now, on the stream of this thread.
        xp.cuda.get_current_stream().synchronize()

    @property
    def bytes(self) -> int:
        """What its room takes on the device."""
        return self._target.bytes

    def fits(self, pipeline: Pipeline, segments: Sequence[Segment]) -> bool:
        """Whether it is of this pipeline over these columns."""
        columns = [column for segment in segments for column in segment.columns]
        return (
            pipeline is self._pipeline
            and len(columns) == len(self._columns)
            and all(known() is column for known, column in zip(self._columns, columns, strict=True))
            and self._rows == tuple(segment.rows for segment in segments)
        )

    def outcome(self, *, keep: bool) -> Outcome | None:
        """What comes of it now (see `Target.outcome`); the columns must live until it is there."""
        self._target.clear()
        for each in self._launches:
            each.start()
        return self._target.outcome(self._gather, keep=keep, into=self._into)


def page_locked(words: int) -> Array:
    """Words of 64 bits on the host, which the device writes without a copy between."""
    import cupy  # cupyx has this too, but brings SciPy along: an import of 200 ms

    return np.ndarray((words,), np.int64, buffer=cupy.cuda.alloc_pinned_memory(8 * words))


def _by_address(xp: Any, launch: Launch) -> Launch:
    """A launch that holds none of the arrays that it is given."""
    given = tuple(np.uint64(each.data.ptr) if isinstance(each, xp.ndarray) else each for each in launch.given)
    return Launch(launch.function, launch.grid, launch.block, launch.shared, given)

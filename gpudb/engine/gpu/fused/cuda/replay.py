"""Repeats a pipeline's launches over the same columns: arguments and result buffers are prepared once.

A short statement's kernel takes less time than Python takes to launch it: to allocate buffers, collect arguments and
fetch the outcome. So a replay keeps all of these, and page-locked memory for the outcome. It keeps only the columns'
addresses: the columns may be freed, and then the replay does not match any more.

It runs on the calling thread's stream and returns once that thread has the outcome; it waits for no other thread. The
launches are not a CUDA graph: a graph saves nothing for so few launches, and while one existed, even kernels that were
launched individually waited for all work queued on another stream, whatever their priority.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

import numpy as np

from gpudb.engine.gpu.fused.cuda.result_buffers import ResultBuffers
from gpudb.engine.gpu.fused.ir.pipeline import Pipeline
from gpudb.engine.gpu.fused.numpy_backend.executor import Outcome, Segment

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch: a kernel's function, its blocks, threads per block, bytes of shared memory, and arguments."""

    function: Any
    grid: int
    block_threads: int
    shared_bytes: int
    arguments: tuple[Any, ...]

    def start(self) -> None:
        """Starts the kernel on the current stream."""
        self.function((self.grid,), (self.block_threads,), self.arguments, shared_mem=self.shared_bytes)


class Replay:
    """Launches of a pipeline over segments, whose arguments are all on the device; used by one thread at a time.

    `compact` starts the compaction of a target's groups.
    """

    def __init__(
        self,
        xp: Any,
        pipeline: Pipeline,
        segments: Sequence[Segment],
        launches: Sequence[Launch],
        target: ResultBuffers,
        compact: Callable[[ResultBuffers], None],
    ) -> None:
        self._pipeline, self._target = pipeline, target
        self._columns = tuple(ref(column) for segment in segments for column in segment.columns)
        self._rows = tuple(segment.rows for segment in segments)
        self._launches, self._compact = [_without_arrays(xp, each) for each in launches], compact
        self._pinned = allocate_pinned(target.transfer_words)
        # Another computation may have used the buffers until now, on this thread's stream.
        xp.cuda.get_current_stream().synchronize()

    @property
    def bytes(self) -> int:
        """Bytes of its buffers on the device."""
        return self._target.bytes

    def matches(self, pipeline: Pipeline, segments: Sequence[Segment]) -> bool:
        """Whether it belongs to this pipeline over these columns."""
        columns = [column for segment in segments for column in segment.columns]
        return (
            pipeline is self._pipeline
            and len(columns) == len(self._columns)
            and all(known() is column for known, column in zip(self._columns, columns, strict=True))
            and self._rows == tuple(segment.rows for segment in segments)
        )

    def run(self, *, keep: bool) -> Outcome | None:
        """Runs the launches (see `ResultBuffers.fetch`); the columns must live until it returns."""
        self._target.clear()
        for each in self._launches:
            each.start()
        return self._target.fetch(self._compact, keep=keep, into=self._pinned)


def allocate_pinned(words: int) -> Array:
    """Allocates 64-bit words on the host, which the device writes without an intermediate copy."""
    import cupy  # cupyx has this too, but imports SciPy, which takes 200 ms

    return np.ndarray((words,), np.int64, buffer=cupy.cuda.alloc_pinned_memory(8 * words))


def _without_arrays(xp: Any, launch: Launch) -> Launch:
    """Returns a launch that holds addresses instead of arrays."""
    arguments = tuple(np.uint64(each.data.ptr) if isinstance(each, xp.ndarray) else each for each in launch.arguments)
    return Launch(launch.function, launch.grid, launch.block_threads, launch.shared_bytes, arguments)

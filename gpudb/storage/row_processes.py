"""The processes that read and write the rows of loads, so that many loads at once do not wait for one interpreter.

bytes → `copy` splits them → a process reads a block into columns → checks of the rows → a process writes a file

Columns lie in memory that the processes share. Each call has all that it needs, so that a process that ends takes
only the load with it whose call it ran.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from gpudb.processes.child import ProcessUnavailable
from gpudb.processes.limits import count_processors, get_total_memory
from gpudb.processes.pool import ProcessPool

_LOG = logging.getLogger(__name__)
_SERVED = "gpudb.storage.load.served"
PROCESSORS = count_processors()
_TOTAL_MEMORY = get_total_memory()
MOST_BY_DEFAULT = 32
"""So many write faster than disks do."""
_LEAST_MEMORY = 512 << 20
"""By default there are no more processes than this goes into the memory."""
SMALL_BLOCK = 1 << 17
"""Bytes of a block below which it takes less time to read than to hand over."""
LARGE_BLOCK = 64 << 20
"""Bytes of a block, which has a very long row, above which the server reads it itself: its copies would add up."""
_MEMORY_BYTES = min(4 << 30, _TOTAL_MEMORY)
"""The memory limit of each process, many times what the largest block and its columns take."""
_SHARED_BYTES = _TOTAL_MEMORY // 4
"""The most memory that the processes share."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 600.0
"""Seconds after which a process is started again where none could be; each time in a row twice as many."""
_read_clock = time.monotonic
PENDING_BYTES = _SHARED_BYTES // 2
"""Bytes of rows in calls that write files, of all appends, above which an append waits for its oldest call."""


@cache
def get_pool(count: int, *, for_files: bool = False) -> ProcessPool:
    """Returns the pool of all loads, or that of whole files: these calls end after others, for which room is kept."""
    return ProcessPool(_SERVED, most=count, memory_bytes=_MEMORY_BYTES, shared_bytes=_SHARED_BYTES)


class RowProcesses:
    """Processes of all loads of this server, which start as they are needed; without any it does everything itself.

    They read what comes after the first `after` bytes of a load, so that small ones do not wait for their start; once
    they have started, blocks of smaller loads too.
    """

    def __init__(self, count: int | None, after: int) -> None:
        """Starts none yet; None is as many as processors, at most MOST_BY_DEFAULT, and 0 if there is only one.

        In little memory there are fewer (_LEAST_MEMORY).
        """
        if count is None:
            count = min(PROCESSORS, MOST_BY_DEFAULT, _TOTAL_MEMORY // _LEAST_MEMORY)
            count = count if count > 1 else 0
        self._after, self._pool_size = after, count
        self._lock = threading.Lock()
        self._pause_s, self._paused_until = 0.0, 0.0

    @property
    def count(self) -> int:
        """How many processes there may be now: none for a while after one could not be started."""
        return 0 if self._pause_s and _read_clock() < self._paused_until else self._pool_size

    def are_wanted(self, size: int, seen: int) -> bool:
        """Whether they read a block of `size` bytes, with which `seen` bytes of its load have come."""
        if not self.count or size > LARGE_BLOCK:
            return False
        return seen > self._after or (size >= SMALL_BLOCK and get_pool(self._pool_size).is_warm)

    def call(self, name: str, arguments: Sequence[Any], wanted: Callable[[], None]) -> Any:
        """Calls a function of `load.served`; what `wanted` raises ends the process. See `ProcessPool.call`.

        After ProcessUnavailable, for which the caller does it itself, none is wanted for a while.
        """
        return self._call(get_pool(self._pool_size), name, arguments, wanted)

    def read_file(self, file: Any, take: Callable[[tuple[int, memoryview]], None], wanted: Callable[[], None]) -> None:
        """Reads a file as `load.files.read_csv` does; `take` gets the position in the file, and what was read.

        ProcessUnavailable is raised before `take` got anything; see `call`.
        """
        self._call(get_pool(self._pool_size, for_files=True), "read_file", (file,), wanted, take)

    def _call(
        self,
        pool: ProcessPool,
        name: str,
        arguments: Sequence[Any],
        wanted: Callable[[], None],
        answer: Callable[[Any], Any] | None = None,
    ) -> Any:
        try:
            result = pool.call(name, arguments, wanted, answer)
        except ProcessUnavailable as error:
            self._pause(error)
            raise
        if self._pause_s:
            self._go_on()
        return result

    def _pause(self, error: ProcessUnavailable) -> None:
        """Leaves the work to the server for a while, a longer one each time; logs so the first time."""
        with self._lock:
            now = _read_clock()
            if now < self._paused_until:
                return  # a call that had begun before
            is_first = not self._pause_s
            self._pause_s = min(2 * self._pause_s or _FIRST_PAUSE_S, _LONGEST_PAUSE_S)
            self._paused_until = now + self._pause_s
        if is_first:
            _LOG.warning("the server reads and writes the rows of loads itself for a while: %s", error)

    def _go_on(self) -> None:
        with self._lock:
            if not self._pause_s or _read_clock() < self._paused_until:
                return  # a call that had begun before
            self._pause_s = 0.0
        _LOG.warning("processes read and write the rows of loads again")

    def hold(self, batch: pa.RecordBatch) -> bool:
        """Whether rows lie in the memory that the processes share."""
        if not self.count:
            return False
        pool = get_pool(self._pool_size)
        buffers = (buffer for column in batch.columns for buffer in column.buffers() if buffer is not None)
        return any(pool.holds(memoryview(buffer)) for buffer in buffers if buffer.size)


IN_SERVER = RowProcesses(0, 0)
"""None."""


def drop_hidden(*parts: pa.Array) -> pa.Array:
    """Returns arrays as one that has their rows alone: slices are sent with all that their buffers have."""
    return pa.concat_arrays([*parts, parts[0].slice(0, 0)])


def trim(column: pa.Array) -> pa.Array:
    """Returns a column of the same type, mostly without the values of other rows that its buffers have."""
    return drop_hidden(column) if column.get_total_buffer_size() > 2 * column.nbytes else column


def cut_column(column: pa.Array) -> pa.Array:
    """Returns a column's values for a call, without the values of other rows.

    Views, which any string of their buffers may be, and rows of a dictionary of more values, become plain values.
    """
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    if pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary())
    if pa.types.is_dictionary(column.type) and len(column.dictionary) > len(column):
        return column.dictionary_decode()
    return trim(column)


def pack(value: Any) -> bytes:
    """Returns what a process needs for many calls, for `load.served.unpack`."""
    return pickle.dumps(value, protocol=5)

"""The processes that read and write the rows of loads, so that many loads at once do not wait for one interpreter.

bytes → `copy` splits them → a process reads a block into columns → checks of the rows → a process writes a file

Columns lie in memory that the processes share. Each call has all that it needs, so that a process that ends takes
only the load with it whose call it ran.
"""

from __future__ import annotations

import logging
import pickle
import threading
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
PENDING_BYTES = _SHARED_BYTES // 2
"""Bytes of rows in calls that write files, of all appends, above which an append waits for its oldest call."""


@cache
def get_pool(count: int, *, for_files: bool = False) -> ProcessPool:
    """Returns the pool of all loads, or that of whole files: these calls end after others, for which room is kept."""
    return ProcessPool(_SERVED, most=count, memory_bytes=_MEMORY_BYTES, shared_bytes=_SHARED_BYTES)


class RowProcesses:
    """`count` processes of all loads of this server, which start as they are needed; 0: it does everything itself.

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
        self.count, self._after = count, after
        self._pool_size = count
        self._lock = threading.Lock()

    def are_wanted(self, size: int, seen: int) -> bool:
        """Whether they read a block of `size` bytes, with which `seen` bytes of its load have come."""
        if not self.count or size > LARGE_BLOCK:
            return False
        return seen > self._after or (size >= SMALL_BLOCK and get_pool(self._pool_size).is_warm)

    def call(self, name: str, arguments: Sequence[Any], wanted: Callable[[], None]) -> Any:
        """Calls a function of `load.served`; what `wanted` raises ends the process. See `ProcessPool.call`.

        After ProcessUnavailable, for which the caller does it itself, none is wanted any more.
        """
        try:
            return get_pool(self._pool_size).call(name, arguments, wanted)
        except ProcessUnavailable as error:
            self._give_up(error)
            raise

    def read_file(self, file: Any, take: Callable[[tuple[int, memoryview]], None], wanted: Callable[[], None]) -> None:
        """Reads a file as `load.files.read_csv` does; `take` gets the position in the file, and what was read.

        ProcessUnavailable is raised before `take` got anything; see `call`.
        """
        try:
            get_pool(self._pool_size, for_files=True).call("read_file", (file,), wanted, take)
        except ProcessUnavailable as error:
            self._give_up(error)
            raise

    def _give_up(self, error: ProcessUnavailable) -> None:
        """Leaves all further work to the server, and logs so once."""
        with self._lock:
            is_first, self.count = self.count > 0, 0
        if is_first:
            _LOG.warning("the server reads and writes the rows of loads itself from now on: %s", error)

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

"""The first rows by a column of floats, found without a sort (kernels/top_rows.cu).

Each run of rows has a least value. As many runs as rows are wanted have one that is at most the greatest of the least
of these, so that no row above it is among the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.arrays import validity_mask, values_array

_MIN_ROWS = 1 << 17
"""Rows from which on the search takes less time than a sort."""
_RUNS_OF_ROW = 64
_MIN_RUN, _MAX_RUN = 32, 4096
_MOST = 4
"""Part of the rows up to which it is worth to take the first ones."""
_MAX_FOUND = 1 << 22
_FETCHED = 1023
"""Numbers of rows that are fetched together with how many there are."""
_BLOCK, _WARPS = 256, 8
"""Threads and warps of a block."""
_NONE = np.uint64(0)
Start = Callable[[str, int, Sequence[Any]], None]
"""Starts a kernel by its name, with a number of blocks and arguments."""


def find_top(start: Start, column: Any, count: int, *, descending: bool) -> Any | None:
    """Returns the places, ascending, of rows among which are the first `count` of a column of float64.

    None for other types and for few rows, and where too many rows are equal, NULL or NaN. NULL is the last value in
    either order, NaN greater than all numbers. The work is on the calling thread's stream.
    """
    rows = column.size()
    if rows < _MIN_ROWS or column.type().id() != plc.TypeId.FLOAT64:
        return None
    return find_first(cupy, start, values_array(column), validity_mask(column), count, descending=descending)


def find_first(
    arrays: Any, start: Start, values: Any, valid: Any | None, count: int, *, descending: bool
) -> Any | None:
    """The same of an array; `arrays` is CuPy, or NumPy with kernels of the host. The places are on the host if few."""
    fetch = getattr(arrays, "asnumpy", np.asarray)
    rows = len(values)
    size = min(max(rows // (_RUNS_OF_ROW * count), _MIN_RUN), _MAX_RUN)
    runs = -(-rows // size)
    if runs < count:
        return None
    column = values, _NONE if valid is None else valid, np.int64(rows)
    least = arrays.empty(runs, np.float64)
    start("least", -(-runs // _WARPS), (*column, np.int32(size), np.int32(descending), least))
    found = fetch(least)
    if np.isnan(found).any():
        return None  # NaN comes first
    end = np.partition(found, count - 1)[count - 1]
    if end == np.inf:
        return None
    most = min(rows // _MOST, _MAX_FOUND)
    places = arrays.zeros(1 + most, np.uint32)
    start("up_to", -(-rows // _BLOCK), (*column, np.int32(descending), np.float64(end), places, np.uint32(most)))
    head = fetch(places[: 1 + _FETCHED])
    number = int(head[0])
    if number > most:
        return None
    if number < len(head):
        return np.sort(head[1 : 1 + number])
    return arrays.sort(places[1 : 1 + number])

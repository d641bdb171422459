"""The first rows by a column of floats, found without a sort.

Each block of rows has a least value. As many blocks as rows are wanted have one that is at most the greatest of the
least of these, so that no row above it is among the first.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.arrays import validity_mask, values_array

_MIN_ROWS = 1 << 17
"""Rows from which on the search takes less time than a sort."""
_BLOCKS_OF_ROW = 64
_MIN_BLOCK, _MAX_BLOCK = 32, 4096
_MOST = 4
"""Part of the rows up to which it is worth to take the first ones."""


def find_top(column: Any, count: int, *, descending: bool) -> Any | None:
    """Returns the places, ascending, of rows among which are the first `count` of a column of float64.

    None for other types and for few rows, and where too many rows are equal, NULL or NaN. NULL is the last value in
    either order, NaN greater than all numbers. The work is on the calling thread's stream.
    """
    rows = column.size()
    if rows < _MIN_ROWS or column.type().id() != plc.TypeId.FLOAT64:
        return None
    values = values_array(column)
    return find_first(cupy, -values if descending else values, validity_mask(column), count, descending=descending)


def find_first(arrays: Any, values: Any, valid: Any | None, count: int, *, descending: bool) -> Any | None:
    """The same of an array; `arrays` is CuPy or NumPy, `values` are negative ones in a descending order."""
    rows = len(values)
    known = ~arrays.isnan(values)
    if descending and not bool((known if valid is None else known | ~valid).all()):
        return None  # NaN comes first
    if valid is not None:
        known &= valid
    values = arrays.where(known, values, np.inf)
    size = min(max(rows // (_BLOCKS_OF_ROW * count), _MIN_BLOCK), _MAX_BLOCK)
    whole = rows // size * size
    if whole // size < count:
        return None
    least = arrays.sort(values[:whole].reshape(-1, size).min(axis=1))
    end = float(least[count - 1])
    if end == np.inf:
        return None
    places = arrays.flatnonzero(values <= end)
    return places if len(places) * _MOST <= rows else None

"""Distances of vectors (kernels/vectors.cu) over the columns of a frame in GPU memory; see `backend.distance_calls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.distance_calls import BIT_METRICS, METRICS, DistanceCall
from gpudb.engine.gpu.cudf.columns.arrays import make_column, validity_mask
from gpudb.values.bit_keys import count_words
from gpudb.values.vector_keys import SINGLE, decode_numbers

ROWS_OF_BLOCK = 8
"""Rows that a block of the kernel computes at once: one a warp."""
BIT_ROWS_OF_BLOCK = 32
"""The same of bit strings: four a warp."""
_NONE = np.uint64(0)
_REAL = plc.DataType(plc.TypeId.FLOAT64)


class Distances:
    """The result of a call: its column, NULL where an operand is."""

    def __init__(self, name: str, values: Any, valid: Any | None) -> None:
        self._name, self._values, self._valid = name, values, valid

    def columns(self, _nulls: int) -> list[tuple[str, pl.DataType, Any]]:
        """Returns the named column."""
        return [(self._name, pl.Float64(), make_column(_REAL, len(self._values), self._values, self._valid))]


def start_distances(
    start: Callable[[str, int, Sequence[Any]], None], columns: Mapping[str, Any], call: DistanceCall
) -> Distances:
    """Starts the kernel of a call by `start`, from its name, blocks and arguments; the stream is the caller's."""
    left = columns[call.left]
    right = None if call.right is None else columns[call.right]
    masks = [
        mask for mask in (validity_mask(left), None if right is None else validity_mask(right)) if mask is not None
    ]
    valid = None if not masks else masks[0] & masks[-1]
    rows = left.size()
    found = cupy.empty(rows, np.float64)
    constant = None if call.to is None else np.frombuffer(call.to, np.uint8)
    other = (_NONE, _NONE, _NONE) if right is None else _view_vectors(right)
    last = _NONE if valid is None else valid, np.int64(rows), found
    if call.metric in BIT_METRICS:
        if constant is not None:
            other = (cupy.asarray(constant), _NONE, _NONE)
        form = np.int32(count_words(call.dimensions)), np.int32(BIT_METRICS[call.metric])
        start("bit_distances", -(-rows // BIT_ROWS_OF_BLOCK), (*_view_vectors(left), *other, *form, *last))
    else:
        plain = _NONE
        if constant is not None:
            plain = cupy.asarray(decode_numbers(constant, call.precision).astype(np.float32))
        form = np.int32(call.dimensions), np.int32(METRICS[call.metric])
        start(
            "distances" if call.precision == SINGLE else "half_distances",
            -(-rows // ROWS_OF_BLOCK),
            (*_view_vectors(left), *other, plain, *form, *last),
        )
    return Distances(call.name, found, valid)


def _view_vectors(column: Any) -> tuple[Any, Any, Any]:
    """Returns where a column's bytes are, and its rows' offsets: of 32 bits, or of 64. The column must stay alive."""
    if not column.size():
        return _NONE, _NONE, _NONE
    # Addresses: to count the bytes would take longer than a search of many rows.
    offsets, data = column.child(0), column.data()
    wide = offsets.type().id() == plc.TypeId.INT64
    first = np.uint64(offsets.data().ptr + (8 if wide else 4) * (offsets.offset() + column.offset()))
    words = _NONE if data is None else np.uint64(data.ptr)
    return (words, _NONE, first) if wide else (words, first, _NONE)

"""libcudf's columns as CuPy's arrays, where they lie; what is made of them is on the calling thread's stream."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.cudf.streams import current
from gpudb.engine.gpu.fused.packed_cache.column_chunks import Bits

KINDS: dict[Any, Any] = {
    plc.TypeId.BOOL8: np.uint8,
    plc.TypeId.INT8: np.int8,
    plc.TypeId.INT16: np.int16,
    plc.TypeId.INT32: np.int32,
    plc.TypeId.INT64: np.int64,
    plc.TypeId.FLOAT32: np.float32,
    plc.TypeId.FLOAT64: np.float64,
    plc.TypeId.TIMESTAMP_DAYS: np.int32,
    plc.TypeId.TIMESTAMP_MICROSECONDS: np.int64,
}


def values_of(column: Any) -> Any:
    """A column's values."""
    kind = np.dtype(KINDS[column.type().id()])
    return _from(column.offset(), column, kind.itemsize).view(kind)


def valid_of(column: Any) -> Any | None:
    """Which values are there; None for all."""
    if not column.null_count():
        return None
    first, last = column.offset(), column.offset() + column.size()
    bits = view_of(column.null_mask(), (last + 7) // 8, column)
    return cupy.unpackbits(bits, bitorder="little")[first:last].view(np.bool_)


def bits_of(column: Any) -> Bits | None:
    """The same as bits, where they lie."""
    if not column.null_count():
        return None
    return Bits(view_of(column.null_mask(), (column.offset() + column.size() + 7) // 8, column), column.offset())


def halves_of(column: Any) -> Any:
    """128-bit integers as two of 64 bits a row, the low one first."""
    return _from(column.offset(), column, 16).view(np.int64).reshape(-1, 2)


def narrowed(column: Any, valid: Any | None) -> Any | None:
    """128-bit integers as 64-bit ones; None where one does not fit."""
    halves = halves_of(column)
    return cupy.ascontiguousarray(halves[:, 0]) if _fit(halves, valid) else None


def are_narrow(column: Any) -> bool:
    """Whether 64 bits hold every 128-bit integer of a column."""
    return _fit(halves_of(column), valid_of(column))


def _fit(halves: Any, valid: Any | None) -> bool:
    fits = (halves[:, 0] >> 63) == halves[:, 1]
    return bool((fits if valid is None else fits | ~valid).all())


def coded(column: Any) -> tuple[Any, Any | None, pl.Series]:
    """Texts as the places of each among those that differ (a NULL's is any), which are there (None: all), and those
    that differ, on the host."""
    places, texts = coded_places(column)
    return cupy.minimum(places, max(len(texts) - 1, 0)).astype(np.int64), valid_of(column), texts


def coded_places(column: Any) -> tuple[Any, pl.Series]:
    """Texts as places (int32; a NULL's is after the last), and those that differ; see `coded`."""
    keys, places = plc.transform.encode(plc.Table([column]), stream=current())
    texts = pl.Series(pl.from_arrow(keys.columns()[0].to_arrow(stream=current()))).cast(pl.String).drop_nulls()
    return values_of(places), texts


def _from(first: int, column: Any, width: int) -> Any:
    """The bytes of a column's values, which may be some of another column's, from its `first` one on."""
    size = column.size()
    return view_of(column.data(), (first + size) * width if size else 0, column)[first * width if size else 0 :]


def view_of(span: Any, size: int, owner: Any) -> Any:
    """Bytes of the GPU's memory as an array, which keeps their owner."""
    if not size:
        return cupy.empty(0, np.uint8)
    memory = cupy.cuda.UnownedMemory(span.ptr, size, (span, owner))
    return cupy.ndarray((size,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))

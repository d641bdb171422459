"""Views libcudf columns as CuPy arrays without a copy; derived arrays are on the calling thread's stream."""

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
    """Returns a column's values."""
    kind = np.dtype(KINDS[column.type().id()])
    return _from(column.offset(), column, kind.itemsize).view(kind)


def valid_of(column: Any) -> Any | None:
    """Returns a column's validity mask; None if all values are valid."""
    if not column.null_count():
        return None
    first, last = column.offset(), column.offset() + column.size()
    bits = view_of(column.null_mask(), (last + 7) // 8, column)
    return cupy.unpackbits(bits, bitorder="little")[first:last].view(np.bool_)


def bits_of(column: Any) -> Bits | None:
    """Returns a column's validity bitmap without a copy; None if all values are valid."""
    if not column.null_count():
        return None
    return Bits(view_of(column.null_mask(), (column.offset() + column.size() + 7) // 8, column), column.offset())


def halves_of(column: Any) -> Any:
    """Returns 128-bit integers as two of 64 bits per row, the low one first."""
    return _from(column.offset(), column, 16).view(np.int64).reshape(-1, 2)


def narrowed(column: Any, valid: Any | None) -> Any | None:
    """Narrows 128-bit integers to 64 bits; None where one does not fit."""
    halves = halves_of(column)
    return cupy.ascontiguousarray(halves[:, 0]) if _fit(halves, valid) else None


def are_narrow(column: Any) -> bool:
    """Whether 64 bits hold every 128-bit integer of a column."""
    return _fit(halves_of(column), valid_of(column))


def _fit(halves: Any, valid: Any | None) -> bool:
    fits = (halves[:, 0] >> 63) == halves[:, 1]
    return bool((fits if valid is None else fits | ~valid).all())


def coded(column: Any) -> tuple[Any, Any | None, pl.Series]:
    """Dictionary-encodes texts: codes (any for NULL), validity (None: all valid), and distinct texts on the host."""
    places, texts = coded_places(column)
    return cupy.minimum(places, max(len(texts) - 1, 0)).astype(np.int64), valid_of(column), texts


def coded_places(column: Any) -> tuple[Any, pl.Series]:
    """Returns texts as int32 codes (after the last for NULL), and the distinct texts; see `coded`."""
    keys, places = plc.transform.encode(plc.Table([column]), stream=current())
    texts = pl.Series(pl.from_arrow(keys.columns()[0].to_arrow(stream=current()))).cast(pl.String).drop_nulls()
    return values_of(places), texts


def _from(first: int, column: Any, width: int) -> Any:
    """Returns the bytes of a column's values from the `first` on; the column may be a slice of another."""
    size = column.size()
    return view_of(column.data(), (first + size) * width if size else 0, column)[first * width if size else 0 :]


def view_of(span: Any, size: int, owner: Any) -> Any:
    """Views GPU memory as a byte array that keeps its owner alive."""
    if not size:
        return cupy.empty(0, np.uint8)
    memory = cupy.cuda.UnownedMemory(span.ptr, size, (span, owner))
    return cupy.ndarray((size,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))

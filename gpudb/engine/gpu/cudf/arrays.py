"""libcudf's columns as CuPy's arrays, where they lie."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import pylibcudf as plc

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


def waited() -> None:
    """Until libcudf has filled its columns: CuPy's stream need not be the one that it has done so on."""
    cupy.cuda.runtime.deviceSynchronize()


def values_of(column: Any) -> Any:
    """A column's values."""
    kind = np.dtype(KINDS[column.type().id()])
    return view_of(column.data(), column.size() * kind.itemsize, column).view(kind)


def valid_of(column: Any) -> Any | None:
    """Which values are there; None for all."""
    if not column.null_count():
        return None
    bits = view_of(column.null_mask(), (column.size() + 7) // 8, column)
    return cupy.unpackbits(bits, bitorder="little")[: column.size()].view(np.bool_)


def narrowed(column: Any, valid: Any | None) -> Any | None:
    """128-bit integers as 64-bit ones; None where one does not fit."""
    halves = view_of(column.data(), column.size() * 16, column).view(np.int64).reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    fits = (low >> 63) == high
    if not bool((fits if valid is None else fits | ~valid).all()):
        return None
    return cupy.ascontiguousarray(low)


def view_of(span: Any, size: int, owner: Any) -> Any:
    """Bytes of the GPU's memory as an array, which keeps their owner."""
    if not size:
        return cupy.empty(0, np.uint8)
    memory = cupy.cuda.UnownedMemory(span.ptr, size, (span, owner))
    return cupy.ndarray((size,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))

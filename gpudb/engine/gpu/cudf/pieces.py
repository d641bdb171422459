"""Pieces of tables' columns for fused kernels: decoded by libcudf into the GPU's memory, as CuPy's arrays."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cudf.read import read
from gpudb.engine.gpu.fused.pieces import Piece
from gpudb.engine.gpu.fused.values import FLOATS, TEXT, NotFused

_KINDS: dict[Any, Any] = {
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
_OTHERS = {plc.TypeId.STRING, plc.TypeId.DECIMAL128}


class CudfPieces:
    """Reads pieces into the memory of this process's GPU."""

    xp: Any = cupy

    def piece(self, file: DataFile, column: Column, first: int, last: int) -> Piece:
        """See `Pieces`."""
        made, *more = read(file, column, first, last)
        if more or (made.type().id() not in _KINDS and made.type().id() not in _OTHERS):
            raise NotFused(f"a column of type {column.type.plain}")
        # CuPy's stream need not be the one that libcudf has filled the column on.
        cupy.cuda.runtime.deviceSynchronize()
        valid = _valid(made)
        if column.type.name in TEXT:
            keys, places = plc.transform.encode(plc.Table([made]))
            texts = pl.Series(pl.from_arrow(keys.columns()[0].to_arrow())).cast(pl.String)
            values = _values(places).astype(np.int64)
            cupy.cuda.runtime.deviceSynchronize()
            # A NULL is the last of the keys.
            return Piece(values, valid, texts.drop_nulls())
        if made.type().id() == plc.TypeId.DECIMAL128:
            return Piece(_narrowed(made, valid), valid)
        values = _values(made)
        return Piece(values if column.type.name in FLOATS else values.astype(np.int64), valid)


def _values(column: Any) -> Any:
    """A column's values where they lie."""
    kind = np.dtype(_KINDS[column.type().id()])
    return _view(column.data(), column.size() * kind.itemsize, column).view(kind)


def _view(span: Any, size: int, owner: Any) -> Any:
    """Bytes of the GPU's memory as an array, which keeps their owner."""
    if not size:
        return cupy.empty(0, np.uint8)
    memory = cupy.cuda.UnownedMemory(span.ptr, size, (span, owner))
    return cupy.ndarray((size,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))


def _valid(column: Any) -> Any | None:
    """Which values are there; None for all."""
    if not column.null_count():
        return None
    bits = _view(column.null_mask(), (column.size() + 7) // 8, column)
    return cupy.unpackbits(bits, bitorder="little")[: column.size()].view(np.bool_)


def _narrowed(column: Any, valid: Any | None) -> Any:
    """128-bit integers as 64-bit ones; NotFused where one does not fit."""
    halves = _view(column.data(), column.size() * 16, column).view(np.int64).reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    fits = (low >> 63) == high
    if not bool((fits if valid is None else fits | ~valid).all()):
        raise NotFused("a numeric of more than 64 bits")
    return cupy.ascontiguousarray(low)

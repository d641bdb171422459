"""Views libcudf columns as CuPy arrays, and arrays as columns, without a copy.

Derived arrays are on the calling thread's stream.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
import polars as pl
import pylibcudf as plc

from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ValidityBits

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

_MASK = 64
"""A bitmap's length is a multiple of this many bytes."""


def values_array(column: Any) -> Any:
    """Returns a column's values."""
    kind = np.dtype(KINDS[column.type().id()])
    return _value_bytes(column.offset(), column, kind.itemsize).view(kind)


def validity_mask(column: Any) -> Any | None:
    """Returns a column's validity mask; None if all values are valid."""
    if not column.null_count():
        return None
    first, last = column.offset(), column.offset() + column.size()
    bits = view_bytes(column.null_mask(), (last + 7) // 8, column)
    return cupy.unpackbits(bits, bitorder="little")[first:last].view(np.bool_)


def validity_bits(column: Any) -> ValidityBits | None:
    """Returns a column's validity bitmap without a copy; None if all values are valid."""
    if not column.null_count():
        return None
    return ValidityBits(
        view_bytes(column.null_mask(), (column.offset() + column.size() + 7) // 8, column), column.offset()
    )


def integer_halves(column: Any) -> Any:
    """Returns 128-bit integers as two of 64 bits per row, the low one first."""
    return _value_bytes(column.offset(), column, 16).view(np.int64).reshape(-1, 2)


def narrow_integers(column: Any, valid: Any | None) -> Any | None:
    """Narrows 128-bit integers to 64 bits; None where one does not fit."""
    halves = integer_halves(column)
    return cupy.ascontiguousarray(halves[:, 0]) if _fit(halves, valid) else None


def are_narrow(column: Any) -> bool:
    """Whether 64 bits hold every 128-bit integer of a column."""
    return _fit(integer_halves(column), validity_mask(column))


def _fit(halves: Any, valid: Any | None) -> bool:
    fits = (halves[:, 0] >> 63) == halves[:, 1]
    return bool((fits if valid is None else fits | ~valid).all())


def dictionary_encode(column: Any) -> tuple[Any, Any | None, pl.Series]:
    """Dictionary-encodes texts: codes (any for NULL), validity (None: all valid), and distinct texts on the host."""
    codes, texts = encode_texts(column)
    return cupy.minimum(codes, max(len(texts) - 1, 0)).astype(np.int64), validity_mask(column), texts


def encode_texts(column: Any) -> tuple[Any, pl.Series]:
    """Returns texts as int32 codes (after the last for NULL), and the distinct texts; see `dictionary_encode`."""
    keys, codes = plc.transform.encode(plc.Table([column]), stream=current_stream())
    texts = pl.Series(pl.from_arrow(keys.columns()[0].to_arrow(stream=current_stream()))).cast(pl.String).drop_nulls()
    return values_array(codes), texts


def encode_column(column: Any) -> tuple[Any, Dictionary]:
    """Returns texts as a column of int32 codes, NULL for NULL, and their dictionary."""
    codes, texts = encode_texts(column)
    made = make_column(plc.DataType(plc.TypeId.INT32), column.size(), cupy.array(codes), validity_mask(column))
    synchronize()  # any thread may read it
    return made, Dictionary(texts)


def _value_bytes(first: int, column: Any, width: int) -> Any:
    """Returns the bytes of a column's values from the `first` on; the column may be a slice of another."""
    size = column.size()
    return view_bytes(column.data(), (first + size) * width if size else 0, column)[first * width if size else 0 :]


def view_bytes(span: Any, size: int, owner: Any) -> Any:
    """Views GPU memory as a byte array that keeps its owner alive."""
    if not size:
        return cupy.empty(0, np.uint8)
    memory = cupy.cuda.UnownedMemory(span.ptr, size, (span, owner))
    return cupy.ndarray((size,), np.uint8, cupy.cuda.MemoryPointer(memory, 0))


def make_column(kind: Any, rows: int, values: Any, valid: Any | None) -> Any:
    """Returns values of fixed width as a column of a libcudf type; `valid` is None if all are."""
    data = plc.gpumemoryview(values.reshape(-1).view(np.uint8))
    if valid is None:
        return plc.Column(kind, rows, data, None, 0, 0, [])
    mask, nulls = pack_mask(valid)
    return plc.Column(kind, rows, data, mask, nulls, 0, [])


def pack_mask(valid: Any) -> tuple[Any, int]:
    """Returns a validity mask as libcudf holds it, and the number of NULLs."""
    bits = cupy.packbits(valid, bitorder="little")
    mask = cupy.zeros(-(-len(bits) // _MASK) * _MASK, np.uint8)
    mask[: len(bits)] = bits
    return plc.gpumemoryview(mask), int((~valid).sum())

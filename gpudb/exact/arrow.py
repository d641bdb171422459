"""Columns of Arrow as operands of exact functions, and their results as columns of Arrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gpudb.exact.limbs import Array
from gpudb.exact.words import widen
from gpudb.types import MAX_DIGITS


def to_words(column: pa.Array) -> Array:
    """Returns integers, or the unscaled values of decimals, as (low, high) words of each row; those of NULL are any."""
    if pa.types.is_decimal(column.type):
        if not pa.types.is_decimal128(column.type):
            column = column.cast(pa.decimal128(MAX_DIGITS, column.type.scale))
        words: Array = np.frombuffer(column.buffers()[1], np.int64)
        return words[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
    low = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return widen(low)


def to_decimals(words: Array, valid: Array | None, scale: int) -> pa.Array:
    """Returns (low, high) words of each row as decimals of 38 digits; NULL where not `valid` (None: all are)."""
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind = pa.decimal128(MAX_DIGITS, scale)
    return pa.Array.from_buffers(kind, len(words), [bits, pa.py_buffer(np.ascontiguousarray(words))])


def scale_of(column: pa.Array) -> int:
    """Returns the number of decimals of a column's values."""
    return int(column.type.scale) if pa.types.is_decimal(column.type) else 0

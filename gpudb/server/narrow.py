"""Rows of short values as DataRow messages, faster than by joining texts: integers and numerics.

Byte by byte, over all rows at once: every row has as many bytes as the longest of each column could take, and those
that it lacks (leading zeros, a sign) are left out at last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType

_WIDEST = 160
"""Bytes of a row at most: of wider ones too much would be left out, and each length is to be one byte."""
_MOST = 8192
"""Rows at most: the bytes of more leave the processor's caches, and joining texts is as fast."""
_LARGEST = (1 << 32) - 1
"""Numbers of more than 32 bits are divided slowly."""
_INTEGERS = frozenset({"int2", "int4", "int8"})

Array = np.ndarray[Any, Any]
Cells = tuple[Array, Array, Array]
"""The bytes of a column's values, a row of the array for each place; which of them are there; and each value's length,
which of NULL is -1."""


def narrow_rows(batch: pa.RecordBatch, types: Sequence[SqlType], formats: Sequence[int]) -> memoryview | None:
    """The messages of a batch; None for other types than these, many or wide rows, large numbers, and binary format."""
    if any(formats) or not types or not 0 < batch.num_rows <= _MOST:
        return None
    parts: list[Cells] = []
    wide = 7
    for type_, column in zip(types, batch.columns, strict=True):
        made = _cells(type_, column)
        if made is None:
            return None
        wide += 4 + len(made[0])
        if wide > _WIDEST:
            return None
        parts.append(made)
    count = batch.num_rows
    rows, there = np.empty((wide, count), np.uint8), np.ones((wide, count), bool)
    sizes = np.full(count, 6, np.uint8)
    at = 7
    for cells, some, lengths in parts:
        # No length takes more than its last byte; of NULL all four are 255.
        rows[at : at + 3] = lengths >> 7
        rows[at + 3] = lengths
        at += 4
        rows[at : at + len(cells)], there[at : at + len(cells)] = cells, some
        at += len(cells)
        sizes += np.maximum(lengths, 0).astype(np.uint8) + np.uint8(4)
    rows[0], rows[1:4], rows[4], rows[5], rows[6] = ord("D"), 0, sizes, 0, len(types)
    bits = np.packbits(np.ascontiguousarray(there.T), bitorder="little")
    kept = pa.BooleanArray.from_buffers(pa.bool_(), rows.size, [None, pa.py_buffer(bits)])
    found = pc.filter(pa.array(np.ascontiguousarray(rows.T).reshape(-1)), kept)
    return memoryview(found.buffers()[1])[: len(found)]


def _cells(type_: SqlType, column: pa.Array) -> Cells | None:
    """A column's values."""
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False) if column.null_count else None
    made = None
    if type_.name in _INTEGERS and pa.types.is_integer(column.type):
        filled = column if valid is None else pc.fill_null(column, 0)
        made = _digits(filled.to_numpy().astype(np.int64, copy=False), 0)
    elif type_.name == "numeric" and pa.types.is_decimal128(column.type):
        values = _whole(column, valid)
        made = None if values is None else _digits(values, column.type.scale)
    if made is None:
        return None
    if valid is None:
        return made
    cells, there, lengths = made
    return cells, there & valid, np.where(valid, lengths, np.int8(-1))


def _whole(column: pa.Array, valid: Array | None) -> Array | None:
    """Decimals without their point, where they have 64 bits."""
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    values = halves[:, 0] if valid is None else np.where(valid, halves[:, 0], 0)
    fits = halves[:, 1] == halves[:, 0] >> 63
    return values if (fits if valid is None else fits | ~valid).all() else None


def _digits(values: Array, scale: int) -> Cells | None:
    """Integers as decimals of a scale: a sign, digits, a point. None where one is too large."""
    sizes = np.abs(values).view(np.uint64)
    top = int(sizes.max())
    if scale < 0 or top > _LARGEST:
        return None
    width = max(len(str(top)), scale + 1)
    rest = sizes.astype(np.uint32)
    point = 1 if scale else 0
    cells = np.empty((1 + width + point, len(values)), np.uint8)
    there = np.ones(cells.shape, bool)
    cells[0], there[0] = ord("-"), values < 0
    lengths = there[0] + np.int8(scale + 1 + point)
    for place in range(width - 1, -1, -1):
        at = 1 + place + (point if place >= width - scale else 0)
        if place < width - scale - 1:
            there[at] = rest != 0
            lengths += there[at]
        less = rest // 10
        cells[at] = rest - less * 10
        rest = less
    cells[1:] += ord("0")
    if point:
        cells[1 + width - scale] = ord(".")
    return cells, there, lengths

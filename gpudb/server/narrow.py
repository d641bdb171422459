"""Rows of short values as DataRow messages, faster than by joining texts: integers, numerics and short texts.

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
_LONGEST = 16
"""Bytes of a text at most: longer ones are joined as fast."""
_MOST = 8192
"""Rows at most: the bytes of more leave the processor's caches, and joining texts is as fast."""
_LARGEST = (1 << 32) - 1
"""Numbers of more than 32 bits are divided slowly."""
_TOGETHER = 4
"""So many digits are looked up at once."""
_UNIT = 10**_TOGETHER
_PLACES = np.frombuffer(b"".join(b"%04d" % number for number in range(_UNIT)), np.uint8).reshape(-1, 4).T.copy()
"""The digits of each number below that, a row of the array for each place."""
_TENS = np.array([[10**number] for number in range(20)], np.uint64)
_INTEGERS = frozenset({"int2", "int4", "int8"})
_TEXTS = frozenset({"text", "varchar"})
_HELD = _INTEGERS | _TEXTS | {"numeric"}

Array = np.ndarray[Any, Any]
Cells = tuple[Array, Array, Array]
"""The bytes of a column's values, a row of the array for each place; which of them are there; and each value's length,
which of NULL is -1."""


def narrow_rows(batch: pa.RecordBatch, types: Sequence[SqlType], formats: Sequence[int]) -> memoryview | None:
    """The messages of a batch; None for other types than these, many or wide rows, and binary format."""
    if any(formats) or not types or not 0 < batch.num_rows <= _MOST:
        return None
    if any(type_.name not in _HELD for type_ in types):
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
    sizes = np.full(count, 6 + 4 * len(parts), np.int16)
    at = 7
    for cells, some, lengths in parts:
        # No length takes more than its last byte; of NULL all four are 255.
        rows[at : at + 3] = lengths >> 15
        rows[at + 3] = lengths
        at += 4
        rows[at : at + len(cells)], there[at : at + len(cells)] = cells, some
        at += len(cells)
        sizes += np.maximum(lengths, 0)
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
    elif type_.name in _TEXTS and column.type == pa.string():
        made = _letters(column, valid)
    if made is None or valid is None:
        return made
    cells, there, lengths = made
    return cells, there & valid, np.where(valid, lengths, np.int16(-1))


def _whole(column: pa.Array, valid: Array | None) -> Array | None:
    """Decimals without their point, where they have 64 bits."""
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    values = halves[:, 0] if valid is None else np.where(valid, halves[:, 0], 0)
    fits = halves[:, 1] == halves[:, 0] >> 63
    return values if (fits if valid is None else fits | ~valid).all() else None


def _letters(column: pa.Array, valid: Array | None) -> Cells | None:
    """Texts as they are; None where one is long."""
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(ends) if valid is None else np.where(valid, np.diff(ends), 0)
    width = int(lengths.max())
    if width > _LONGEST:
        return None
    places = np.arange(width, dtype=np.int32)[:, None]
    letters = np.frombuffer(data or b"\0", np.uint8)
    # What is behind a short text is left out again; behind the last one there may be nothing.
    cells = letters.take(ends[:-1] + places, mode="clip")
    return cells, places < lengths, lengths.astype(np.int16)


def _digits(values: Array, scale: int) -> Cells | None:
    """Integers as decimals of a scale: a sign, digits, a point."""
    if scale < 0:
        return None
    sizes = np.abs(values).view(np.uint64)
    top = int(sizes.max())
    width = max(len(str(top)), scale + 1)
    parts = -(-width // _TOGETHER)
    digits = np.empty((parts, _TOGETHER, len(values)), np.uint8)
    rest = sizes.astype(np.uint32) if top <= _LARGEST else sizes
    for part in digits[:0:-1]:
        above = rest // _UNIT
        part[:] = _PLACES.take(rest - above * _UNIT, axis=1)
        rest = above
    digits[0] = _PLACES.take(rest, axis=1)
    shown = digits.reshape(-1, len(values))[-width:]
    point, whole = (1 if scale else 0), width - scale
    cells = np.empty((1 + width + point, len(values)), np.uint8)
    there = np.ones(cells.shape, bool)
    cells[0], there[0] = ord("-"), values < 0
    cells[1 : 1 + whole] = shown[:whole]
    # The one before the point is always there.
    there[1:whole] = sizes >= _TENS[scale + 1 : scale + whole][::-1]
    if scale:
        cells[1 + whole], cells[2 + whole :] = ord("."), shown[whole:]
    return cells, there, there[:whole].sum(0, dtype=np.int16) + np.int16(1 + point + scale)

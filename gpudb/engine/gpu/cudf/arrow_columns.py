"""Columns of Arrow's record batches in GPU memory: KvikIO reads their buffers from the file into the column's.

The values of all batches are read next to each other. Of texts, the offsets of each batch are moved by the bytes of
the batches before it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np
import pyarrow as pa
import pylibcudf as plc

from gpudb.engine.gpu.cudf.arrays import make_column, pack_mask
from gpudb.engine.gpu.cudf.streams import current_stream, synchronize
from gpudb.storage.files.arrow_reader import ColumnPlace, has_offsets, is_large

_MAX_SMALL_OFFSET = (1 << 31) - 1
_TYPES = {
    pa.int8(): plc.TypeId.INT8,
    pa.int16(): plc.TypeId.INT16,
    pa.int32(): plc.TypeId.INT32,
    pa.int64(): plc.TypeId.INT64,
    pa.uint8(): plc.TypeId.UINT8,
    pa.uint16(): plc.TypeId.UINT16,
    pa.uint32(): plc.TypeId.UINT32,
    pa.float32(): plc.TypeId.FLOAT32,
    pa.float64(): plc.TypeId.FLOAT64,
    pa.date32(): plc.TypeId.TIMESTAMP_DAYS,
}
_UNITS = {
    "s": plc.TypeId.TIMESTAMP_SECONDS,
    "ms": plc.TypeId.TIMESTAMP_MILLISECONDS,
    "us": plc.TypeId.TIMESTAMP_MICROSECONDS,
}
Places = Sequence[tuple[ColumnPlace, int, int]]
"""Where a column is in each batch, and the first row and the row after the last that are read of it."""


def read_arrow_column(file: Any, descriptor: int, places: Places) -> Any | None:
    """Returns rows of a column from a file that KvikIO and the system have open; None for a type without a reader.

    The result is on the calling thread's stream. Raises ValueError or EOFError for a damaged file.
    """
    kind = places[0][0].type
    current_stream()  # CuPy allocates on it
    reader = _Reader(file, descriptor)
    rows = sum(last - first for _, first, last in places)
    if has_offsets(kind):
        return _read_texts(reader, places, rows)
    if pa.types.is_boolean(kind):
        bits = _read_bits(reader, [(place.buffers[0], first, last) for place, first, last in places])
        valid = _read_validity(reader, places, rows)
        reader.wait()
        return make_column(plc.DataType(plc.TypeId.BOOL8), rows, _unpack_bits(bits), valid and valid.unpack())
    found = _find_type(kind)
    if found is None:
        return None
    width = kind.bit_width // 8
    values = cupy.empty(rows * width, np.uint8)
    synchronize()  # memory is allocated in the order of the stream, and KvikIO does not know it
    start = 0
    for place, first, last in places:
        count = (last - first) * width
        reader.read(place.buffers[0], first * width, values[start : start + count])
        start += count
    valid = _read_validity(reader, places, rows)
    reader.wait()
    return make_column(found, rows, values, valid and valid.unpack())


def _find_type(kind: pa.DataType) -> Any | None:
    if pa.types.is_decimal128(kind):
        return plc.DataType(plc.TypeId.DECIMAL128, scale=-kind.scale)
    if pa.types.is_timestamp(kind):
        return plc.DataType(_UNITS[kind.unit]) if kind.unit in _UNITS else None
    known = _TYPES.get(kind)
    return None if known is None else plc.DataType(known)


class _Reader:
    """Reads of ranges of a file's buffers into GPU memory, all at once until `wait`."""

    def __init__(self, file: Any, descriptor: int) -> None:
        self._file, self._descriptor = file, descriptor
        self._coming: list[tuple[Any, int]] = []

    def read(self, buffer: tuple[int, int], first: int, target: Any) -> None:
        """Starts to read bytes of a buffer, from `first` on, that fill an array."""
        offset, length = buffer
        if first + target.nbytes > length:
            raise ValueError("a buffer has fewer values than its batch")
        if target.nbytes:
            self._coming.append((self._file.pread(target, target.nbytes, offset + first), target.nbytes))

    def wait(self) -> None:
        """Waits for all reads; raises EOFError if the file ended early."""
        coming, self._coming = self._coming, []
        counts = [(future.get(), size) for future, size in coming]
        if any(count != size for count, size in counts):
            raise EOFError("the file ends early")

    def read_integer(self, buffer: tuple[int, int], first: int, width: int) -> int:
        """Returns an integer of a buffer, from a byte on, read on the host."""
        offset, length = buffer
        data = os.pread(self._descriptor, width, offset + first) if first + width <= length else b""
        if len(data) < width:
            raise EOFError("a buffer ends early")
        return int.from_bytes(data, "little", signed=True)


class _Bits:
    """Bitmaps that are being read: the bytes of each, and the range of rows that count of them."""

    def __init__(self, parts: list[tuple[Any | None, int, int]]) -> None:
        self._parts = parts

    def unpack(self) -> Any:
        """Returns a boolean per row, once the bytes are there; a missing bitmap is all true."""
        found = [
            cupy.ones(last - first, np.bool_)
            if data is None
            else cupy.unpackbits(data, bitorder="little")[first:last].view(np.bool_)
            for data, first, last in self._parts
        ]
        return found[0] if len(found) == 1 else cupy.concatenate(found)


def _read_bits(reader: _Reader, parts: Sequence[tuple[tuple[int, int] | None, int, int]]) -> _Bits:
    """Starts to read bits `first` to `last` of bitmaps."""
    arrays = [
        None if buffer is None else cupy.empty((last + 7) // 8 - first // 8, np.uint8) for buffer, first, last in parts
    ]
    synchronize()
    found = []
    for (buffer, first, last), array in zip(parts, arrays, strict=True):
        if buffer is not None:
            reader.read(buffer, first // 8, array)
        found.append((array, first % 8, first % 8 + last - first) if buffer else (None, first, last))
    return _Bits(found)


def _unpack_bits(bits: _Bits) -> Any:
    return bits.unpack().view(np.uint8)


def _read_validity(reader: _Reader, places: Places, rows: int) -> _Bits | None:
    """Starts to read the validity bitmaps; None if all values are valid."""
    if all(place.validity is None for place, _, _ in places):
        return None
    return _read_bits(reader, [(place.validity, first, last) for place, first, last in places])


def _read_texts(reader: _Reader, places: Places, rows: int) -> Any:
    width = 8 if is_large(places[0][0].type) else 4
    ends = [
        tuple(reader.read_integer(place.buffers[0], row * width, width) for row in (first, last))
        for place, first, last in places
    ]
    if any(low < 0 or low > high for low, high in ends):
        raise ValueError("offsets decrease")
    size = sum(high - low for low, high in ends)
    small = size <= _MAX_SMALL_OFFSET
    data = cupy.empty(size, np.uint8)
    edges = [cupy.empty((last - first + 1) * width, np.uint8) for _, first, last in places]
    synchronize()
    start = 0
    for (place, first, _), (low, high), array in zip(places, ends, edges, strict=True):
        reader.read(place.buffers[0], first * width, array)
        reader.read(place.buffers[1], low, data[start : start + high - low])
        start += high - low
    valid = _read_validity(reader, places, rows)
    reader.wait()
    offsets = cupy.zeros(rows + 1, np.int32 if small else np.int64)
    start = row = 0
    for (_, first, last), (low, high), array in zip(places, ends, edges, strict=True):
        moved = array.view(np.int64 if width == 8 else np.int32)[1:].astype(np.int64) + (start - low)
        offsets[row + 1 : row + 1 + last - first] = moved.astype(offsets.dtype)
        start, row = start + high - low, row + last - first
    if bool((cupy.diff(offsets) < 0).any()):
        raise ValueError("offsets decrease")
    kind = plc.DataType(plc.TypeId.INT32 if small else plc.TypeId.INT64)
    child = make_column(kind, rows + 1, offsets, None)
    mask, nulls = (None, 0) if valid is None else pack_mask(valid.unpack())
    return plc.Column(
        plc.DataType(plc.TypeId.STRING), rows, plc.gpumemoryview(data) if size else None, mask, nulls, 0, [child]
    )

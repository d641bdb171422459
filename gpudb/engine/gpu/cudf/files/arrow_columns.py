"""Columns of Arrow's record batches in GPU memory: KvikIO reads their buffers from the file into the column's.

The values of all batches are read next to each other, and all columns at once. Of texts, the offsets of each batch are
moved by the bytes of the batches before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cupy
import numpy as np
import pyarrow as pa
import pylibcudf as plc

from gpudb.engine.gpu.cudf.columns.arrays import make_column, pack_mask
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
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


_Finish = Callable[[], Any]
"""Makes a column once its bytes are read."""


def read_arrow_columns(file: Any, descriptor: int, columns: Mapping[str, Places]) -> dict[str, Any]:
    """Returns rows of columns from a file that KvikIO and the system have open; leaves out types without a reader.

    All buffers are read at once. Results are on the calling thread's stream. Raises ValueError or EOFError for a
    damaged file.
    """
    current_stream()  # CuPy allocates on it
    reader = _Reader(file, descriptor)
    starts = {name: start for name, places in columns.items() if (start := _find_start(reader, places)) is not None}
    synchronize()  # memory is allocated in the order of the stream, and KvikIO does not know it
    finishes: dict[str, _Finish] = {}
    try:
        for name, start in starts.items():
            finishes[name] = start()
    finally:
        reader.wait()  # whatever fails: KvikIO writes into this memory
    return {name: finish() for name, finish in finishes.items()}


def _find_start(reader: _Reader, places: Places) -> Callable[[], _Finish] | None:
    """Allocates a column; returns what starts to read it. None for a type without a reader."""
    kind = places[0][0].type
    rows = sum(last - first for _, first, last in places)
    if has_offsets(kind):
        return _prepare_texts(reader, places, rows)
    valid = _Bits.of_validity(places)
    if pa.types.is_boolean(kind):
        bits = _Bits([(place.buffers[0], first, last) for place, first, last in places])

        def start_bits() -> _Finish:
            for each in (bits, valid):
                if each is not None:
                    each.read(reader)
            type = plc.DataType(plc.TypeId.BOOL8)
            return lambda: make_column(type, rows, bits.unpack().view(np.uint8), valid and valid.unpack())

        return start_bits
    found = _find_type(kind)
    if found is None:
        return None
    width = kind.bit_width // 8
    values = cupy.empty(rows * width, np.uint8)

    def start_values() -> _Finish:
        start = 0
        for place, first, last in places:
            count = (last - first) * width
            reader.read(place.buffers[0], first * width, values[start : start + count])
            start += count
        if valid is not None:
            valid.read(reader)
        return lambda: make_column(found, rows, values, valid and valid.unpack())

    return start_values


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
        """Waits for all reads, even if one fails; raises EOFError if the file ended early."""
        coming, self._coming = self._coming, []
        failed: Exception | None = None
        for future, size in coming:
            try:
                if future.get() != size:
                    raise EOFError("the file ends early")
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def read_integer(self, buffer: tuple[int, int], first: int, width: int) -> int:
        """Returns an integer of a buffer, from a byte on, read on the host."""
        offset, length = buffer
        data = os.pread(self._descriptor, width, offset + first) if first + width <= length else b""
        if len(data) < width:
            raise EOFError("a buffer ends early")
        return int.from_bytes(data, "little", signed=True)


class _Bits:
    """Bits `first` to `last` of bitmaps, each in its buffer; a missing one is all true."""

    def __init__(self, parts: Sequence[tuple[tuple[int, int] | None, int, int]]) -> None:
        self._parts = parts
        self._bytes = [
            None if buffer is None else cupy.empty((last + 7) // 8 - first // 8, np.uint8)
            for buffer, first, last in parts
        ]

    @classmethod
    def of_validity(cls, places: Places) -> _Bits | None:
        """Returns the validity of a column's rows; None if all values are valid."""
        if all(place.validity is None for place, _, _ in places):
            return None
        return cls([(place.validity, first, last) for place, first, last in places])

    def read(self, reader: _Reader) -> None:
        """Starts to read the bitmaps."""
        for (buffer, first, _), array in zip(self._parts, self._bytes, strict=True):
            if buffer is not None:
                reader.read(buffer, first // 8, array)

    def unpack(self) -> Any:
        """Returns a boolean per row, once the bytes are there."""
        found = [
            cupy.ones(last - first, np.bool_)
            if data is None
            else cupy.unpackbits(data, bitorder="little")[first % 8 : first % 8 + last - first].view(np.bool_)
            for (_, first, last), data in zip(self._parts, self._bytes, strict=True)
        ]
        return found[0] if len(found) == 1 else cupy.concatenate(found)


def _prepare_texts(reader: _Reader, places: Places, rows: int) -> Callable[[], _Finish]:
    width = 8 if is_large(places[0][0].type) else 4
    ends = [
        tuple(reader.read_integer(place.buffers[0], row * width, width) for row in (first, last))
        for place, first, last in places
    ]
    if any(low < 0 or low > high for low, high in ends):
        raise ValueError("offsets decrease")
    data = cupy.empty(sum(high - low for low, high in ends), np.uint8)
    edges = [cupy.empty((last - first + 1) * width, np.uint8) for _, first, last in places]
    valid = _Bits.of_validity(places)

    def start() -> _Finish:
        position = 0
        for (place, first, _), (low, high), array in zip(places, ends, edges, strict=True):
            reader.read(place.buffers[0], first * width, array)
            reader.read(place.buffers[1], low, data[position : position + high - low])
            position += high - low
        if valid is not None:
            valid.read(reader)
        return finish

    def finish() -> Any:
        size = len(data)
        small = size <= _MAX_SMALL_OFFSET
        offsets = cupy.zeros(rows + 1, np.int32 if small else np.int64)
        position = row = 0
        for (_, first, last), (low, high), array in zip(places, ends, edges, strict=True):
            moved = array.view(np.int64 if width == 8 else np.int32)[1:].astype(np.int64) + (position - low)
            offsets[row + 1 : row + 1 + last - first] = moved.astype(offsets.dtype)
            position, row = position + high - low, row + last - first
        if bool((cupy.diff(offsets) < 0).any()):
            raise ValueError("offsets decrease")
        kind = plc.DataType(plc.TypeId.INT32 if small else plc.TypeId.INT64)
        child = make_column(kind, rows + 1, offsets, None)
        mask, nulls = (None, 0) if valid is None else pack_mask(valid.unpack())
        texts = plc.gpumemoryview(data) if size else None
        return plc.Column(plc.DataType(plc.TypeId.STRING), rows, texts, mask, nulls, 0, [child])

    return start

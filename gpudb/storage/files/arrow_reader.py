"""Reads columns of record batches: of each column only its buffers, and of them only the wanted rows, as they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gpudb.storage.files.arrow_batches import ArrowBatch, ArrowLayout

Read = Callable[[int, int], pa.Buffer]
"""Reads bytes of a file: from an offset on, so many."""


@dataclass(frozen=True, slots=True)
class ColumnPlace:
    """Where a column of a batch is in its file: its type, NULLs, and the offset and length of its buffers.

    `validity` is None if no value is NULL; `buffers` are the values, or offsets and bytes.
    """

    type: pa.DataType
    rows: int
    nulls: int
    validity: tuple[int, int] | None
    buffers: tuple[tuple[int, int], ...]

    @property
    def size(self) -> int:
        """The bytes of all buffers."""
        return sum(length for _, length in (*self.buffers, *([self.validity] if self.validity else [])))


def find_column(layout: ArrowLayout, batch: ArrowBatch, name: str) -> ColumnPlace:
    """Returns where a column of a batch is, which the layout remembers."""
    known: ColumnPlace | None = layout.known.get((batch.start, name))
    if known is None:
        known = layout.known[batch.start, name] = _find_column(layout, batch, name)
    return known


def _find_column(layout: ArrowLayout, batch: ArrowBatch, name: str) -> ColumnPlace:
    node, first = layout.places[name]
    kind = layout.schema.field(name).type
    if pa.types.is_null(kind):
        return ColumnPlace(kind, batch.rows, batch.rows, None, ())
    nulls = int(batch.nulls[node])
    count = 2 if has_offsets(kind) else 1
    validity, *others = (
        (batch.start + int(offset), int(length)) for offset, length in batch.buffers[first : first + 1 + count]
    )
    return ColumnPlace(kind, batch.rows, nulls, validity if nulls and validity[1] else None, tuple(others))


def has_offsets(kind: pa.DataType) -> bool:
    """Whether a type's values are bytes between offsets."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or is_large(kind))


def is_large(kind: pa.DataType) -> bool:
    """Whether a type's offsets have 64 bits."""
    return bool(pa.types.is_large_string(kind) or pa.types.is_large_binary(kind))


def read_column(place: ColumnPlace, codec: str | None, read: Read, first: int, last: int) -> pa.Array:
    """Reads rows `first` to `last` of a column; raises ValueError for buffers that are too short."""
    if pa.types.is_null(place.type):
        return pa.nulls(last - first)
    if codec is not None:
        return _read_packed(place, codec, read).slice(first, last - first)
    start = first - first % 8  # a bitmap is read from a byte on
    rows = last - start
    validity = None
    if place.validity is not None:
        validity = _read_range(place.validity, read, start // 8, (last + 7) // 8)
    if has_offsets(place.type):
        width = 8 if is_large(place.type) else 4
        edges = np.frombuffer(
            _read_range(place.buffers[0], read, start * width, (last + 1) * width), np.int64 if width == 8 else np.int32
        )
        low, high = int(edges[0]), int(edges[-1])
        if low > high or low < 0:
            raise ValueError("offsets decrease")
        data = _read_range(place.buffers[1], read, low, high)
        buffers = [validity, pa.py_buffer(edges - edges[0]), data]
    elif pa.types.is_boolean(place.type):
        buffers = [validity, _read_range(place.buffers[0], read, start // 8, (last + 7) // 8)]
    else:
        width = place.type.bit_width // 8
        buffers = [validity, _read_range(place.buffers[0], read, start * width, last * width)]
    made = pa.Array.from_buffers(place.type, rows, buffers)
    made.validate()
    return made.slice(first - start)


def _read_range(buffer: tuple[int, int], read: Read, first: int, last: int) -> pa.Buffer:
    """Reads bytes `first` to `last` of a buffer."""
    offset, length = buffer
    if last > length:
        raise ValueError("a buffer has fewer values than its batch")
    return read(offset + first, last - first)


def _read_packed(place: ColumnPlace, codec: str, read: Read) -> pa.Array:
    """Reads a column whose buffers are compressed one by one, each after its length."""

    def unpack(offset: int, length: int) -> pa.Buffer:
        if not length:
            return pa.py_buffer(b"")
        packed = read(offset, length)
        size = int.from_bytes(packed[:8].to_pybytes(), "little", signed=True)
        rest = packed.slice(8)
        return rest if size == -1 else pa.Codec(codec).decompress(rest, decompressed_size=size)

    validity = None if place.validity is None else unpack(*place.validity)
    made = pa.Array.from_buffers(place.type, place.rows, [validity, *(unpack(*each) for each in place.buffers)])
    made.validate()
    return made


def read_ranges(descriptor: int) -> Read:
    """Returns a function that reads bytes of an open file; it raises EOFError beyond the end."""

    def read(offset: int, length: int) -> pa.Buffer:
        made = bytearray(length)
        view = memoryview(made)
        done = 0
        while done < length:
            count = os.preadv(descriptor, [view[done:]], offset + done)
            if not count:
                raise EOFError("the file ends early")
            done += count
        return pa.py_buffer(made)

    return read


def overlapping_rows(rows: Sequence[int], first: int, last: int) -> list[tuple[int, int, int]]:
    """Returns, of runs of so many rows each, those with some of rows `first` to `last`: index, first and last row."""
    found = []
    start = 0
    for place, count in enumerate(rows):
        low, high = max(first - start, 0), min(last - start, count)
        if low < high:
            found.append((place, low, high))
        start += count
    return found

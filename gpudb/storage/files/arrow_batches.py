"""Record batches of an Arrow file or stream: where the buffers of their columns are, from the messages' metadata alone.

Nothing of a batch's body is read. The metadata are flatbuffers (Arrow's Message.fbs and File.fbs), of which few fields
are needed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.file_tables import FileStamp
from gpudb.lru import LruCache
from gpudb.storage.files.part_statistics import FileParts, PartStatistics
from gpudb.storage.load.files import convert_errors

_MAGIC = b"ARROW1"
_CONTINUED = 0xFFFFFFFF
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_CODECS = ("lz4", "zstd")
_LARGEST_METADATA = 1 << 28


@dataclass(frozen=True, slots=True)
class ArrowBatch:
    """A record batch whose body starts at an offset of the file.

    `nulls` are the NULL counts of its nodes, `buffers` the offsets in the body and lengths of its buffers, in the order
    of the schema; `codec` is that of the buffers, None if they are plain.
    """

    rows: int
    start: int
    size: int
    nulls: npt.NDArray[np.int64]
    buffers: npt.NDArray[np.int64]
    codec: str | None


@dataclass(frozen=True, slots=True)
class ArrowLayout:
    """The columns and batches of a file; `places` are the first node and the first buffer of each column, by name.

    `obstacle` says why the buffers cannot be found; '' if they are. `known` are the places of columns that have been
    found, by the offset of their batch and their name (see `arrow_reader.find_column`).
    """

    schema: pa.Schema
    places: dict[str, tuple[int, int]]
    batches: tuple[ArrowBatch, ...]
    obstacle: str = ""
    known: dict[tuple[int, str], Any] = field(default_factory=dict, compare=False, repr=False)


_layouts: LruCache[FileStamp, ArrowLayout] = LruCache(256)


def read_arrow_layout(stamp: FileStamp) -> ArrowLayout:
    """Returns a file's layout; 58P01, 42501, XX001. Layouts are cached."""
    known = _layouts.get(stamp)
    if known is None:
        with convert_errors(Path(stamp.path)), Path(stamp.path).open("rb") as file:
            try:
                known = _read_layout(file, stamp)
            except (struct.error, IndexError) as error:
                raise ValueError(f"its metadata end early ({error})") from error
        _layouts.put(stamp, known)
    return known


def read_arrow_batches(stamp: FileStamp) -> FileParts:
    """Returns the record batches of a file; 58P01, 42501, XX001."""
    layout = read_arrow_layout(stamp)
    return FileParts(layout.schema, [PartStatistics(each.rows, each.size) for each in layout.batches], layout.obstacle)


def _read_layout(file: BufferedReader, stamp: FileStamp) -> ArrowLayout:
    is_file = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    schema = (pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)).schema
    obstacle = next((f"a column of {each.type}" for each in schema if _count_buffers(each.type) is None), "")
    messages = _find_messages(file, stamp.size) if is_file else _walk_messages(file, stamp.size)
    batches = []
    for header, root, body, size in messages:
        if header == _SCHEMA and root.integer(0, "<h"):
            obstacle = "big-endian values"
        elif header == _DICTIONARY and not is_file:
            obstacle = obstacle or "dictionaries in a stream"
        elif header == _BATCH:
            batches.append(_read_batch(root, body, size, stamp.size))
    return ArrowLayout(schema, _find_places(schema) if not obstacle else {}, tuple(batches), obstacle)


def _find_places(schema: pa.Schema) -> dict[str, tuple[int, int]]:
    places = {}
    node = buffer = 0
    for each in schema:
        places[each.name] = node, buffer
        counts = _count_buffers(each.type)
        assert counts is not None
        node, buffer = node + counts[0], buffer + counts[1]
    return places


def _count_buffers(kind: pa.DataType) -> tuple[int, int] | None:
    """Returns how many nodes and buffers a column has; None for a type whose count the schema does not tell."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count_buffers(kind.storage_type)
    if pa.types.is_null(kind):
        return 1, 0
    if pa.types.is_dictionary(kind) or pa.types.is_primitive(kind) or pa.types.is_decimal(kind):
        return 1, 2
    if pa.types.is_fixed_size_binary(kind):
        return 1, 2
    if _has_offsets(kind):
        return 1, 3
    if pa.types.is_struct(kind) or pa.types.is_fixed_size_list(kind):
        own = 1
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        own = 2
    else:
        return None
    # The child of a map is a struct of its keys and values.
    inner = [_count_buffers(kind.field(number).type) for number in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [_count_buffers(pa.struct([kind.key_field, kind.item_field]))]
    counted = [each for each in inner if each is not None]
    if len(counted) < len(inner):
        return None
    return 1 + sum(nodes for nodes, _ in counted), own + sum(buffers for _, buffers in counted)


def _has_offsets(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
    )


# ---- messages


class _Table:
    """A table of a flatbuffer, at a position in its bytes."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._position = data, position
        self._fields = position - struct.unpack_from("<i", data, position)[0]
        self._count = struct.unpack_from("<H", data, self._fields)[0] // 2 - 2

    def _find(self, number: int) -> int | None:
        if number >= self._count:
            return None
        place = struct.unpack_from("<H", self._data, self._fields + 4 + 2 * number)[0]
        return self._position + place if place else None

    def integer(self, number: int, form: str) -> int:
        """Returns a number of a struct format; 0 if the table lacks it."""
        place = self._find(number)
        return 0 if place is None else int(struct.unpack_from(form, self._data, place)[0])

    def table(self, number: int) -> _Table | None:
        """Returns a table below this one; None if it lacks it."""
        place = self._find(number)
        if place is None:
            return None
        return _Table(self._data, place + struct.unpack_from("<I", self._data, place)[0])

    def structs(self, number: int, words: int) -> npt.NDArray[np.int64]:
        """Returns a vector of structs of some 64-bit words each; of blocks the second word is half padding."""
        place = self._find(number)
        if place is None:
            return np.empty((0, words), np.int64)
        start = place + struct.unpack_from("<I", self._data, place)[0]
        count = struct.unpack_from("<I", self._data, start)[0]
        found = np.frombuffer(self._data, "<i8", count * words, start + 4)
        return found.reshape(count, words).astype(np.int64)


def _root(data: bytes) -> _Table:
    return _Table(data, struct.unpack_from("<I", data)[0])


_Message = tuple[int, Any, int, int]
"""A message's kind, its header, and where its body starts and how long it is."""


def _find_messages(file: BufferedReader, size: int) -> Iterator[_Message]:
    """Yields the batches that a file's footer lists, and its schema."""
    tail = len(_MAGIC) + 4
    file.seek(size - tail)
    length = struct.unpack("<i", file.read(4))[0]
    file.seek(size - tail - length)
    footer = _root(file.read(length))
    schema = footer.table(1)
    if schema is not None:
        yield _SCHEMA, schema, 0, 0
    for start, length, _ in footer.structs(3, 3).tolist():
        message = _read_message(file, start)
        if message is None:
            raise ValueError(f"no message at offset {start}")
        kind, header, body, found = message
        if kind != _BATCH or body != start + (length & 0xFFFFFFFF):
            raise ValueError(f"no record batch at offset {start}")
        yield kind, header, body, found


def _walk_messages(file: BufferedReader, size: int) -> Iterator[_Message]:
    """Yields the messages of a stream, one after another."""
    start = 0
    while start < size:
        message = _read_message(file, start)
        if message is None:
            return
        yield message
        start = message[2] + message[3]


def _read_message(file: BufferedReader, start: int) -> _Message | None:
    """Reads the message at an offset; None at the end of a stream."""
    file.seek(start)
    (length,) = struct.unpack("<I", file.read(4))
    before = 4
    if length == _CONTINUED:  # the form since Arrow 0.15
        (length,) = struct.unpack("<I", file.read(4))
        before = 8
    if not length:
        return None
    if length > _LARGEST_METADATA:
        raise ValueError(f"no message at offset {start}")
    data = file.read(length)
    if len(data) < length:
        raise ValueError("its metadata end early")
    message = _root(data)
    header = message.table(2)
    if header is None:
        raise ValueError(f"no message at offset {start}")
    size = message.integer(3, "<q")
    if size < 0:
        raise ValueError(f"the message at offset {start} has a negative length")
    return message.integer(1, "<B"), header, start + before + length, size


def _read_batch(batch: _Table, body: int, length: int, size: int) -> ArrowBatch:
    nodes, buffers = batch.structs(1, 2), batch.structs(2, 2)
    packed = batch.table(3)
    codec = None if packed is None else _CODECS[packed.integer(0, "<b")]
    rows = batch.integer(0, "<q")
    ends = buffers.sum(axis=1)
    if body + length > size or rows < 0 or (len(buffers) and (buffers.min() < 0 or int(ends.max()) > length)):
        raise ValueError("a record batch reaches beyond its end")
    return ArrowBatch(rows, body, length, nodes[:, 1], buffers, codec)

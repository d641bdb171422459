"""Encoding of record batches as DataRow messages, whole columns at a time.

A message is `D`, its length, the number of columns, and each value after its length; NULL is the length -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.server.wire.fast_rows import encode_narrow_rows
from gpudb.types import SqlType
from gpudb.types.facts import INTEGER_BITS
from gpudb.values.binary_columns import RowBuilder, encode_binary_column, to_binary_array
from gpudb.values.text_columns import Resolve, format_numerics, format_text_column

TEXT, BINARY = 0, 1

PIECE_ROWS = 16_384
"""Rows encoded together: their columns fit the processor's caches."""

FEW_ROWS = 128
"""Row limit below which framing one by one is faster than joining columns, unless the rows are long."""

_FEWEST_ROWS = 96
"""Row limit below which framing one by one is fastest."""
_SHORT_ROWS = 8192
"""Row limit, with `_SHORT_BYTES` at most, below which framing is faster than handing rows to another thread."""
_INTEGER_SIZES = {name: bits // 8 for name, bits in INTEGER_BITS.items()}
_TEXT_TYPES = frozenset({"text", "varchar"})
_PLAIN_TYPES = _INTEGER_SIZES.keys() | _TEXT_TYPES  # types whose text is Python's
_MAX_PIECE_BYTES, _SHORT_BYTES = 32 << 20, 1 << 20
_LARGEST_MESSAGE = (1 << 30) - 1
_NULL = b"\xff\xff\xff\xff"
_COPY_HEAD = [("type", "u1"), ("length", ">i4")]
_LARGEST_COPY, _LARGEST_ARRAY = 1 << 24, (1 << 31) - 1


def encode_rows(
    batch: pa.RecordBatch,
    types: Sequence[SqlType],
    formats: Sequence[int],
    zone: str = "UTC",
    resolve: Resolve | None = None,
) -> Iterator[bytes | memoryview]:
    """Yields the DataRow messages of a batch, in pieces of many rows each.

    `types` and `formats` (0 text, 1 binary) are by column; `zone` is the session's TimeZone, `resolve` names
    reg* values. 54000 for a row that exceeds a message.
    """
    for encoder in make_encoders(batch, types, formats, zone, resolve):
        yield encoder()


def make_encoders(
    batch: pa.RecordBatch,
    types: Sequence[SqlType],
    formats: Sequence[int],
    zone: str = "UTC",
    resolve: Resolve | None = None,
) -> Iterator[Callable[[], bytes | memoryview]]:
    """Returns one function for each piece, to be called in any order and from any thread."""
    if is_short(batch):
        yield partial(encode_piece, batch, types, formats, zone, resolve)
        return
    for start, count in _split_into_pieces(batch):
        yield partial(encode_piece, batch.slice(start, count), types, formats, zone, resolve)


def is_short(batch: pa.RecordBatch) -> bool:
    """Whether a batch is best encoded as a whole, in the calling thread."""
    return batch.num_rows <= _SHORT_ROWS and _is_small(batch)


def _is_small(batch: pa.RecordBatch) -> bool:
    # The buffers' size is known at once; for a slice they contain more than its rows.
    return bool(batch.get_total_buffer_size() <= _SHORT_BYTES or batch.nbytes <= _SHORT_BYTES)


def encode_few_rows(
    batch: pa.RecordBatch,
    types: Sequence[SqlType],
    formats: Sequence[int],
    zone: str,
    resolve: Resolve | None,
) -> bytes:
    """Yields the DataRow messages of a batch, one by one."""
    columns: list[list[bytes]] = []
    for at, (type_, format_code) in enumerate(zip(types, formats)):
        column = batch.column(at)
        values: list[bytes | None]
        if format_code == BINARY:
            values = encode_binary_column(type_, column).to_pylist()
        elif type_.name in _PLAIN_TYPES:
            values = [None if value is None else str(value).encode() for value in column.to_pylist()]
        else:
            is_numeric = type_.name == "numeric" and not type_.wide
            texts = (
                format_numerics(column) if is_numeric else format_text_column(type_, column, zone, resolve).to_pylist()
            )
            values = [None if text is None else text.encode() for text in texts]
        columns.append([_NULL if value is None else len(value).to_bytes(4, "big") + value for value in values])
    rows = list(map(b"".join, zip(*columns))) if columns else [b""] * batch.num_rows
    sizes = list(map(len, rows))
    if max(sizes, default=0) + 6 > _LARGEST_MESSAGE:
        raise SqlError.of("program_limit_exceeded", "a row is larger than 1 GiB")
    width = len(types).to_bytes(2, "big")
    heads = {size: b"D" + (size + 6).to_bytes(4, "big") + width for size in set(sizes)}
    return b"".join(chain.from_iterable(zip(map(heads.__getitem__, sizes), rows)))


def _split_into_pieces(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Returns (start, count) of slices of at most ROWS rows and, unless one row exceeds it, 32 MiB."""
    start = 0
    while start < batch.num_rows:
        count = min(PIECE_ROWS, batch.num_rows - start)
        while count > 1 and batch.slice(start, count).nbytes > _MAX_PIECE_BYTES:
            count //= 2
        yield start, count
        start += count


def encode_piece(
    batch: pa.RecordBatch,
    types: Sequence[SqlType],
    formats: Sequence[int],
    zone: str,
    resolve: Resolve | None,
) -> bytes | memoryview:
    """Encodes a batch whose rows and bytes fit one piece, in the fastest way."""
    if batch.num_rows > _FEWEST_ROWS and (narrow := encode_narrow_rows(batch, types, formats)) is not None:
        return narrow
    if batch.num_rows <= FEW_ROWS and _is_small(batch):
        return encode_few_rows(batch, types, formats, zone, resolve)
    rows = RowBuilder(batch.num_rows)
    length = np.empty(batch.num_rows, np.int64)
    rows.append_fixed("u1", ord("D"))
    rows.append_fixed(">i4", length)
    rows.append_fixed(">i2", len(types))
    for type_, format_code, column in zip(types, formats, batch.columns):
        if format_code == BINARY:
            rows.append_binary(type_, column)
        else:
            rows.append_varying(format_text_column(type_, column, zone, resolve).view(pa.binary()))
    length[:] = rows.sizes - 1
    if length.max(initial=0) > _LARGEST_MESSAGE:
        raise SqlError.of("program_limit_exceeded", "a row is larger than 1 GiB")
    return _concatenate(rows.build())


def frame_copy_data(rows: pa.BinaryArray) -> memoryview | None:
    """Returns a CopyData message a row; None if the rows, or one of them, are too large."""
    lengths = pc.binary_length(rows).to_numpy(zero_copy_only=False)
    if lengths.max(initial=0) > _LARGEST_COPY or lengths.sum(dtype=np.int64) + 5 * len(rows) > _LARGEST_ARRAY:
        return None
    head = np.empty(len(rows), _COPY_HEAD)
    head["type"] = ord("d")
    head["length"] = lengths + 4
    return _concatenate(pc.binary_join_element_wise(to_binary_array(head), rows, b""))


def _concatenate(items: pa.BinaryArray) -> memoryview:
    """Concatenates the items of rows."""
    _, offsets, data = items.buffers()
    start, end = np.frombuffer(offsets, np.int32)[[items.offset, items.offset + len(items)]].tolist()
    return memoryview(data)[start:end] if data is not None else memoryview(b"")

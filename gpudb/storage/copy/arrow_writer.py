"""Writes batches in the format arrow: an Arrow IPC stream for clients, an Arrow file for files.

A column has the Arrow type that holds its SQL type: integers, floats, booleans, decimals of one scale, dates, times,
timestamps, intervals, texts, bytes, and lists of them. All others are texts, as PostgreSQL writes them. A field's
metadata has `oid` and `typmod`, those of PostgreSQL's type.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from gpudb.errors import FeatureNotSupported
from gpudb.types import SqlType
from gpudb.values.text_columns import format_text_column

_SAME = frozenset(
    "bool int2 int4 int8 oid float4 float8 numeric date time timestamp timestamptz interval"
    " text varchar name bytea uuid json jsonb".split()
)
_MAX_ROWS = 65_536
"""Rows of a batch: clients decode a batch while the next one comes."""


def has_arrow_type(type_: SqlType) -> bool:
    """Returns whether an Arrow type holds the values of an SQL type as gpudb keeps them."""
    while type_.element is not None:
        type_ = type_.element
    return type_.name in _SAME and type_.user is None and not type_.is_carried


class ArrowWriter:
    """Writes one COPY TO; `zone` is the session's TimeZone. 0A000 for rows without columns."""

    def __init__(self, names: Sequence[str], types: Sequence[SqlType], zone: str = "UTC") -> None:
        if not types:
            raise FeatureNotSupported("rows without columns have no form in Arrow")
        self._types, self._zone = tuple(types), zone
        self._same = [has_arrow_type(type_) for type_ in types]
        fields = []
        for name, type_, same in zip(names, types, self._same, strict=True):
            metadata = {"oid": str(type_.oid), "typmod": str(type_.modifier)}
            fields.append(pa.field(name, type_.arrow if same else pa.string(), metadata=metadata))
        self._schema = pa.schema(fields)
        self.rows = 0

    def messages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields a stream: the schema, a message for each batch, the end."""
        yield from self._write(batches, pa.ipc.new_stream)

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields a file, in blocks."""
        yield from self._write(batches, pa.ipc.new_file)

    def _write(self, batches: Iterable[pa.RecordBatch], open_writer: Any) -> Iterator[bytes]:
        sink = MemorySink()
        with open_writer(pa.PythonFile(sink, mode="w"), self._schema) as writer:
            for batch in batches:
                for start in range(0, batch.num_rows, _MAX_ROWS):
                    part = batch.slice(start, _MAX_ROWS)
                    writer.write_batch(self._convert(part))
                    self.rows += part.num_rows
                    yield sink.take()
        yield sink.take()

    def _convert(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            column if same else format_text_column(type_, column, self._zone)
            for same, type_, column in zip(self._same, self._types, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


class MemorySink(io.RawIOBase):
    """A file in memory from which what was written is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        """Returns what was written since the last call."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken

"""Writes batches as a Parquet file.

Columns have the types that PostgreSQL's have in Parquet: exact decimals, dates, times, timestamps, UUIDs, lists. A
numeric without digits is a decimal of 38 digits. All that Parquet has no type for are texts, as PostgreSQL writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported
from gpudb.storage.copy.arrow_writer import MemorySink, has_arrow_type
from gpudb.types import SqlType
from gpudb.values.text_columns import format_text_column

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROW_GROUP_ROWS = 262_144
"""Rows of a row group, by which readers leave out what a statement does not need."""


class ParquetWriter:
    """Writes one COPY TO; `zone` is the session's TimeZone. 0A000 for rows without columns."""

    def __init__(self, names: Sequence[str], types: Sequence[SqlType], compression: str, zone: str = "UTC") -> None:
        if not types:
            raise FeatureNotSupported("rows without columns have no form in Parquet")
        self._names, self._types = tuple(names), tuple(types)
        self._compression, self._zone = compression, zone
        self.rows = 0

    def messages(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the file in blocks."""
        return self.blocks(batches)

    def blocks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
        """Yields the file in blocks."""
        sink = MemorySink()
        writer: pq.ParquetWriter | None = None
        for group in _gather(batches):
            columns = [self._convert(type_, group.column(number)) for number, type_ in enumerate(self._types)]
            table = pa.Table.from_arrays(columns, names=_unique(self._names))
            if writer is None:
                writer = self._open(sink, table.schema)
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
            self.rows += table.num_rows
            yield sink.take()
        if writer is None:
            empty = [self._convert(type_, pa.chunked_array([], type_.arrow)) for type_ in self._types]
            writer = self._open(sink, pa.Table.from_arrays(empty, names=_unique(self._names)).schema)
        writer.close()
        yield sink.take()

    def _open(self, sink: MemorySink, schema: pa.Schema) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression=self._compression)

    def _convert(self, type_: SqlType, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if type_.name == "numeric" and type_.is_carried and not type_.wide:
            return pa.chunked_array([pc.struct_field(each, [0]) for each in column.chunks], column.type.field(0).type)
        if type_.name == "uuid":
            return pa.chunked_array([each.cast(pa.uuid()) for each in _uuid_bytes(column)], pa.uuid())
        leaf = type_.element or type_
        if has_arrow_type(type_) and leaf.name != "interval":
            return column
        return pa.chunked_array([format_text_column(type_, each, self._zone) for each in column.chunks], pa.string())


def _uuid_bytes(column: pa.ChunkedArray) -> Iterator[pa.Array]:
    """Yields UUIDs as 16 bytes each."""
    for each in column.chunks:
        digits = pc.replace_substring(each.cast(pa.string()), "-", "").to_pylist()
        yield pa.array([None if text is None else bytes.fromhex(text) for text in digits], pa.binary(16))


def _gather(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yields the rows in tables of about a row group."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= ROW_GROUP_ROWS:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _unique(names: Sequence[str]) -> list[str]:
    """Returns names of which none is there twice: Parquet's readers find columns by name."""
    found: list[str] = []
    for name in names:
        number = 1
        made = name
        while made in found:
            made, number = f"{name}_{number}", number + 1
        found.append(made)
    return found

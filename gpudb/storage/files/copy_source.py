"""Rows of text as COPY FROM reads them, of a file or of another server: values by PostgreSQL's input functions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from gpudb.catalog.file_tables import FileColumn, FileTable
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.copy.errors import RowError
from gpudb.storage.copy.ingest import BlockSource, RowCompletion
from gpudb.storage.copy.options import CopyOptions
from gpudb.storage.copy.reader import Block, RowReader
from gpudb.storage.copy.split import Splitter
from gpudb.storage.files.discovery import stamp_file
from gpudb.storage.load.files import convert_errors

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class CopySource:
    """Text or csv, which is read anew by each scan: `read` yields its bytes. Its columns are of `SqlType.arrow`.

    `remote` is the SQL for which another server returns the text. Errors call it `label`, by default its COPY; `report`
    receives the rows that were skipped for their errors, with a line and a text of the first, when all were read.
    """

    table: Table
    options: CopyOptions
    clock: Clock
    read: Callable[[], Iterator[bytes]]
    remote: str | None = None
    failures: list[GpudbError] = field(default_factory=list)
    """Why scans failed."""
    label: str = ""
    report: Callable[[int, int, str], None] | None = None

    @property
    def schema(self) -> pa.Schema:
        """The table's columns."""
        return pa.schema([(column.name, column.type.arrow) for column in self.table.columns])

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Returns a capsule of the file's rows."""
        return pa.RecordBatchReader.from_batches(self.schema, self._read()).__arrow_c_stream__(requested_schema)

    def _read(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._read_blocks()
        except GpudbError as error:
            self.failures.append(error)  # DuckDB passes on its text alone
            raise

    def _read_blocks(self) -> Iterator[pa.RecordBatch]:
        columns = self.table.columns
        reader = RowReader(columns, self.options, self.clock, frozenset[str]())
        origin = BlockSource(self.label or f"COPY {self.table.name}", reader, RowCompletion(self.table, columns))
        skipped, first = 0, (0, "")
        for block in self._split(origin):
            try:
                rows = reader.read(block)
            except RowError as error:
                raise origin.with_context(error) from None
            if rows.notes and not skipped:
                line, _, text = rows.notes[0]
                first = origin.lines + line, text or ""
            skipped += rows.skipped
            batch = origin.completion.complete(rows)
            origin.lines += rows.lines
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays(batch.columns, schema=self.schema)
            if rows.ended:
                break
        if skipped and self.report is not None:
            self.report(skipped, *first)

    def _split(self, origin: BlockSource) -> Iterator[Block]:
        splitter = Splitter(self.options.for_width(len(self.table.columns)))
        try:
            for data in self.read():
                yield from splitter.feed(data)
            yield from splitter.finish()
        except RowError as error:
            raise error.with_context(origin.name, 0) from None


def _read_file(path: Path) -> Iterator[bytes]:
    with convert_errors(path), path.open("rb") as file:
        while data := file.read(_CHUNK):
            yield data


def open_copied_file(
    table: Table, path: str, options: CopyOptions, zone: str, now: dt.datetime, columns: Sequence[FileColumn]
) -> FileTable:
    """Returns a file as a table of some columns; 58P01, 42501."""
    source = CopySource(table, options, Clock(zone, now), partial(_read_file, Path(path)))
    return FileTable((stamp_file(Path(path)),), "copy", tuple(columns), options={"source": source})

"""Writing a table's data files: batches in, Parquet files out, none left behind by a failure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gpudb.catalog.model import DataFile, Table
from gpudb.errors import GpudbError, InternalError
from gpudb.storage.failing_rows import null_violation
from gpudb.storage.filewriter import FileWriter, disk_errors
from gpudb.storage.stored import stored_schema, to_stored

FILE_BYTES = 128 << 20
"""A file is closed once it has this many bytes."""
GROUP_ROWS = 1 << 20
GROUP_BYTES = 64 << 20
"""A row group ends at GROUP_ROWS rows or GROUP_BYTES of Arrow memory, whichever comes first."""


class DataWriter:
    """Writes one append's rows into files of `directory`; `finish` gives them, `abort` removes them.

    With `durable`, files are on the disk once `finish` returns; the directory's own entry is the caller's.
    `ascending` says that the rows came in the order of a primary key of one column, no two alike.
    Full row groups are encoded in a thread of its own while the next one is gathered.
    """

    def __init__(self, directory: Path, table: Table, *, durable: bool) -> None:
        self._table = table
        self._columns = table.columns
        self._keys = [i for i, column in enumerate(table.columns) if column.name in table.primary_key]
        self._schema = stored_schema(table.columns)
        self._files = FileWriter(directory, table, self._schema, FILE_BYTES, durable=durable)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._encoder: ThreadPoolExecutor | None = None
        self._encoding: Future[None] | None = None
        self.rows = 0
        self.ascending = len(self._keys) == 1
        self._last_key: pa.Scalar | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes a batch of exactly the table's columns, in order; 23502 for a NULL where none may be."""
        if batch.num_columns != len(self._columns):
            message = f"{batch.num_columns} columns reached table {self._table.name} of {len(self._columns)}"
            raise InternalError(message)
        arrays = []
        for column, array, stored in zip(self._columns, batch.columns, self._schema):
            array = to_stored(array, column.type, stored.type)
            if column.not_null and array.null_count:
                raise null_violation(self._table, column, batch, array)
            arrays.append(array)
        if not batch.num_rows:
            return
        if self.ascending:
            self._compare_keys(arrays[self._keys[0]])
        stored_batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        size = stored_batch.nbytes
        # A huge batch is cut, so that a row group stays within its limits.
        step = max(1, min(batch.num_rows, GROUP_ROWS, GROUP_BYTES * batch.num_rows // max(size, 1)))
        for start in range(0, batch.num_rows, step):
            part = stored_batch.slice(start, step)
            self._pending.append(part)
            self._pending_rows += part.num_rows
            self._pending_bytes += size * part.num_rows // batch.num_rows
            if self._pending_rows >= GROUP_ROWS or self._pending_bytes >= GROUP_BYTES:
                self._hand_over()
        self.rows += batch.num_rows

    def finish(self) -> list[DataFile]:
        """Closes the last file and gives all of them."""
        self._settle()
        with disk_errors():
            if self._pending:
                self._files.write(self._group())
            return self._files.finish()

    def abort(self) -> None:
        """Removes every file that was begun."""
        with contextlib.suppress(GpudbError):
            self._settle()
        self._files.abort()

    def _group(self) -> pa.Table:
        group = pa.Table.from_batches(self._pending, schema=self._schema)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        return group

    def _hand_over(self) -> None:
        """Gives a full row group to the encoder, once it is done with the one before: two at most are held."""
        if self._encoding is not None:
            with disk_errors():
                self._encoding.result()
        if self._encoder is None:
            self._encoder = ThreadPoolExecutor(1, "gpudb-encoder")
        self._encoding = self._encoder.submit(self._files.write, self._group())

    def _settle(self) -> None:
        """Waits for the encoder and ends it."""
        try:
            if self._encoding is not None:
                with disk_errors():
                    self._encoding.result()
        finally:
            self._encoding = None
            if self._encoder is not None:
                self._encoder.shutdown()
                self._encoder = None

    def _compare_keys(self, keys: pa.Array) -> None:
        type = self._columns[self._keys[0]].type.name
        if type not in {"int2", "int4", "int8", "date", "timestamp", "timestamptz"}:
            self.ascending = False
            return
        steps = pc.greater(keys[1:], keys[:-1])
        joined = self._last_key is None or pc.greater(keys[0], self._last_key).as_py()
        self.ascending = joined and pc.all(steps).as_py() is not False
        self._last_key = keys[-1]


@dataclass(frozen=True, slots=True)
class Written:
    """What an append wrote. `ascending` as in DataWriter."""

    files: tuple[DataFile, ...]
    rows: int
    ascending: bool


def write_files(directory: Path, table: Table, batches: Iterable[pa.RecordBatch], *, durable: bool) -> Written:
    """Writes all batches to files of `directory`; nothing is left after an error."""
    writer = DataWriter(directory, table, durable=durable)
    try:
        for batch in batches:
            writer.add(batch)
        return Written(tuple(writer.finish()), writer.rows, writer.ascending)
    except BaseException:
        writer.abort()
        raise


def verify(path: Path) -> None:
    """Reads a data file whole and compares its pages' checksums: XX001 if they differ, 58P01 if it is gone.

    Scans do not do so: they notice a file that is cut short or no Parquet, not every flipped bit.
    """
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except FileNotFoundError as error:
        raise GpudbError(f'data file "{path}" does not exist', condition="undefined_file") from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise GpudbError(f'data file "{path}" is damaged: {reason}', condition="data_corrupted") from error

"""Writes a table's data files: batches in, Parquet files out, none left after a failure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError, InternalError
from gpudb.processes.limits import count_processors
from gpudb.storage.iceberg.buckets import split_by_bucket
from gpudb.storage.iceberg.column_layout import stored_schema, to_stored
from gpudb.storage.iceberg.file_writer import FILE_BYTES, FileWriter, disk_errors
from gpudb.storage.iceberg.process_files import ProcessFiles
from gpudb.storage.row_errors import null_violation
from gpudb.storage.row_processes import IN_SERVER, RowProcesses
from gpudb.types.facts import INTEGERS

GROUP_ROWS = 1 << 20
GROUP_BYTES = 64 << 20
"""A row group ends at GROUP_ROWS rows or GROUP_BYTES of Arrow memory, whichever comes first."""
MIN_EXTRA_FILE_BYTES = 16 << 20
"""The last rows, if at least this large, are encoded into a separate file while the previous row group is encoded."""
FEW_ROWS = 1 << 13
"""Fewer rows are encoded by the thread that has them."""
MAX_WAITING_BYTES = 256 << 20
"""Limit of all rows waiting by bucket; above it the rows of the fullest bucket are written."""


@cache
def _encoders() -> ThreadPoolExecutor:
    """Returns the threads that encode row groups of all appends: as many as processors.

    More of them would only wait for each other, and each new thread's memory has to be mapped anew.
    """
    return ThreadPoolExecutor(count_processors(), "gpudb-encoder")


def _encode(files: FileWriter | ProcessFiles, group: pa.Table) -> None:
    """Writes a row group, a large one by a thread of the encoders unless the interpreter ends, or by a process."""
    if isinstance(files, ProcessFiles):
        files.submit(group)
        return
    encoding = None
    if group.num_rows >= FEW_ROWS:
        with contextlib.suppress(RuntimeError):
            encoding = _encoders().submit(files.write, group)
    if encoding is None:
        files.write(group)
    else:
        encoding.result()


class _BucketRows:
    """Rows of one bucket, or of a table without buckets, that wait for their row group."""

    def __init__(self, bucket: int | None) -> None:
        self.bucket = bucket
        self.files: FileWriter | ProcessFiles | None = None
        """Those of its row groups, from the first one on."""
        self.extra_files: FileWriter | None = None
        self.batches: list[pa.RecordBatch] = []
        self.rows = 0
        self.bytes = 0

    def add(self, batch: pa.RecordBatch, size: int) -> None:
        """Adds rows of `size` bytes."""
        self.batches.append(batch)
        self.rows += batch.num_rows
        self.bytes += size

    @property
    def is_full(self) -> bool:
        """Whether there are enough rows for a row group."""
        return self.rows >= GROUP_ROWS or self.bytes >= GROUP_BYTES

    def take_group(self) -> pa.Table:
        """Hands over the waiting rows as a row group."""
        made = pa.Table.from_batches(self.batches)
        self.batches, self.rows, self.bytes = [], 0, 0
        return made

    def finish(self) -> list[DataFile]:
        """Closes the last file; returns all files."""
        return [file for files in (self.files, self.extra_files) if files is not None for file in files.finish()]

    def abort(self) -> None:
        """Removes every file that was begun."""
        for files in (self.files, self.extra_files):
            if files is not None:
                files.abort()


def convert_rows(table: Table, schema: pa.Schema, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns a batch of exactly a table's columns, in order, in the stored form of `schema` (`stored_schema`).

    Raises 23502 for a NULL in a NOT NULL column.
    """
    if batch.num_columns != len(table.columns):
        raise InternalError(f"{batch.num_columns} columns reached table {table.name} of {len(table.columns)}")
    arrays = []
    for column, array, stored in zip(table.columns, batch.columns, schema):
        array = to_stored(array, column.type, stored.type)
        if column.not_null and array.null_count:
            raise null_violation(table, column, batch, array)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class DataWriter:
    """Writes the rows of one append into files of `directory`; `finish` returns them, `abort` removes them.

    Rows of a table that is distributed by hash go to files of one bucket each.

    With `durable`, files are synced when `finish` returns; the caller syncs the directory. `ascending` is true if the
    rows came in the order of a single-column primary key, without duplicates. A thread of the shared encoders encodes
    each full row group while the next one is collected; `processes` encode many rows of those that they have read.
    """

    def __init__(self, directory: Path, table: Table, *, durable: bool, processes: RowProcesses = IN_SERVER) -> None:
        self._table = table
        self._columns = table.columns
        self._keys = [i for i, column in enumerate(table.columns) if column.name in table.primary_key]
        self._schema = stored_schema(table.columns)
        hashed = table.hashed_by
        self._hashed = None if hashed is None else (table.columns.index(hashed), hashed.type)
        self._directory, self._durable = directory, durable
        self._waiting: dict[int | None, _BucketRows] = {}
        self._processes, self._are_shared = processes, False
        self._encoding: Future[Any] | None = None
        self._encoded: _BucketRows | None = None
        self.rows = 0
        self.ascending = len(self._keys) == 1
        self._last_key: pa.Scalar | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds a batch of exactly the table's columns, in order; raises 23502 for a NULL in a NOT NULL column."""
        self._are_shared = self._are_shared or self._processes.hold(batch)
        self.add_stored(convert_rows(self._table, self._schema, batch))

    def add_stored(self, batch: pa.RecordBatch) -> None:
        """Adds a batch that `convert_rows` has made."""
        if not batch.num_rows:
            return
        if self.ascending:
            self._compare_keys(batch.column(self._keys[0]))
        stored_batch = batch
        size = stored_batch.nbytes
        # A huge batch is split, so that a row group stays within its limits.
        step = max(1, min(batch.num_rows, GROUP_ROWS, GROUP_BYTES * batch.num_rows // max(size, 1)))
        for start in range(0, batch.num_rows, step):
            for bucket, part in self._split(stored_batch.slice(start, step)):
                bucket_rows = self._waiting.get(bucket)
                if bucket_rows is None:
                    bucket_rows = self._waiting[bucket] = _BucketRows(bucket)
                bucket_rows.add(part, size * part.num_rows // batch.num_rows)
                if bucket_rows.is_full:
                    self._submit(bucket_rows)
            if (
                self._hashed is not None
                and sum(bucket_rows.bytes for bucket_rows in self._waiting.values()) > MAX_WAITING_BYTES
            ):
                self._submit(max(self._waiting.values(), key=lambda bucket_rows: bucket_rows.bytes))
        self.rows += batch.num_rows

    def _open_files(self, bucket: int | None) -> FileWriter:
        durable = self._durable
        return FileWriter(self._directory, self._table, self._schema, FILE_BYTES, durable=durable, bucket=bucket)

    def _choose_files(self, bucket_rows: _BucketRows) -> FileWriter | ProcessFiles:
        """Returns what writes the row groups of a bucket, which is chosen when the first one is written."""
        if bucket_rows.files is None:
            is_apart = self._are_shared and bucket_rows.rows >= FEW_ROWS
            bucket_rows.files = (
                ProcessFiles(
                    self._directory, self._table, self._processes, durable=self._durable, bucket=bucket_rows.bucket
                )
                if is_apart
                else self._open_files(bucket_rows.bucket)
            )
        return bucket_rows.files

    def _split(self, batch: pa.RecordBatch) -> Iterable[tuple[int | None, pa.RecordBatch]]:
        return [(None, batch)] if self._hashed is None else split_by_bucket(batch, *self._hashed)

    @property
    def waiting_bytes(self) -> int:
        """The bytes in memory of rows that wait for their row group."""
        return sum(bucket_rows.bytes for bucket_rows in self._waiting.values())

    def write_waiting(self) -> None:
        """Writes the waiting rows of the fullest bucket as a row group."""
        self._submit(max(self._waiting.values(), key=lambda bucket_rows: bucket_rows.bytes))

    def finish(self) -> list[DataFile]:
        """Closes the last files and returns all files."""
        with disk_errors():
            self._write_last_rows()
            self._wait_for_encoder()
            lanes = sorted(
                self._waiting.values(), key=lambda bucket_rows: -2 if bucket_rows.bucket is None else bucket_rows.bucket
            )
            for bucket_rows in lanes:
                if bucket_rows.batches:
                    _encode(self._choose_files(bucket_rows), bucket_rows.take_group())
            return [file for bucket_rows in lanes for file in bucket_rows.finish()]

    def _write_last_rows(self) -> None:
        """Encodes the last rows while the encoder is still writing the row group before them."""
        bucket_rows = self._encoded
        if (
            bucket_rows is None
            or isinstance(bucket_rows.files, ProcessFiles)
            or self._encoding is None
            or self._encoding.done()
            or bucket_rows.bytes < MIN_EXTRA_FILE_BYTES
        ):
            return
        bucket_rows.extra_files = self._open_files(bucket_rows.bucket)
        _encode(bucket_rows.extra_files, bucket_rows.take_group())

    def abort(self) -> None:
        """Removes every file that was begun."""
        for bucket_rows in self._waiting.values():
            if isinstance(bucket_rows.files, ProcessFiles):
                bucket_rows.files.stop()
        with contextlib.suppress(Exception):
            self._wait_for_encoder()
        for bucket_rows in self._waiting.values():
            bucket_rows.abort()

    def _submit(self, bucket_rows: _BucketRows) -> None:
        """Submits a full row group to the encoder once the previous one is done, so that at most two are in memory."""
        if self._encoding is not None:
            with disk_errors():
                self._encoding.result()
        files = self._choose_files(bucket_rows)
        group = bucket_rows.take_group()
        if isinstance(files, ProcessFiles):
            self._encoding = files.submit(group)
        else:
            self._encoding = _encoders().submit(files.write, group)
        self._encoded = bucket_rows

    def _wait_for_encoder(self) -> None:
        """Waits for the row group that is being encoded."""
        encoding, self._encoding = self._encoding, None
        if encoding is not None:
            with disk_errors():
                encoding.result()

    def _compare_keys(self, keys: pa.Array) -> None:
        type = self._columns[self._keys[0]].type.name
        if type not in INTEGERS | {"date", "timestamp", "timestamptz"}:
            self.ascending = False
            return
        steps = pc.greater(keys[1:], keys[:-1])
        joined = self._last_key is None or pc.greater(keys[0], self._last_key).as_py()
        self.ascending = joined and pc.all(steps).as_py() is not False
        self._last_key = keys[-1]


@dataclass(frozen=True, slots=True)
class AppendResult:
    """Result of an append. `ascending` as in DataWriter."""

    files: tuple[DataFile, ...]
    rows: int
    ascending: bool


def write_files(
    directory: Path,
    table: Table,
    batches: Iterable[pa.RecordBatch],
    *,
    durable: bool,
    stored: bool = False,
    processes: RowProcesses = IN_SERVER,
) -> AppendResult:
    """Writes all batches to files of `directory`; nothing remains after an error. They may be in `stored` form.

    `processes` write many rows of those that they have read.
    """
    writer = DataWriter(directory, table, durable=durable, processes=processes)
    add = writer.add_stored if stored else writer.add
    try:
        for batch in batches:
            add(batch)
        return AppendResult(tuple(writer.finish()), writer.rows, writer.ascending)
    except BaseException:
        writer.abort()
        raise


def verify_checksums(path: Path) -> None:
    """Reads a whole data file and verifies its pages' checksums; raises XX001 if they differ or it is missing.

    Unlike `checksums.verify_files` it also decodes every page, and verifies a file however often it was read.
    """
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group)
    except FileNotFoundError as error:
        raise GpudbError(f'data file "{path}" does not exist', condition="data_corrupted") from error
    except (OSError, pa.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise GpudbError(f'data file "{path}" is damaged: {reason}', condition="data_corrupted") from error

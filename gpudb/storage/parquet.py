"""Writing a table's data files: batches in, Parquet files out, none left behind by a failure."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gpudb.catalog.model import Column, DataFile, Table
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.statistics import file_statistics
from gpudb.storage.stored import stored_schema, to_stored

FILE_BYTES = 128 << 20
"""A file is closed once it has this many bytes."""
GROUP_ROWS = 1 << 20
GROUP_BYTES = 64 << 20
"""A row group ends at GROUP_ROWS rows or GROUP_BYTES of Arrow memory, whichever comes first."""
BLOOM_ERROR = 0.01
"""How often a Bloom filter of a primary key says yes wrongly."""
SAMPLE_ROWS = 8192


class DataWriter:
    """Writes one append's rows into files of `directory`; `finish` gives them, `abort` removes them.

    With `durable`, files are on the disk once `finish` returns; the directory's own entry is the caller's.
    `ascending` says that the rows came in the order of a primary key of one column, no two alike.
    """

    def __init__(self, directory: Path, table: Table, *, durable: bool) -> None:
        self._directory = directory
        self._relation = table.name
        self._columns = table.columns
        self._keys = [i for i, column in enumerate(table.columns) if column.name in table.primary_key]
        self._durable = durable
        self._schema = stored_schema(table.columns)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._writer: pq.ParquetWriter | None = None
        self._path: Path | None = None
        self._with_nan: set[int] = set()
        self._files: list[DataFile] = []
        self.paths: list[Path] = []
        self.rows = 0
        self.ascending = len(self._keys) == 1
        self._last_key: pa.Scalar | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes a batch of exactly the table's columns, in order; 23502 for a NULL where none may be."""
        if batch.num_columns != len(self._columns):
            raise SqlError.of(
                "internal_error",
                f"{batch.num_columns} columns reached table {self._relation} of {len(self._columns)}",
            )
        arrays = []
        for column, array, stored in zip(self._columns, batch.columns, self._schema):
            array = to_stored(array, column.type, stored.type)
            if column.not_null and array.null_count:
                raise _null_violation(self._relation, column, batch, array)
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
                with disk_errors():
                    self._flush()
        self.rows += batch.num_rows

    def finish(self) -> list[DataFile]:
        """Closes the last file and gives all of them."""
        with disk_errors():
            self._flush()
            self._close_file()
        return self._files

    def abort(self) -> None:
        """Removes every file that was begun."""
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):
                self._writer.close()
            self._writer = None
        for path in self.paths:
            path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._pending:
            return
        group = pa.Table.from_batches(self._pending, schema=self._schema)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0
        for column, values in zip(self._columns, group.columns):
            floating = pa.types.is_floating(values.type)
            if floating and column.field_id not in self._with_nan and pc.any(pc.is_nan(values)).as_py():
                self._with_nan.add(column.field_id)
        if self._writer is None:
            self._path = self._directory / f"{uuid.uuid4().hex}.parquet"
            self._directory.mkdir(parents=True, exist_ok=True)
            self.paths.append(self._path)
            self._writer = self._open_file(self._path, group)
        self._writer.write_table(group, row_group_size=group.num_rows)
        if self._path is not None and self._path.stat().st_size >= FILE_BYTES:
            self._close_file()

    def _open_file(self, path: Path, group: pa.Table) -> pq.ParquetWriter:
        repeating, blooms = [], {}
        for index, (column, values) in enumerate(zip(self._columns, group.columns)):
            if _repeats(values):
                repeating.append(column.name)
            if index in self._keys and not pa.types.is_boolean(values.type):
                # An INSERT's look-up of its key skips row groups that their ranges do not rule out.
                blooms[column.name] = {"ndv": group.num_rows, "fpp": BLOOM_ERROR}
        return pq.ParquetWriter(
            path,
            self._schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=repeating,
            bloom_filter_options=blooms or None,
            store_decimal_as_integer=True,
            write_page_index=True,
            write_page_checksum=True,
            store_schema=False,
        )

    def _compare_keys(self, keys: pa.Array) -> None:
        type = self._columns[self._keys[0]].type.name
        if type not in {"int2", "int4", "int8", "date", "timestamp", "timestamptz"}:
            self.ascending = False
            return
        steps = pc.greater(keys[1:], keys[:-1])
        joined = self._last_key is None or pc.greater(keys[0], self._last_key).as_py()
        self.ascending = joined and pc.all(steps).as_py() is not False
        self._last_key = keys[-1]

    def _close_file(self) -> None:
        if self._writer is None or self._path is None:
            return
        collected: list[pq.FileMetaData] = []
        self._writer._metadata_collector = collected  # close() hands the footer over: no need to read it again
        self._writer.close()
        self._writer = None
        if self._durable:
            sync(self._path)
        size = self._path.stat().st_size
        self._files.append(
            file_statistics(str(self._path), size, collected[0], self._columns, frozenset(self._with_nan))
        )
        self._with_nan = set()


def _repeats(values: pa.ChunkedArray) -> bool:
    """Whether a dictionary would be worth its making: by a sample from the group's middle."""
    if pa.types.is_nested(values.type):
        return True
    if isinstance(values.type, pa.BaseExtensionType):
        return False
    sample = values.slice(len(values) // 2, SAMPLE_ROWS)
    return bool(pc.count_distinct(sample).as_py() * 2 <= len(sample))


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


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """53100 where the disk is full, 58030 where it fails otherwise."""
    try:
        yield
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} or "No space left" in str(error)
        condition = "disk_full" if full else "io_error"
        raise GpudbError(f"could not write a data file: {error}", condition=condition) from error


def sync(path: Path) -> None:
    """Brings a file, or a directory's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _null_violation(relation: str, column: Column, batch: pa.RecordBatch, array: pa.Array) -> SqlError:
    message = f'null value in column "{column.name}" of relation "{relation}" violates not-null constraint'
    row = pc.index(array.is_null(), True).as_py()
    values = ", ".join(_shown(batch.column(i)[row]) for i in range(batch.num_columns))
    return SqlError.of("not_null_violation", message, detail=f"Failing row contains ({values}).")


def _shown(value: pa.Scalar) -> str:
    """A value in an error's detail, as PostgreSQL cuts it at 64 bytes."""
    text: str
    if not value.is_valid or (isinstance(value.type, pa.StructType) and not value["v"].is_valid):
        return "null"
    if isinstance(value.type, pa.StructType):  # a carried numeric
        text = f"{value['v'].as_py():.{value['s'].as_py()}f}"
        return text
    if pa.types.is_boolean(value.type):
        return "t" if value.as_py() else "f"
    if pa.types.is_binary(value.type):
        return "\\x" + bytes(value.as_py()).hex()
    try:
        text = str(value.cast(pa.string()).as_py())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        text = str(value)
    return text if len(text.encode()) <= 64 else text.encode()[:64].decode("utf-8", "ignore") + "..."

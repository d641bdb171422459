"""Writes row groups into Parquet files of bounded size in a table's data folder."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.checksums import mark_verified
from gpudb.storage.iceberg.content_names import name_data_file
from gpudb.storage.iceberg.statistics import file_statistics
from gpudb.storage.private_files import create_file

if TYPE_CHECKING:
    import pyarrow.parquet as pq

FILE_BYTES = 128 << 20
"""A file is closed once it has this many bytes."""
BLOOM_ERROR = 0.01
"""False positive rate of a primary key's Bloom filter."""
_SYNCS = 16
"""Files that are synced at the same time."""
FEW_ROWS, SAMPLE_ROWS = 1 << 10, 1 << 13
"""Least and most rows of a sample of a row group."""


class FileWriter:
    """Writes row groups of `schema` (stored form) into new files; used by one thread at a time.

    A file ends once it has `file_bytes`. With `durable`, closed files are synced. All rows belong to `bucket`, if
    given. The files' names begin with `prefix`.
    """

    def __init__(
        self,
        directory: Path,
        table: Table,
        schema: pa.Schema,
        file_bytes: int,
        *,
        durable: bool,
        bucket: int | None = None,
        prefix: str = "",
    ) -> None:
        self._directory = directory
        self._columns = table.columns
        self._keys = frozenset(name for key in table.keys for name in key.columns)
        self._schema = schema
        self._file_bytes = file_bytes
        self._durable = durable
        self._bucket = bucket
        self._prefix = prefix
        self._writer: pq.ParquetWriter | None = None
        self._paths: list[Path] = []
        self._with_nan: set[int] = set()
        self._files: list[DataFile] = []

    def write(self, group: pa.Table) -> None:
        """Writes one row group."""
        for column, values in zip(self._columns, group.columns):
            floating = pa.types.is_floating(values.type)
            if floating and column.field_id not in self._with_nan and pc.any(pc.is_nan(values)).as_py():
                self._with_nan.add(column.field_id)
        if self._writer is None:
            self._paths.append(self._directory / f"{self._prefix}{uuid.uuid4().hex}.parquet")
            self._writer = self._open(self._paths[-1], group)
        self._writer.write_table(group, row_group_size=group.num_rows)
        if self._paths[-1].stat().st_size >= self._file_bytes:
            self._close()

    def finish(self) -> list[DataFile]:
        """Closes the last file and returns all files."""
        self._close()
        return self._files

    def abort(self) -> None:
        """Removes every file that was begun."""
        if self._writer is not None:
            self._writer._metadata_collector = None  # a footer that could not be written cannot be collected
            with contextlib.suppress(OSError, pa.ArrowException):
                self._writer.close()
            self._writer = None
        for path in self._paths:
            path.unlink(missing_ok=True)

    def _open(self, path: Path, group: pa.Table) -> pq.ParquetWriter:
        import pyarrow.parquet as pq

        repeating, blooms = [], {}
        for column, values in zip(self._columns, group.columns):
            if _has_repeats(values):
                repeating.append(column.name)
            if column.name in self._keys and not _unhashable(values.type):
                # The key look-up of an INSERT skips row groups that their ranges do not exclude.
                blooms[column.name] = {"ndv": group.num_rows, "fpp": BLOOM_ERROR}
        create_file(path)
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

    def _close(self) -> None:
        if self._writer is None:
            return
        path = self._paths[-1]
        collected: list[pq.FileMetaData] = []
        self._writer._metadata_collector = collected  # close() appends the footer, so it need not be read back
        self._writer.close()
        self._writer = None
        if self._durable:
            sync(path)
        path = self._paths[-1] = name_data_file(path, collected[0])
        mark_verified(path)
        nan = frozenset(self._with_nan)
        made = file_statistics(str(path), path.stat().st_size, collected[0], self._columns, nan)
        self._files.append(replace(made, bucket=self._bucket))
        self._with_nan = set()


def _has_repeats(values: pa.ChunkedArray) -> bool:
    """Returns whether a dictionary pays, by a sample from the group's middle.

    A few rows are enough for a column with few values, for one in which hardly any value comes twice, and for a small
    group, which is merged with others before long.
    """
    if pa.types.is_nested(values.type) or isinstance(values.type, pa.BaseExtensionType):
        return False
    middle, size = len(values) // 2, min(max(len(values) // 16, FEW_ROWS), SAMPLE_ROWS)
    few = values.slice(middle, FEW_ROWS)
    distinct = pc.count_distinct(few).as_py()
    if size == FEW_ROWS or distinct * 3 <= len(few) or distinct * 64 >= len(few) * 63:
        return bool(distinct * 2 <= len(few))
    sample = values.slice(middle, size)
    return bool(pc.count_distinct(sample).as_py() * 2 <= len(sample))


def _unhashable(type: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(type) or pa.types.is_nested(type))


@contextlib.contextmanager
def disk_errors() -> Iterator[None]:
    """Converts OSErrors: 53100 if the disk is full, else 58030."""
    try:
        yield
    except OSError as error:
        raise GpudbError(f"could not write a data file: {error}", condition=disk_condition(error)) from error


def disk_condition(error: OSError) -> str:
    """Returns the condition of an error in writing: 53100 if the disk is full, else 58030."""
    full = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} or "No space left" in str(error)
    return "disk_full" if full else "io_error"


def sync_all(paths: Sequence[Path]) -> None:
    """Syncs files at the same time, which takes hardly longer than one of them."""
    if len(paths) > 1:
        with ThreadPoolExecutor(min(len(paths), _SYNCS), "gpudb-sync") as pool:
            list(pool.map(sync, paths))
    else:
        list(map(sync, paths))


def sync(path: Path) -> None:
    """Syncs a file, or a directory's entries, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""A worker's partition of tables in host memory, by column and file; the least recently used are evicted first.

A statement that runs chunk by chunk adds nothing to the cache. It reads cached columns and takes the rest from files.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from gpudb.catalog.deleted_rows import Rows
from gpudb.catalog.file_tables import FilePart, get_file_path
from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.figures import track_step
from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.dictionaries import GrowingDictionary
from gpudb.engine.gpu.cache.file_parts import estimate_width, list_part_ends, read_lanes_of_part
from gpudb.engine.gpu.cache.partition import Partition, cached_partition, scan_partition
from gpudb.engine.gpu.cache.text_codes import TextCodes
from gpudb.engine.gpu.cache.vector_indexes import WorkerIndexes
from gpudb.engine.gpu.lower.expressions.arrow import series, to_physical_columns
from gpudb.engine.gpu.lower.expressions.host_fallback import repeat_text_value, restore_columns
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame
from gpudb.engine.gpu.lower.values import (
    Bounds,
    empty_frame,
    is_keyed,
    is_packed,
    physical_columns,
    type_bounds,
    unscaled_digits,
)
from gpudb.errors import SqlError
from gpudb.lru import IdentityKey, LruCache
from gpudb.plan.tree.nodes import INPUT, Scan
from gpudb.plan.tree.traversal import remap_columns
from gpudb.sql import bound
from gpudb.sql.traverse import join_conjuncts
from gpudb.storage.iceberg.column_layout import names_by_id, stored_duckdb_type
from gpudb.storage.iceberg.column_ranges import column_ranges
from gpudb.storage.object_stores.table_files import make_local
from gpudb.storage.partitions.pruning import prune_table
from gpudb.types import SqlType

_Key = tuple[str, int, SqlType, Partition] | tuple[str, int, SqlType, Partition, GrowingDictionary]
"""A file's id, a column's field id and type (which may widen), the partition, and the dictionary of its codes."""
_Rows = tuple[int, int]
"""The first row, and the row after the last."""


COLUMN_BYTES = 8 << 10
"""Least bytes in memory of a cached column of a file, however few its rows are."""
LOOKAHEAD = 2
"""Parts that are read or waited for, for each of the concurrent reads."""
CHECK_SECONDS = 5.0
"""Least time between two searches for columns of files that are removed."""

_Part = TypeVar("_Part")
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class _FileScan:
    """The rows of a file that a scan reads, and those that its worker caches."""

    file: DataFile
    wanted: _Rows
    held: _Rows


@dataclass(frozen=True, slots=True)
class _PartitionScan:
    """A scan over one partition: its columns with their bounds, and its files without the excluded ones."""

    columns: Sequence[Column]
    bounds: tuple[Bounds, ...]
    partition: Partition
    cached: Partition
    files: Sequence[_FileScan]


def _plan_scan(scan: Scan, partition: Partition, parameters: Sequence[object]) -> _PartitionScan:
    partition = scan_partition(scan, partition)
    cached = cached_partition(scan.table, partition)
    columns = [scan.table.columns[index] for index in scan.columns]
    wanted, held = partition.row_ranges(scan.table), cached.row_ranges(scan.table)
    files = [
        _FileScan(file, wanted[file.id], held[file.id])
        for file in pruned_files(scan, parameters)
        if len(range(*wanted[file.id]))
    ]
    bounds = tuple(column_bounds(scan.table, column) for column in columns)
    return _PartitionScan(columns, bounds, partition, cached, files)


@dataclass(frozen=True, slots=True)
class _HeldRows:
    """The rows of a file that a cached column has."""

    key: _Key
    file: DataFile
    held: _Rows

    def list_removed(self, part: _FileScan) -> Rows | None:
        """Returns the numbers in the cached column of the rows that a later state of the file lacks; None if its rows
        are not among those of the column.
        """
        assert part.file.deleted is not None
        rows = part.file.deleted.rows
        if self.file.deleted is not None:
            rows = np.setdiff1d(rows, self.file.deleted.rows, assume_unique=True)
            rows = rows - np.searchsorted(self.file.deleted.rows, rows)
        first, last = self.held
        begin, end = np.searchsorted(rows, (first, last))
        removed: Rows = rows[begin:end] - first
        same = part.held[0] == first - int(begin) and part.held[1] - part.held[0] == last - first - len(removed)
        return removed if same else None


class ResidentTables:
    """The columns that a worker caches; `budget` bounds their bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self.columns: ColumnCache[_Key, pl.DataFrame] = ColumnCache()
        self.indexes = WorkerIndexes(budget // 4)
        # A repeated statement has the same nodes. With parameters the excluded files may differ.
        self._scans: LruCache[tuple[IdentityKey[Scan], Partition], _PartitionScan] = LruCache(64)
        self._next_check = 0.0
        self._codes = TextCodes(self.columns)
        self._newest: LruCache[tuple[object, ...], _HeldRows] = LruCache(1 << 16)
        """The cached state of a file with deleted rows, or that file before, by its path and the rest of `_Key`."""

    def frame(
        self, scan: Scan, partition: Partition, parameters: Sequence[object], coded: frozenset[int] = frozenset()
    ) -> Frame:
        """Returns a scan's columns over a partition of the table's files; files excluded by the filter are skipped.

        The columns at positions `coded` are coded if they are worth it.
        """
        key = IdentityKey(scan), partition
        planned = None if parameters else self._scans.get(key)
        if planned is None:
            planned = _plan_scan(scan, partition, parameters)
            if not parameters:
                self._scans.put(key, planned)
        growing = self._coded_columns(scan.table, planned, coded) if coded else {}
        parts = [self._file_columns(scan.table, planned, each, growing) for each in planned.files]
        if parts:
            lazy = HostFrame(pl.concat(parts) if len(parts) > 1 else parts[0]).lazy
        else:
            types = tuple(column.type for column in planned.columns)
            lazy = (empty_frame(types) if types else pl.DataFrame(schema={NO_COLUMNS: pl.Boolean()})).lazy()
        texts = {place: self._codes.values(each) for place, each in growing.items()}
        return Frame(lazy, planned.bounds, texts=texts)

    def _coded_columns(
        self, table: Table, planned: _PartitionScan, coded: frozenset[int]
    ) -> dict[int, GrowingDictionary]:
        """Returns the dictionaries of the columns to code, by position, after all rows of the scan are encoded."""
        found: dict[int, GrowingDictionary] = {}
        if planned.partition.chunks > 1:
            return found
        for place in coded if planned.files else ():
            column = planned.columns[place]
            growing = self._codes.dictionary(table, column)
            if growing is not None and all(
                self._encode(table, column, planned, each, growing) for each in planned.files
            ):
                found[place] = growing
        return found

    def _encode(
        self, table: Table, column: Column, planned: _PartitionScan, part: _FileScan, growing: GrowingDictionary
    ) -> bool:
        """Caches the codes of a column of a file; returns False for a column that is not worth coding."""
        plain: _Key = (part.file.id, column.field_id, column.type, planned.cached)
        key: _Key = (*plain, growing)
        if self.columns.contains(key):
            return True
        if self._get(key, part, table, column) is not None:
            return True
        held = self._get(plain, part, table, column)
        if held is None:
            (held,) = read_lanes(part.file, [column], *part.held)
        if not self._codes.is_worth(table, column, held[""]):
            return False
        made = self._codes.encode(growing, held[""]).to_frame()
        self._put(key, made, part, table, column)
        self._evict_removed()
        self.columns.shrink(self._budget)
        return True

    def _file_columns(
        self, table: Table, planned: _PartitionScan, part: _FileScan, coded: Mapping[int, GrowingDictionary]
    ) -> pl.DataFrame:
        """Returns the wanted rows of a file, and caches its rows `held`."""
        file, wanted, held = part.file, part.wanted, part.held
        columns, partition = planned.columns, planned.partition
        first, last = wanted
        if not columns:
            return pl.DataFrame({NO_COLUMNS: pl.repeat(True, last - first, eager=True)})
        keys: list[_Key] = [(file.id, column.field_id, column.type, planned.cached) for column in columns]
        for place, growing in coded.items():
            keys[place] = (file.id, columns[place].field_id, columns[place].type, planned.cached, growing)
        kept = {key: self._get(key, part, table, column) for key, column in zip(keys, columns, strict=True)}
        found = {
            key: frame if held == wanted else frame.slice(first - held[0], last - first)
            for key, frame in kept.items()
            if frame is not None
        }
        missing = [(column, key) for column, key in zip(columns, keys, strict=True) if key not in found]
        if missing:
            read = wanted if partition.chunks > 1 else held
            lanes_of = read_lanes(file, [column for column, _ in missing], *read)
            for (column, key), lanes in zip(missing, lanes_of, strict=True):
                # Another thread may have evicted codes.
                made = lanes if len(key) == 4 else self._codes.encode(key[-1], lanes[""]).to_frame()
                found[key] = made if read == wanted else made.slice(first - held[0], last - first)
                if partition.chunks == 1:
                    self._put(key, made, part, table, column)
            self._evict_removed()
            self.columns.shrink(self._budget)
        parts = [
            found[key].rename({name: f"c{place}{name}" for name in found[key].columns})
            for place, key in enumerate(keys)
        ]
        return pl.DataFrame([series for part in parts for series in part])

    def _get(self, key: _Key, part: _FileScan, table: Table, column: Column) -> pl.DataFrame | None:
        """Returns a cached column of a file; made from that before the file's last deletion, if only that is cached."""
        found = self.columns.get(key)
        if found is not None or part.file.deleted is None:
            return found
        before = self._newest.get((part.file.path, *key[1:]))
        frame = None if before is None else self.columns.get(before.key)
        if before is None or frame is None or part.file.has_rows_beside(before.file):
            return None
        rows = before.list_removed(part)
        if rows is None:
            return None
        if len(rows):
            frame = frame.filter(pl.Series(_keep_all_but(rows, frame.height)))
        self._put(key, frame, part, table, column)
        return frame

    def _put(self, key: _Key, made: pl.DataFrame, part: _FileScan, table: Table, column: Column) -> None:
        """Caches a column of a file, in place of the same file's before its last deletion."""
        self.columns.put(key, made, max(int(made.estimated_size()), COLUMN_BYTES), table.oid, column.name)
        place = (part.file.path, *key[1:])
        before = self._newest.get(place)
        self._newest.put(place, _HeldRows(key, part.file, part.held))
        if before is not None and before.key != key:
            self.columns.discard_where(before.key.__eq__)

    def _evict_removed(self) -> None:
        """Evicts the columns of files that are removed: no snapshot reads them."""
        now = time.monotonic()
        if now >= self._next_check:
            self._next_check = now + CHECK_SECONDS
            exists = cache(os.path.exists)
            self.columns.discard_where(lambda key: not exists(get_file_path(key[0])))

    @property
    def bytes(self) -> int:
        """The bytes of the cached columns."""
        return self.columns.bytes

    def shrink(self, excess: int) -> None:
        """Evicts at least `excess` bytes of columns, as far as columns are not pinned."""
        self.columns.shrink(self.bytes - excess)


def read_concurrently(read: Callable[[_Part], _Read], parts: Sequence[_Part], most: int) -> Iterator[_Read]:
    """Yields the result of `read` for each part, in order, with up to `most` reads at once.

    One part is decoded while another waits for its file. A part that takes long delays none of the `most` after it.
    Once the statement has ended, no further part is read.
    """

    def read_next(part: _Part) -> _Read:
        check_stop()
        return read(part)

    if len(parts) < 2:
        yield from map(read_next, parts)
        return
    pool = ThreadPoolExecutor(min(most, len(parts)))
    try:
        coming: deque[Future[_Read]] = deque()
        for part in parts:
            # The statement's variables, to which reads are recorded.
            coming.append(pool.submit(copy_context().run, read_next, part))
            if len(coming) == LOOKAHEAD * most:
                yield coming.popleft().result()
        while coming:
            yield coming.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def split_rows(file: DataFile, first: int, last: int, step: int) -> list[tuple[int, int]]:
    """Splits live rows `first` to `last` of a file into runs of at most `step` rows.

    Runs end where row groups end: a row group that is split is decoded once for each of its runs.
    """
    ends = [file.count_live(end) for end in _group_ends(file)] if last - first > step else []
    found: list[tuple[int, int]] = []
    while first < last:
        place = bisect_right(ends, min(first + step, last)) - 1
        end = ends[place] if place >= 0 and ends[place] > first and first + step < last else min(first + step, last)
        found.append((first, end))
        first = end
    return found


def _group_ends(file: DataFile) -> tuple[int, ...]:
    """Returns the row count up to the end of each row group.

    Empty for an unreadable file, whose reader raises the error.
    """
    if isinstance(file, FilePart):
        return list_part_ends(file)
    try:
        return _read_group_ends(file.path, Path(file.path).stat().st_mtime_ns)
    except (OSError, pa.ArrowException):
        return ()


@lru_cache(1024)
def _read_group_ends(path: str, changed: int) -> tuple[int, ...]:
    described = pq.read_metadata(path)
    return tuple(accumulate(described.row_group(number).num_rows for number in range(described.num_row_groups)))


def stored_width(file: DataFile, column: Column) -> float:
    """Returns the average uncompressed bytes of a column's value in a file; 0 if unknown."""
    if isinstance(file, FilePart):
        return estimate_width(file, column)
    try:
        return _read_widths(file.path, Path(file.path).stat().st_mtime_ns).get(column.field_id, 0)
    except (OSError, pa.ArrowException):
        return 0


@lru_cache(1024)
def _read_widths(path: str, changed: int) -> Mapping[int, float]:
    described = pq.read_metadata(path)
    sizes: Counter[str] = Counter()
    for number in range(described.num_row_groups):
        group = described.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            sizes[chunk.path_in_schema] += chunk.total_uncompressed_size
    names = names_by_id(described.schema.to_arrow_schema())
    return {number: sizes[name] / max(described.num_rows, 1) for number, name in names.items()}


def pruned_files(scan: Scan, parameters: Sequence[object]) -> tuple[DataFile, ...]:
    """Returns the files of a scan's table, without those that its filter excludes by their statistics."""
    files = _list_pruned(scan, parameters)
    make_local(each.path for each in files if not isinstance(each, FilePart))
    return files


def _list_pruned(scan: Scan, parameters: Sequence[object]) -> tuple[DataFile, ...]:
    condition = join_conjuncts(tuple(each for each in (scan.filter, scan.optional_filter) if each is not None))
    if condition is None:
        return scan.table.files
    if isinstance(condition, bound.Constant):
        return scan.table.files if condition.value is True else ()
    over = remap_columns(condition, scan.columns.__getitem__)
    return prune_table(scan.table, column_ranges(over, INPUT, scan.table, tuple(parameters)))


@track_step("loading")
def read_lanes(file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[pl.DataFrame]:
    """Reads live rows of a file's columns, each as the physical columns of its type, named by suffix."""
    check_stop()
    if first == last:
        return [pl.DataFrame(schema=physical_columns(column.type)) for column in columns]
    if isinstance(file, FilePart):
        return read_lanes_of_part(file, columns, first, last)
    arrays = _read_arrays(file, columns, first, last)
    return [
        repeat_text_value(column.initial, column.type, last - first)
        if array is None and column.initial is not None
        else to_lanes(pa.chunked_array([pa.nulls(last - first)]) if array is None else array, column.type)
        for column, array in zip(columns, arrays, strict=True)
    ]


def _read_arrays(file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[pa.ChunkedArray | None]:
    """Reads live rows of a file's columns by field id, in stored form; None for a column newer than the file."""
    first, last = file.stored_range(first, last)
    try:
        with pq.ParquetFile(file.path, page_checksum_verification=True) as opened:
            names = names_by_id(opened.schema_arrow)
            groups: list[int] = []
            start = skipped = 0
            for number in range(opened.metadata.num_row_groups):
                rows = opened.metadata.row_group(number).num_rows
                if start + rows > first and start < last:
                    skipped = start if not groups else skipped
                    groups.append(number)
                start += rows
            wanted = [names[column.field_id] for column in columns if column.field_id in names]
            table = opened.read_row_groups(groups, columns=wanted).slice(first - skipped, last - first)
            if file.deleted is not None and len(deleted := file.deleted.within(first, last)):
                table = table.filter(pa.array(_keep_all_but(deleted, len(table))))
    except (OSError, pa.ArrowException) as error:
        raise SqlError.of("data_corrupted", f'could not read file "{file.path}": {error}') from error
    return [table.column(names[each.field_id]) if each.field_id in names else None for each in columns]


def _keep_all_but(rows: Rows, count: int) -> npt.NDArray[np.bool_]:
    """Returns a mask over `count` rows, without those of some numbers."""
    mask = np.ones(count, np.bool_)
    mask[rows] = False
    return mask


def to_lanes(array: pa.ChunkedArray, kind: SqlType) -> pl.DataFrame:
    """Converts a stored column to the physical columns of its type, each named by its suffix."""
    held = physical_columns(kind)
    if pa.types.is_null(array.type):
        return pl.DataFrame({s: pl.repeat(None, len(array), dtype=each, eager=True) for s, each in held.items()})
    if kind.name == "uuid":
        return pl.DataFrame({"": _format_uuids(array)})
    if kind.is_carried and kind.name == "numeric":
        value, shown = array.combine_chunks().flatten()
        return pl.DataFrame({"": series(value, held[""]), "s": series(shown, held["s"])})
    if kind.name == "vector" or is_packed(kind):
        return to_physical_columns(array.combine_chunks(), kind)
    if stored_duckdb_type(kind) != kind.duckdb or is_keyed(kind):
        return restore_columns(array, kind)
    return pl.DataFrame({"": series(array, held[""])})


def _format_uuids(array: pa.ChunkedArray) -> pl.Series:
    storage = pa.chunked_array([chunk.storage for chunk in array.chunks], pa.binary(16))
    digits = pl.Series(pl.from_arrow(storage.cast(pa.binary()))).bin.encode("hex")
    places = ((0, 8), (8, 4), (12, 4), (16, 4), (20, 12))
    frame = pl.DataFrame({"h": digits})
    parts = [pl.col("h").str.slice(start, length) for start, length in places]
    return frame.select(pl.concat_str(parts, separator="-").alias(""))[""]


def column_bounds(table: Table, column: Column) -> Bounds:
    """Returns the least and the greatest digits in an integer or numeric column, from its files' statistics."""
    known = type_bounds(column.type)
    if known is None:
        return None
    found: list[int] = []
    scale = column.type.numeric_digits[1] if column.type.name == "numeric" else 0
    for file in table.files:
        low, high = file.minimums.get(column.field_id), file.maximums.get(column.field_id)
        if not isinstance(low, int | Decimal) or not isinstance(high, int | Decimal):
            if file.nulls.get(column.field_id) == file.rows:
                continue
            return known
        found += [unscaled_digits(Decimal(low), scale), unscaled_digits(Decimal(high), scale)]
    return (min(found), max(found)) if found else (0, 0)

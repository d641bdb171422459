"""A worker's share of tables in its GPU's memory, as cudf-polars reads them; evicted by least recent use.

A column has the rows of all files that have been read of it, in the table's order. A new snapshot adds the rows of its
new files; a scan of some of the files gets slices. A statement that reads its share in chunks caches nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pylibcudf as plc

from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.figures import track_step
from gpudb.engine.gpu.backend.dictionary import Dictionary
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.file_parts import merge_parts
from gpudb.engine.gpu.cache.host_columns import column_bounds, pruned_files, read_concurrently
from gpudb.engine.gpu.cache.partition import Partition, cached_partition, scan_partition
from gpudb.engine.gpu.cache.text_codes import MOSTLY, SAMPLE_ROWS
from gpudb.engine.gpu.cache.vector_indexes import WorkerIndexes
from gpudb.engine.gpu.cudf.backend import CudfBackend
from gpudb.engine.gpu.cudf.columns.arrays import encode_column
from gpudb.engine.gpu.cudf.columns.convert import build_frame, data_type
from gpudb.engine.gpu.cudf.columns.frame import CudfFrame
from gpudb.engine.gpu.cudf.files.reader import empty_columns, read_columns
from gpudb.engine.gpu.cudf.memory.streams import current_stream, synchronize
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.packed_cache.read_batches import CONCURRENT_READS, count_readers
from gpudb.engine.gpu.lower.expressions.lowered_frame import NO_COLUMNS, Frame
from gpudb.engine.gpu.lower.expressions.text_codes import MAX_TEXTS
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.plan.tree.nodes import Scan
from gpudb.types import SqlType

_Key = tuple[int, int, SqlType, Partition] | tuple[int, int, SqlType, Partition, str]
"""A table's oid, a column's field id and type (which may widen, or have its labels renamed), the share, and whether the
column is its codes.
"""


MERGED_ROWS = 1 << 24
"""Maximum rows of parts of a file that are read at once."""
_WIDTH = 16
"""Assumed bytes of a value, texts included."""
_Rows = tuple[int, int]
"""A file's first row, and the row after the last."""


@dataclass(frozen=True, slots=True)
class _ResidentColumn:
    """A column over the shares of some files, by id in order; a newer snapshot may lack some of them."""

    files: Mapping[str, _Rows]
    parts: tuple[Any, ...]
    bytes: int
    texts: Dictionary | None = None
    """The dictionary of a column of codes."""


class CudfTableCache:
    """Caches columns in a worker's GPU memory; `budget` limits their bytes together with those of `packed`."""

    def __init__(self, budget: int, frames: CudfBackend, packed: PackedTables | None = None) -> None:
        self._budget = budget
        self._packed = packed
        self._backend = frames
        self.columns: ColumnCache[_Key, _ResidentColumn] = ColumnCache()
        self.indexes = WorkerIndexes(budget // 4)
        self._distinct: set[tuple[int, int]] = set()

    @property
    def bytes(self) -> int:
        """Bytes of the cached columns."""
        return self.columns.bytes

    def frame(
        self, scan: Scan, partition: Partition, parameters: Sequence[object], coded: frozenset[int] = frozenset()
    ) -> Frame:
        """Returns a scan's columns over this worker's share of the files that its filter does not exclude.

        The columns at positions `coded` are codes if they are worth it.
        """
        partition = scan_partition(scan, partition)
        rows_by_id = partition.row_ranges(scan.table)
        files = tuple(file for file in pruned_files(scan, parameters) if _length(rows_by_id[file.id]))
        columns = [scan.table.columns[index] for index in scan.columns]
        rows = sum(_length(rows_by_id[file.id]) for file in files)
        names: list[str] = []
        kinds: list[Any] = []
        arrays: list[Any] = []
        codes: dict[int, tuple[Any, Dictionary]] = {}
        for position in coded if files and partition.chunks == 1 else ():
            one = self._coded_column(scan, columns[position], files, partition, rows_by_id)
            if one is not None:
                codes[position] = one
        found = self._cached_columns if partition.chunks == 1 else self._chunk_columns
        plain = [column for position, column in enumerate(columns) if position not in codes]
        every = iter(found(scan, plain, files, partition, rows_by_id))
        for position, column in enumerate(columns):
            held = {"": pl.Int32()} if position in codes else physical_columns(column.type)
            parts = [codes[position][0]] if position in codes else next(every)
            for (suffix, kind), array in zip(held.items(), parts, strict=True):
                names.append(f"c{position}{suffix}")
                kinds.append(data_type(kind))
                arrays.append(array)
        if not columns:
            names, kinds = [NO_COLUMNS], [data_type(pl.Boolean())]
            one = plc.Scalar.from_py(True, kinds[0].plc_type, stream=current_stream())
            arrays = [plc.Column.from_scalar(one, rows, stream=current_stream())]
            synchronize()
        made = CudfFrame(build_frame(arrays, names, kinds, rows), self._backend)
        bounds = tuple(column_bounds(scan.table, column) for column in columns)
        return Frame(made.lazy, bounds, texts={position: texts for position, (_, texts) in codes.items()})

    def _coded_column(
        self,
        scan: Scan,
        column: Column,
        files: tuple[DataFile, ...],
        partition: Partition,
        rows_by_id: Mapping[str, _Rows],
    ) -> tuple[Any, Dictionary] | None:
        """Returns a text column's codes over a share of some files, and their dictionary; caches them.

        None for a column that is not worth coding. Files that are new to the codes are encoded together with the rest.
        """
        table, whole = scan.table, cached_partition(scan.table, partition)
        if (table.oid, column.field_id) in self._distinct:
            return None
        key = (table.oid, column.field_id, column.type, whole, "codes")
        held = self.columns.get(key)
        if held is None or held.texts is None or not all(file.id in held.files for file in files):
            owned = whole.row_ranges(table)
            ids = {file.id for file in files} | set(held.files if held is not None else ())
            every = tuple(file for file in table.files if file.id in ids)
            (texts,) = self._cached_column(scan, column, every, whole, owned)
            if _is_mostly_distinct(texts):
                self._distinct.add((table.oid, column.field_id))
                return None
            codes, dictionary = self._backend.retry_with_memory(lambda: encode_column(texts))
            size = int(codes.device_buffer_size())
            held = _ResidentColumn({file.id: owned[file.id] for file in every}, (codes,), size, dictionary)
            self.columns.put(key, held, size, table.oid, column.name)
            beside = self._packed.bytes if self._packed is not None else 0
            self.columns.shrink(self._budget - beside, least=1)
        assert held.texts is not None
        if partition == whole and list(held.files) == [file.id for file in files]:
            return held.parts[0], held.texts
        return _slice_column(held, files, rows_by_id)[0], held.texts

    def _cached_columns(
        self,
        scan: Scan,
        columns: Sequence[Column],
        files: tuple[DataFile, ...],
        partition: Partition,
        rows_by_id: Mapping[str, _Rows],
    ) -> list[list[Any]]:
        """Returns columns over a share of some files of their table, and caches them."""
        self._load(scan, columns, files, partition)
        return [self._cached_column(scan, column, files, partition, rows_by_id) for column in columns]

    def _chunk_columns(
        self,
        scan: Scan,
        columns: Sequence[Column],
        files: tuple[DataFile, ...],
        partition: Partition,
        rows_by_id: Mapping[str, _Rows],
    ) -> list[list[Any]]:
        """Returns columns over a chunk of a share; columns that are not cached are read together, and not cached."""
        whole = cached_partition(scan.table, partition)
        kept = [self.columns.get((scan.table.oid, column.field_id, column.type, whole)) for column in columns]
        kept = [held if held and all(file.id in held.files for file in files) else None for held in kept]
        missing = [column for column, held in zip(columns, kept, strict=True) if held is None]
        fresh = iter(_read_files(missing, [(file, rows_by_id[file.id]) for file in files]))
        return [next(fresh) if held is None else _slice_column(held, files, rows_by_id) for held in kept]

    def _load(self, scan: Scan, columns: Sequence[Column], files: tuple[DataFile, ...], partition: Partition) -> None:
        """Reads missing columns concurrently, if there is room for twice their size."""
        whole = cached_partition(scan.table, partition)
        owned = whole.row_ranges(scan.table)
        missing = [
            column
            for column in columns
            if not self.columns.contains((scan.table.oid, column.field_id, column.type, whole))
        ]
        rows = sum(_length(each) for each in owned.values())
        if len(missing) < 2 or self.bytes + 2 * _WIDTH * rows * min(len(missing), CONCURRENT_READS) > self._budget:
            return
        for _ in read_concurrently(
            lambda column: self._cached_column(scan, column, files, whole, owned), missing, CONCURRENT_READS
        ):
            pass

    def _cached_column(
        self,
        scan: Scan,
        column: Column,
        files: tuple[DataFile, ...],
        partition: Partition,
        rows_by_id: Mapping[str, _Rows],
    ) -> list[Any]:
        """Returns a column over a share of some files of its table."""
        table, whole = scan.table, cached_partition(scan.table, partition)
        owned = whole.row_ranges(table)
        key = (scan.table.oid, column.field_id, column.type, whole)
        held = self.columns.get(key)
        if held is None or not all(file.id in held.files for file in files):
            held = self._extend(key, held, scan, column, files, owned)
        if partition == whole and list(held.files) == [file.id for file in files]:
            return list(held.parts)
        return _slice_column(held, files, rows_by_id)

    def _extend(
        self,
        key: _Key,
        held: _ResidentColumn | None,
        scan: Scan,
        column: Column,
        files: tuple[DataFile, ...],
        owned: Mapping[str, _Rows],
    ) -> _ResidentColumn:
        """Extends a cached column by the files that it lacks; drops those that have left the table."""
        rows_by_id = {file.id for file in files} | set(held.files if held else ())
        order = tuple(file for file in scan.table.files if file.id in rows_by_id)
        old: dict[str, list[list[Any]]] = {}
        if held is not None:
            start = 0
            for id, rows in held.files.items():
                last = start + _length(rows)
                old[id] = [[plc.copying.slice(part, [start, last], stream=current_stream())[0] for part in held.parts]]
                start = last
        (whole,) = _read_files([column], [(file, owned[file.id]) for file in order], old)
        made = _ResidentColumn(
            {file.id: owned[file.id] for file in order},
            tuple(whole),
            sum(int(each.device_buffer_size()) for each in whole),
        )
        self.columns.put(key, made, made.bytes, scan.table.oid, column.name)
        beside = self._packed.bytes if self._packed is not None else 0
        self.columns.shrink(self._budget - beside, least=1)
        return made


def _is_mostly_distinct(texts: Any) -> bool:
    """Whether a large column's first texts are mostly distinct."""
    if texts.size() <= MAX_TEXTS:
        return False
    (sample,) = plc.copying.slice(texts, [0, SAMPLE_ROWS], stream=current_stream())
    nulls, nans = plc.types.NullPolicy.INCLUDE, plc.types.NanPolicy.NAN_IS_VALID
    return int(plc.reduce.distinct_count(sample, nulls, nans, stream=current_stream())) > MOSTLY * SAMPLE_ROWS


def _length(rows: _Rows) -> int:
    return rows[1] - rows[0]


def _slice_column(held: _ResidentColumn, files: Sequence[DataFile], rows_by_id: Mapping[str, _Rows]) -> list[Any]:
    """Returns the wanted rows of some files from a cached column that has them all."""
    edges: dict[str, tuple[int, int]] = {}
    start = 0
    for id, (skipped, end) in held.files.items():
        first, last = rows_by_id.get(id, (0, 0))
        edges[id] = start + first - skipped, start + last - skipped
        start += end - skipped
    runs: list[int] = []
    for file in files:
        first, last = edges[file.id]
        if runs and runs[-1] == first:
            runs[-1] = last
        else:
            runs += [first, last]
    return [_concatenate(plc.copying.slice(part, runs, stream=current_stream()), part) for part in held.parts]


@track_step("loading")
def _read_files(
    columns: Sequence[Column],
    files: Sequence[tuple[DataFile, _Rows]],
    old: Mapping[str, list[list[Any]]] | None = None,
) -> list[list[Any]]:
    """Reads columns over rows of files, some of which may have been read before."""
    known = old or {}
    if not columns:
        return []
    ahead: list[tuple[DataFile, int, int]] = []
    reads: list[list[list[Any]] | None] = []
    for file, (first, last) in files:
        if file.id in known:
            reads.append(known[file.id])
        else:
            ahead.append((file, first, last))
            reads.append(None)
    if len(ahead) == len(files):  # no other column is between them
        ahead = merge_parts(ahead, MERGED_ROWS)
        reads = [None] * len(ahead)
    most = count_readers([file for file, *_ in ahead])
    fresh = read_concurrently(lambda one: read_columns(one[0], columns, *one[1:]), ahead, most)
    parts = [next(fresh) if each is None else each for each in reads]
    if not parts:
        return [empty_columns(column) for column in columns]
    return [
        [
            _concatenate([part[position][number] for part in parts], parts[0][position][number])
            for number in range(len(parts[0][position]))
        ]
        for position in range(len(columns))
    ]


def _concatenate(parts: Sequence[Any], like: Any) -> Any:
    """Concatenates columns, and waits for the result."""
    if not parts:
        return plc.copying.empty_like(like, stream=current_stream())
    if len(parts) == 1:
        return parts[0]
    made = plc.concatenate.concatenate(list(parts), stream=current_stream())
    synchronize()
    return made

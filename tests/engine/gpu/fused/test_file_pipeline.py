"""Scans of files as a pipeline: parts are read while earlier ones are packed, and stay in their order."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.file_tables import FileFormat, FileRequest
from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.packed_cache import read_batches
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.packed_cache.read_batches import plan_reads
from gpudb.engine.gpu.fused.unsupported import NotFused
from gpudb.storage.files.parts import open_part_table
from gpudb.storage.files.schema import open_file_table

_PART = 100
"""Rows of a row group or record batch."""
_PARTS = 20
_FILES = 3
_WAIT = 60.0


def _make_table(folder: Path, format: FileFormat) -> Table:
    for number in range(_FILES):
        start = number * _PARTS * _PART
        ids = np.arange(start, start + _PARTS * _PART)
        rows = pa.table({"id": ids, "twice": 2 * ids})
        path = folder / f"{number}.{format}"
        if format == "parquet":
            pq.write_table(rows, path, row_group_size=_PART)
        else:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
                out.write_table(rows, max_chunksize=_PART)
    files = open_file_table(FileRequest((f"{folder}/*.{format}",), format))
    table = open_part_table(files)
    assert table is not None
    return table


@pytest.fixture(params=["parquet", "arrow"])
def table(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    """A table of files, of whose parts a few are read at once."""
    monkeypatch.setattr(read_batches, "CONCURRENT_PARTS", 4)
    monkeypatch.setattr(read_batches, "MIN_PART_BYTES", 1 << 10)
    return _make_table(tmp_path, request.param)


def _columns(table: Table) -> list[Column]:
    return [column for column in table.columns if column.name in ("id", "twice")]


def test_reads_are_even_and_of_whole_parts(table: Table) -> None:
    parts = [(file, 0, file.rows) for file in table.files]
    plan = plan_reads(parts, _columns(table), 1 << 30)
    sizes = [read.last - read.first for read in plan]
    assert sum(sizes) == _FILES * _PARTS * _PART
    assert len(plan) >= 4 * read_batches.PART_ROUNDS
    assert all(size % _PART == 0 for size in sizes)
    assert min(sizes) * 2 >= max(sizes)
    assert {read.columns for read in plan} == {(0, 1)}


class _SteppedReader(HostChunkReader):
    """A reader whose first reads wait for each other, and whose packing of the first part waits for a later read."""

    def __init__(self, concurrent: int) -> None:
        self.started = self.packed = 0
        self._concurrent = concurrent
        self._changed = threading.Condition()

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        with self._changed:
            self.started += 1
            self._changed.notify_all()
            assert self._changed.wait_for(lambda: self.started >= self._concurrent, _WAIT)
        return super().read(file, columns, first, last)

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        with self._changed:
            self.packed += 1
            if self.packed == 1:
                assert self._changed.wait_for(lambda: self.started > self._concurrent, _WAIT)
        return super().pack(chunks)


@pytest.mark.parametrize("in_order", [False, True])
def test_several_parts_are_read_at_once_and_packed_meanwhile(table: Table, in_order: bool) -> None:
    """Whether the threads that read pack, too, or one after another is packed."""
    reader = _SteppedReader(4)
    reader.packs_in_order = in_order
    tables = PackedTables(1 << 30, reader)
    (run,) = tables.runs(table, WHOLE, table.files)
    columns = _columns(table)
    assert tables.load(table, columns, run, WHOLE) == []
    assert reader.started > 4
    ids, twice = (
        tables.column(table, column, run, WHOLE, tables.variant(table, column)).decode()[0] for column in columns
    )
    assert (ids == np.arange(_FILES * _PARTS * _PART)).all()
    assert (twice == 2 * ids).all()


class _LateFirst(HostChunkReader):
    """A reader whose first part is there only after another one is packed."""

    def __init__(self) -> None:
        self.packed = threading.Event()
        self.overtaken = False

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        if first == 0 and file.path.partition("\0")[0].endswith(("0.parquet", "0.arrow")):
            self.overtaken = self.packed.wait(_WAIT)
        return super().read(file, columns, first, last)

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        made = super().pack(chunks)
        self.packed.set()
        return made


def test_a_late_part_holds_up_no_other_and_keeps_its_place(table: Table) -> None:
    reader = _LateFirst()
    tables = PackedTables(1 << 30, reader)
    (run,) = tables.runs(table, WHOLE, table.files)
    (column,) = (each for each in _columns(table) if each.name == "id")
    assert tables.load(table, [column], run, WHOLE) == []
    assert reader.overtaken
    found = tables.column(table, column, run, WHOLE, tables.variant(table, column)).decode()[0]
    assert (found == np.arange(_FILES * _PARTS * _PART)).all()


def test_known_files_are_planned_once_and_changed_ones_anew(tmp_path: Path) -> None:
    first = _make_table(tmp_path, "parquet")
    assert _same(tmp_path) is first
    pq.write_table(pa.table({"id": [7], "twice": [14]}), tmp_path / "0.parquet")
    changed = _same(tmp_path)
    assert changed is not first
    assert changed.rows == first.rows - _PARTS * _PART + 1


def _same(folder: Path) -> Table:
    table = open_part_table(open_file_table(FileRequest((f"{folder}/*.parquet",), "parquet")))
    assert table is not None
    return table

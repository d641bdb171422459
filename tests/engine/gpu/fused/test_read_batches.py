"""Read batches of files, and smaller ones when memory is full."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.gpu.cache.partition import WHOLE
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn
from gpudb.engine.gpu.fused.packed_cache import read_batches
from gpudb.engine.gpu.fused.packed_cache.column_chunks import ColumnChunk, HostChunkReader
from gpudb.engine.gpu.fused.packed_cache.packed_tables import PackedTables
from gpudb.engine.gpu.fused.packed_cache.read_batches import ReadBatch, plan_reads, run_reads
from gpudb.engine.gpu.fused.unsupported import NotFused
from gpudb.errors import SqlError
from tests.support.lab import Lab

T = TypeVar("T")
ROWS = 4000
NOWHERE = DataFile("nothing.parquet", 1 << 22, 0)
"""Files without metadata of row groups."""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    try:
        made.run("CREATE TABLE f (a bigint, b int, c text, d numeric(30,2), e date, f float8, g text)")
        for start in (0, ROWS, 2 * ROWS):
            made.run(
                f"INSERT INTO f SELECT i, i % 7, 't' || i % 9, NULLIF(i % 5, 0), '2020-01-01'::date + (i % 99)::int,"
                f" i / 8.0, repeat('a longer text ', 10) || i FROM generate_series({start}::bigint, {start + ROWS - 1}) i"
            )
        yield made
    finally:
        made.close()


def _table(lab: Lab) -> Table:
    table = lab.database.store.catalog().relation("public", "f")
    assert isinstance(table, Table)
    return table


def _parts(table: Table) -> list[tuple[DataFile, int, int]]:
    return [(file, 0, file.rows) for file in table.files]


def _named(table: Table, names: str) -> list[Column]:
    return [column for column in table.columns if column.name in names]


def _whole(plan: Sequence[ReadBatch], table: Table, count: int) -> None:
    """Each row of each column is read once, in the files' order."""
    for place in range(count):
        found = [read for read in plan if place in read.columns]
        assert [read.file.path for read in found] == sorted(
            (read.file.path for read in found), key=[file.path for file in table.files].index
        )
        for file in table.files:
            ends = [(read.first, read.last) for read in found if read.file == file]
            assert (ends[0][0], ends[-1][1]) == (0, file.rows)
            assert all(before[1] == after[0] for before, after in pairwise(ends))


@pytest.mark.parametrize("names", ["a", "abef", "d"])
@pytest.mark.parametrize("bound", [1 << 10, 1 << 14, 1 << 16, 1 << 29])
def test_reads_are_as_large_as_their_bound(names: str, bound: int, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batches, "MAX_BYTES", bound)
    table = _table(lab)
    columns = _named(table, names)
    plan = plan_reads(_parts(table), columns, 1 << 40)
    _whole(plan, table, len(columns))
    width = 16 if names == "d" else 8
    assert all((read.last - read.first) * len(read.columns) * width <= bound for read in plan)
    if bound == 1 << 29:
        assert [read.columns for read in plan] == [tuple(range(len(columns)))] * len(table.files)


def test_more_columns_than_the_bound_has_room_for_are_read_in_groups(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batches, "MAX_BYTES", 1 << 14)
    monkeypatch.setattr(read_batches, "MIN_ROWS", 1 << 10)
    table = _table(lab)
    plan = plan_reads(_parts(table), _named(table, "abef"), 1 << 40)
    assert {read.columns for read in plan} == {(0, 1), (2, 3)}
    # The row groups of a batch are adjacent in the file.
    assert [read.columns for read in plan[:2]] == [(0, 1), (2, 3)]
    assert (plan[0].first, plan[0].last) == (plan[1].first, plan[1].last)


def test_a_small_budget_bounds_reads_too(lab: Lab) -> None:
    table = _table(lab)
    large, small = (plan_reads([(table.files[0], 0, 1 << 22)], _named(table, "ab"), budget) for budget in (1 << 34, 1))
    assert [read.columns for read in large] == [(0, 1)]
    assert {read.columns for read in small} == {(0,), (1,)}
    assert max(read.last - read.first for read in small) * 8 <= 1 << 24
    assert plan_reads([(table.files[0], 5, 5)], _named(table, "ab"), 1) == []
    assert plan_reads([], _named(table, "ab"), 1) == []


def test_long_texts_count_as_what_they_take_in_their_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_batches, "MAX_BYTES", 1 << 16)
    lab = Lab()
    try:
        lab.run("CREATE TABLE f (c text, g text)")
        texts = {"c": [f"t{i % 9}" for i in range(ROWS)], "g": ["x" * 90 + f"{i:10}" for i in range(ROWS)]}
        pq.write_table(pa.table(texts), tmp_path / "a.parquet", use_dictionary=["c"])
        lab.run(f"SELECT add_files('f', '{tmp_path}/a.parquet')")
        table = _table(lab)
        short, long = (plan_reads(_parts(table), [column], 1 << 40) for column in table.columns)
        assert len(short) == 1
        rows = {read.last - read.first for read in long}
        assert max(rows) <= (1 << 16) // 100
        assert len(long) > 6
        _whole(long, table, 1)
    finally:
        lab.close()


def test_reads_have_halves_until_they_are_small() -> None:
    one = ReadBatch(NOWHERE, (0, 1, 2), 0, 1 << 18)
    assert [half.columns for half in one.split()] == [(0,), (1, 2)]
    (alone, _) = one.split()
    assert [(half.first, half.last) for half in alone.split()] == [(0, 1 << 17), (1 << 17, 1 << 18)]
    small = ReadBatch(NOWHERE, (0,), 5, (1 << 16) + 5)
    assert small.split() == [small]


def _keep(_: ReadBatch, found: T) -> T:
    return found


class _Room:
    """Limits of columns and rows that are read at once."""

    def __init__(self, most: int) -> None:
        self.most, self.taken, self.lock = most, 0, threading.Lock()

    def __call__(self, one: ReadBatch) -> int:
        size = len(one.columns) * (one.last - one.first)
        with self.lock:
            self.taken += size
            full = self.taken > self.most
        try:
            if full:
                raise MemoryError
            return size
        finally:
            with self.lock:
                self.taken -= size


@pytest.mark.parametrize("most", [3 << 20, 2 << 20, 1 << 20, 1 << 19, 1 << 17])
def test_less_is_read_at_once_where_memory_is_full(most: int) -> None:
    """Whatever batch size fits in the end, each row is read once and in order."""
    rows = 1 << 20
    plan = [ReadBatch(NOWHERE, (0, 1, 2), start, start + rows) for start in range(0, 4 * rows, rows)]
    room = _Room(most)
    found = list(run_reads(room, plan, _keep))
    assert sum(made for _, made in found) == 12 * rows
    for place in range(3):
        ends = [(read.first, read.last) for read, _ in found if place in read.columns]
        assert (ends[0][0], ends[-1][1]) == (0, 4 * rows)
        assert all(before[1] == after[0] for before, after in pairwise(ends))


def test_what_is_too_much_at_once_goes_one_by_one_as_it_was_planned() -> None:
    both = threading.Barrier(2)
    plan = [ReadBatch(NOWHERE, (0, 1), start, start + 10) for start in (0, 10)]
    first = [True, True]

    def read(one: ReadBatch) -> int:
        place = one.first // 10
        if first[place]:
            first[place] = False
            both.wait(60)  # both are being read
            raise MemoryError
        return place

    assert list(run_reads(read, plan, _keep)) == [(plan[0], 0), (plan[1], 1)]


def test_what_does_not_fit_when_it_is_finished_is_read_again() -> None:
    plan = [ReadBatch(NOWHERE, (0, 1), start, start + 10) for start in (0, 10, 20)]
    full = [False, True, False]

    def finish(one: ReadBatch, found: int) -> int:
        if full[found]:
            full[found] = False
            raise MemoryError
        return found

    assert list(run_reads(lambda one: one.first // 10, plan, finish)) == [(one, n) for n, one in enumerate(plan)]


def test_too_little_memory_for_the_least_is_an_error() -> None:
    tried: list[ReadBatch] = []

    def read(one: ReadBatch) -> None:
        tried.append(one)
        raise MemoryError("no room")

    with pytest.raises(MemoryError, match="no room"):
        list(run_reads(read, [ReadBatch(NOWHERE, (0, 1), 0, 1 << 18)], _keep))
    assert tried[-1] == ReadBatch(NOWHERE, (0,), 0, 1 << 16)


def test_another_error_is_told_at_once() -> None:
    tried: list[ReadBatch] = []

    def read(one: ReadBatch) -> None:
        tried.append(one)
        raise SqlError.of("data_corrupted", "damaged")

    with pytest.raises(SqlError, match="damaged"):
        list(run_reads(read, [ReadBatch(NOWHERE, (0, 1), 0, 1 << 18)], _keep))
    assert len(tried) == 1


class _Small(HostChunkReader):
    """A reader with room for at most `fits` columns and rows."""

    def __init__(self, fits: Callable[[int, int], bool]) -> None:
        self.fits, self.full = fits, 0

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        self._room(len(columns), last - first)
        return super().read(file, columns, first, last)

    def read_raw_text(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        self._room(1, last - first)
        return super().read_raw_text(file, column, first, last)

    def _room(self, columns: int, rows: int) -> None:
        if not self.fits(columns, rows):
            self.full += 1
            raise MemoryError


@pytest.mark.parametrize("texts", [None, 0])
@pytest.mark.parametrize(
    "fits",
    [lambda columns, rows: columns < 2, lambda columns, rows: columns < 3, lambda columns, rows: columns * rows < 900],
    ids=["one column", "two", "some rows"],
)
def test_tables_are_packed_the_same_with_little_memory(
    fits: Callable[[int, int], bool], texts: int | None, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_batches, "_MIN_SPLIT_ROWS", 100)
    table, little = _table(lab), _Small(fits)
    large, small = PackedTables(2**28, raw_text_rows=texts), PackedTables(2**28, little, texts)
    monkeypatch.setattr(small, "has_raw_text", large.has_raw_text)  # which samples some rows
    for run in large.runs(table, WHOLE, table.files):
        assert large.load(table, table.columns, run, WHOLE) == []
    for run in small.runs(table, WHOLE, table.files):
        assert small.load(table, table.columns, run, WHOLE) == []
    assert little.full
    (one,), (other,) = (each.runs(table, WHOLE, table.files) for each in (large, small))
    for column in table.columns:
        kept = large.has_raw_text(table, column)
        ours, theirs = (
            each.column(table, column, run, WHOLE, each.variant(table, column, raw=kept))
            for each, run in ((large, one), (small, other))
        )
        assert (ours.encoding, ours.base, ours.low, ours.high) == (
            theirs.encoding,
            theirs.base,
            theirs.low,
            theirs.high,
        )
        if kept:
            assert ours.texts is not None
            assert theirs.texts is not None
            assert bytes(ours.texts.data[: ours.texts.size]) == bytes(theirs.texts.data[: theirs.texts.size])
            continue
        for mine, their in zip(ours.decode(), theirs.decode(), strict=True):
            assert (mine is None) == (their is None)
            assert mine is None or (mine == their).all()

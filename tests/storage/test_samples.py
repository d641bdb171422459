"""Samples of columns: over files, row groups and NULLs, from few files and few bytes; cached while the files exist."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.storage.iceberg import samples
from gpudb.storage.iceberg.column_layout import FIELD_ID
from gpudb.storage.iceberg.samples import MAX_FILES, SAMPLED_VALUES, sample_column
from gpudb.types import INT8, TEXT


def _file(path: Path, columns: dict[str, pa.Array], group: int = 1 << 20) -> DataFile:
    fields = [
        pa.field(name, array.type, metadata={FIELD_ID: str(number)})
        for number, (name, array) in enumerate(columns.items(), 1)
    ]
    table = pa.table(list(columns.values()), schema=pa.schema(fields))
    pq.write_table(table, path, row_group_size=group)
    return DataFile(str(path), len(table), path.stat().st_size)


def _table(files: list[DataFile]) -> Table:
    columns = (Column("t", TEXT, field_id=1), Column("n", INT8, field_id=2))
    return Table(1, "public", "sampled", columns, "gpudb", files=tuple(files))


def _texts(values: Any) -> pa.Array:
    return pa.array([f"value {each}" for each in values])


def test_a_small_column_is_read_whole(tmp_path: Path) -> None:
    table = _table([_file(tmp_path / "a", {"t": pa.array(["a", "b", None, "b", "c"]), "n": pa.array(range(5))})])
    found = sample_column(table, table.columns[0])
    assert found == samples.Sample(values=4, distinct=3, singletons=2, clustered=1, places=1, distinct_sum=3)


def test_a_large_one_is_read_at_places_of_its_row_groups(tmp_path: Path) -> None:
    rows = 200_000
    columns = {"t": _texts(each // 100 for each in range(rows)), "n": pa.array(range(rows))}
    for group in (rows, 5_000):
        table = _table([_file(tmp_path / f"of {group}", columns, group)])
        for column, wanted in zip(table.columns, (2_000, rows), strict=True):
            found = sample_column(table, column)
            assert found is not None
            assert SAMPLED_VALUES * 0.9 <= found.values <= SAMPLED_VALUES
            assert wanted / 1.3 < found.estimate_distinct(rows) < wanted * 1.3


def test_of_many_files_a_few_are_opened_and_their_sample_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    class Opened(pq.ParquetFile):
        def __init__(self, path: str, **options: Any) -> None:
            opened.append(path)
            super().__init__(path, **options)

    files = [_file(tmp_path / str(each), {"t": _texts(range(1000)), "n": pa.array(range(1000))}) for each in range(20)]
    monkeypatch.setattr(pq, "ParquetFile", Opened)
    table = _table(files)
    found = sample_column(table, table.columns[0])
    assert found is not None
    assert found.estimate_distinct(table.rows) == 1000
    assert len(set(opened)) == len(opened) == MAX_FILES
    # A few more rows do not invalidate a sample.
    assert sample_column(_table([*files, replace(files[0], path="elsewhere", rows=3)]), table.columns[0]) is found
    assert len(opened) == MAX_FILES
    assert sample_column(table, table.columns[1]) is not found


def test_of_a_large_chunk_only_the_first_rows_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _table([_file(tmp_path / "a", {"t": _texts(range(100_000)), "n": pa.array(range(100_000))})])
    monkeypatch.setattr(samples, "MAX_WHOLE_BYTES", 1000)
    found = sample_column(table, table.columns[0])
    assert found is not None
    assert found == samples.Sample(SAMPLED_VALUES, SAMPLED_VALUES, SAMPLED_VALUES, 0, 1, SAMPLED_VALUES)
    assert found.estimate_distinct(100_000) == 100_000


def test_a_column_that_came_after_a_file_is_sampled_by_the_others(tmp_path: Path) -> None:
    old = _file(tmp_path / "old", {"t": pa.array(["a"] * 10)})
    new = _file(tmp_path / "new", {"t": pa.array(["a"] * 10), "n": pa.array(range(10))})
    assert sample_column(_table([old]), _table([]).columns[1]) is None
    found = sample_column(_table([old, new]), _table([]).columns[1])
    assert found is not None
    assert found.values == 10


def test_files_that_cannot_be_read_and_nested_columns_have_none(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nested = _table([_file(tmp_path / "a", {"t": pa.array([{"v": 1}])})])
    assert sample_column(nested, nested.columns[0]) is None
    assert sample_column(_table([]), nested.columns[0]) is None
    (tmp_path / "b").write_bytes(b"no Parquet at all")
    with caplog.at_level(logging.WARNING):
        for path in ("b", "gone"):
            broken = _table([DataFile(str(tmp_path / path), 1000, 17)])
            for _ in range(2):
                assert sample_column(broken, broken.columns[0]) is None
    assert len(caplog.records) == 4


def test_long_texts_that_are_few_are_not_laid_out(tmp_path: Path) -> None:
    file = _file(tmp_path / "a", {"t": pa.array([letter * 3000 for letter in "abcde"] * 10_000)})
    table = _table([file])
    read = list(samples._read(file, table.columns[0], 1))
    assert all(pa.types.is_dictionary(each.type) for each in read)
    assert sum(each.nbytes for each in read) < 10 * SAMPLED_VALUES
    found = sample_column(table, table.columns[0])
    assert found is not None
    assert found.distinct == 5


def test_dictionaries_of_different_files_are_of_the_same_values(tmp_path: Path) -> None:
    files = [
        _file(tmp_path / str(number), {"t": pa.array(values).dictionary_encode()})
        for number, values in enumerate((["a", "b"], ["b", "c", None]))
    ]
    found = sample_column(_table(files), _table([]).columns[0])
    assert found is not None
    assert (found.values, found.distinct, found.places, found.distinct_sum) == (4, 3, 2, 4)

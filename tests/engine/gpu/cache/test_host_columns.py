"""Host columns: tables whose columns are newer than some of their files, and concurrent reads of files."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.gpu.cache import host_columns
from gpudb.engine.gpu.cache.host_columns import COLUMN_BYTES, ResidentTables, read_concurrently, split_rows
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.plan.tree.nodes import Scan
from gpudb.storage.store import Store
from gpudb.types import INT4, INTERVAL, TEXT
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded
from tests.support.initial_values import encode_initial
from tests.support.lab import Lab
from tests.support.store_tables import ab, created, table_of


def test_rows_before_a_column_have_its_initial_value() -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE grown (id int)")
        lab.run("INSERT INTO grown VALUES (1), (2), (3)")
        span = pa.array([pa.MonthDayNano((1, 2, 3000))], pa.month_day_nano_interval())
        added = (
            Column("number", INT4, initial="42"),
            Column("label", TEXT, initial=encode_initial(TEXT, pa.array(["it's"]))),
            Column("span", INTERVAL, initial=encode_initial(INTERVAL, span)),
            Column("nothing", INT4),
        )
        with lab.database.store.begin() as transaction:
            table = next(each for each in transaction.catalog.relations.values() if each.name == "grown")
            changed = replace(table, columns=(*table.columns, *added))  # type: ignore[type-var]
            transaction.set_catalog(transaction.catalog.put(changed))
            transaction.commit()
        lab.run("INSERT INTO grown VALUES (4, 5, 'new', NULL, 6)")
        request = lab.request("SELECT * FROM grown WHERE number = 42 OR nothing = 6")
        wanted = sorted(map(repr, embedded(lab, request)))
        assert "42" in wanted[0]
        for workers in (1, 4):
            assert sorted(map(repr, local_stages.rows(request, workers, lab.database.cpu))) == wanted
    finally:
        lab.close()


@pytest.mark.parametrize("index", [0, 1, 2])
def test_deleted_rows_leave_cached_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int) -> None:
    """Each worker keeps its rows of the file, and reads nothing again."""
    reads: list[str] = []
    read = host_columns.read_lanes
    monkeypatch.setattr(host_columns, "read_lanes", lambda file, *more: reads.append(file.path) or read(file, *more))
    tables, partition = ResidentTables(2**30), Partition(index, 3)
    with Store(tmp_path / "data", compaction=False, keep_seconds=0) as store:
        oid = created(store, "t")
        with store.begin() as transaction:
            transaction.append(oid, [ab(*[(n, str(n)) for n in range(100)])])
            transaction.commit()
        gone: list[int] = []
        for more in ([], [0, 33], [34, 66, 99], [1, 2, 67, 98, 50]):
            gone += more
            with store.begin() as transaction:
                (file,) = transaction.table(oid).files
                transaction.replace(oid, (), [], deleted={file.path: DeletedRows.of(gone)} if gone else {})
                transaction.commit()
            scan = Scan(table_of(store, oid), (0, 1))
            found = tables.frame(scan, partition, ()).lazy.collect()
            wanted = [n for n in range(100 * index // 3, 100 * (index + 1) // 3) if n not in gone]
            assert found["c0"].to_list() == wanted
            assert found["c1"].to_list() == list(map(str, wanted))
            # A read of the same rows that are not cached
            assert ResidentTables(2**30).frame(scan, partition, ()).lazy.collect().equals(found)
            assert [each.parts for each in tables.columns.describe("")] == [1, 1]
        assert len(reads) == 1 + 4  # the first, and those of the other caches


def test_columns_of_removed_files_are_evicted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a small table that changes often fills a worker's memory with what nobody reads any more."""
    monkeypatch.setattr(host_columns, "CHECK_SECONDS", 0.0)
    tables = ResidentTables(2**30)
    with Store(tmp_path / "data", compaction=False, keep_seconds=0) as store:
        oid = created(store, "t")
        sizes = []
        for number in range(5):
            with store.begin() as transaction:
                transaction.replace(oid, transaction.table(oid).files, [ab((number, "x"))])
                transaction.commit()
            read = tables.frame(Scan(table_of(store, oid), (0, 1)), Partition(0, 1), ()).lazy.collect()
            assert read.height == 1
            sizes.append(tables.bytes)
        assert sizes == [2 * COLUMN_BYTES] * 5
        # Within the time between two searches they may stay.
        monkeypatch.setattr(host_columns, "CHECK_SECONDS", 60.0)
        for expected in (2, 4):
            with store.begin() as transaction:
                transaction.replace(oid, transaction.table(oid).files, [ab((9, "x"))])
                transaction.commit()
            tables.frame(Scan(table_of(store, oid), (0, 1)), Partition(0, 1), ())
            assert tables.bytes == expected * COLUMN_BYTES


@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_parts_are_read_side_by_side_in_their_order(count: int) -> None:
    running: list[int] = []
    most = 0

    def read(part: int) -> int:
        nonlocal most
        running.append(part)
        most = max(most, len(running))
        time.sleep(0.02 if part % 2 else 0.001)
        running.remove(part)
        if part == 8:
            raise ValueError("a part")
        return 10 * part

    found = read_concurrently(read, range(count), 3)
    assert list(islice(found, 8)) == [10 * part for part in range(min(count, 8))]
    assert most <= 3
    if count == 9:
        with pytest.raises(ValueError, match="a part"):
            next(found)


@pytest.mark.parametrize(
    ("first", "last", "step"), [(0, 1000, 300), (50, 940, 250), (120, 130, 7), (3, 3, 10), (0, 1000, 99)]
)
def test_files_are_read_in_pieces_that_end_with_row_groups(tmp_path: Path, first: int, last: int, step: int) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"a": range(1000)}), path, row_group_size=100)
    for where in (path, tmp_path / "none.parquet"):
        pieces = split_rows(DataFile(str(where), 1000, 0), first, last, step)
        assert [row for piece in pieces for row in range(*piece)] == list(range(first, last))
        assert all(0 < len(range(*piece)) <= step for piece in pieces)
        cut = [end for (_, end), _ in pairwise(pieces) if end % 100]
        # A row group that is larger than a run is split.
        assert not cut or step < 100 or where != path

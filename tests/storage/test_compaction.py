"""Compaction merges small files, readers do not notice, and no writer fails because of it."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gpudb.catalog.tables import Column
from gpudb.errors import GpudbError
from gpudb.storage.compaction import SMALL_FILES, compact, select_files
from gpudb.storage.store import Store
from gpudb.types import INTERVAL
from tests.support.store_tables import AB, ab, arrow, created, files_under, insert, rows, table_of


def _fragmented(store: Store, count: int = SMALL_FILES + 1) -> int:
    oid = created(store, "t", primary_key=("a",))
    for i in range(count):
        insert(store, oid, (i, str(i)))
    return oid


def test_many_small_files_become_one(store: Store) -> None:
    oid = _fragmented(store)
    before = rows(store, oid)
    assert compact(store, oid) == SMALL_FILES + 1
    assert len(table_of(store, oid).files) == 1
    assert rows(store, oid) == before
    assert len(files_under(store.directory)) == 1
    assert compact(store, oid) == 0


def test_few_files_are_left_alone(store: Store) -> None:
    oid = _fragmented(store, SMALL_FILES)
    assert not select_files(table_of(store, oid))
    assert compact(store, oid) == 0


def test_readers_keep_their_files(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as reader:
        before = rows(reader, oid)
        assert compact(store, oid)
        assert rows(reader, oid) == before
        assert len(files_under(store.directory)) == SMALL_FILES + 2
    assert len(files_under(store.directory)) == 1


def test_an_older_update_undoes_the_merge(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as update:
        first = update.table(oid).files[0]
        update.replace(oid, [first], [ab((0, "changed"))], check_keys=False)
        assert compact(store, oid)
        insert(store, oid, (100, "between"))
        update.commit()
    found = dict(rows(store, oid))
    assert found == {0: "changed", 100: "between", **{i: str(i) for i in range(1, SMALL_FILES + 1)}}
    assert {Path(file.path) for file in table_of(store, oid).files} == files_under(store.directory)
    if store.durable:
        directory = store.directory
        store.close()
        with Store(directory, compaction=False) as again:
            assert dict(rows(again, oid)) == found


def test_two_merges_are_undone_in_turn(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as update:
        files = update.table(oid).files
        update.replace(oid, [files[3]], [], check_keys=False)
        assert compact(store, oid)
        for i in range(100, 100 + SMALL_FILES):
            insert(store, oid, (i, "later"))
        assert compact(store, oid)
        update.commit()
    numbers = sorted(int(str(row[0])) for row in rows(store, oid))
    assert numbers == [i for i in range(SMALL_FILES + 1) if i != 3] + list(range(100, 100 + SMALL_FILES))


def test_an_older_update_of_a_merged_and_rewritten_file_conflicts(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as update:
        update.replace(oid, update.table(oid).files[:1], [ab((0, "mine"))], check_keys=False)
        assert compact(store, oid)
        with store.begin() as other:
            other.replace(oid, other.table(oid).files, [ab((0, "theirs"))], check_keys=False)
            other.commit()
        with pytest.raises(GpudbError) as caught:
            update.commit()
    assert caught.value.sqlstate == "40001"
    assert rows(store, oid) == [(0, "theirs")]


def test_keys_are_compared_with_rows_that_were_merged_meanwhile(store: Store) -> None:
    oid = _fragmented(store, SMALL_FILES)
    with store.begin() as append:
        append.append(oid, [ab((500, "mine"))])
        insert(store, oid, (500, "theirs"))
        assert compact(store, oid)
        with pytest.raises(GpudbError) as caught:
            append.commit()
    assert caught.value.sqlstate == "23505"


def test_it_waits_for_whoever_holds_the_lock(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as update:
        update.lock(oid)
        assert compact(store, oid) == 0
    assert compact(store, oid)


def test_columns_added_later_get_their_values(store: Store) -> None:
    oid = _fragmented(store)
    with store.begin() as transaction:
        table = transaction.table(oid)
        added = Column("i", INTERVAL, initial="{'months': 1, 'days': 0, 'microseconds': 0}")
        catalog = transaction.catalog.put(replace(table, columns=(*table.columns, added)))
        transaction.set_catalog(catalog)
        transaction.commit()
    assert compact(store, oid)
    found = arrow(table_of(store, oid)).column("i").to_pylist()
    assert found == [pa.MonthDayNano([1, 0, 0])] * (SMALL_FILES + 1)


def test_it_runs_by_itself(tmp_path: Path) -> None:
    with Store(tmp_path / "data", keep_seconds=0) as store:
        oid = created(store, "t", AB)
        stop = threading.Event()
        for i in range(60):
            insert(store, oid, (i, "x"))
        deadline = time.monotonic() + 20
        while len(table_of(store, oid).files) > SMALL_FILES and time.monotonic() < deadline:
            stop.wait(0.02)
        assert len(table_of(store, oid).files) <= SMALL_FILES
        assert sorted(row[0] for row in rows(store, oid)) == list(range(60))
    with Store(tmp_path / "data") as store:
        assert sorted(row[0] for row in rows(store, oid)) == list(range(60))

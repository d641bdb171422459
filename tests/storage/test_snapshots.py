"""Earlier snapshots of a table: kept for the retention, with their files, then gone; and read after any opening."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from gpudb.catalog.tables import Column, Table, TableSnapshot
from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError
from gpudb.storage.catalog.records import encode
from gpudb.storage.compaction import SMALL_FILES, compact
from gpudb.storage.iceberg.history import Retention, select_kept
from gpudb.storage.recovery.check import check
from gpudb.storage.store import NO_PAST, Store
from gpudb.types import INT4, TEXT
from tests.support.store_tables import ab, arrow, created, files_under, insert, table_of

HOUR = StorageSettings(snapshot_retention=3600)


def _open(directory: Path, settings: StorageSettings = HOUR) -> Store:
    return Store(directory, settings, compaction=False, keep_seconds=0.0)


def _history(store: Store, oid: int) -> list[list[tuple[object, ...]]]:
    """Returns the rows of each kept snapshot, oldest first."""
    return [_rows(each.table) for each in store.catalog().snapshots[oid]]


def _rows(table: Table) -> list[tuple[object, ...]]:
    found = arrow(table)
    return sorted(tuple(row.values()) for row in found.to_pylist())


def _changed(store: Store) -> int:
    """Makes a table that was empty, had one row, two, and then another one."""
    oid = created(store, "t")
    insert(store, oid, (1, "a"))
    insert(store, oid, (2, "b"))
    with store.begin() as transaction:
        transaction.replace(oid, transaction.table(oid).files, [ab((3, "c"))])
        transaction.commit()
    return oid


EXPECTED: list[list[tuple[object, ...]]] = [[], [(1, "a")], [(1, "a"), (2, "b")], [(3, "c")]]


def test_every_commit_is_kept_and_read_after_an_opening(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        assert _history(store, oid) == EXPECTED
        before = store.catalog().snapshots[oid]
        assert [each.operation for each in before] == ["append", "append", "append", "overwrite"]
        assert sorted(each.committed for each in before) == [each.committed for each in before]
    with _open(tmp_path) as store:
        after = store.catalog().snapshots[oid]
        assert [(each.id, each.committed, each.operation) for each in after] == [
            (each.id, each.committed, each.operation) for each in before
        ]
        assert _history(store, oid) == EXPECTED
        assert not (tmp_path / "lost+found").exists()
    assert not check(tmp_path, deep=True).problems


def test_a_moved_directory_keeps_them(tmp_path: Path) -> None:
    with _open(tmp_path / "a") as store:
        oid = _changed(store)
    for old, new in (("a", "b"), ("b", "c")):
        shutil.move(tmp_path / old, tmp_path / new)
        with _open(tmp_path / new) as store:
            assert _history(store, oid)[: len(EXPECTED)] == EXPECTED
            # From the next commit on the metadata names the new place.
            insert(store, oid, (4, new))
            assert _history(store, oid)[: len(EXPECTED)] == EXPECTED
        assert not (tmp_path / new / "lost+found").exists()
    with _open(tmp_path / "c") as store:
        assert _history(store, oid)[-1] == [(3, "c"), (4, "b"), (4, "c")]


def test_definitions_are_those_of_their_time(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "a"))
        with store.begin() as transaction:
            table = transaction.table(oid)
            renamed = (replace(table.columns[0], name="number"), Column("c", INT4, initial="7"))
            transaction.set_catalog(transaction.catalog.put(replace(table, columns=renamed)))
            transaction.commit()
    for _ in range(2):
        with _open(tmp_path) as store:
            names = [[column.name for column in each.table.columns] for each in store.catalog().snapshots[oid]]
            assert names == [["a", "b"], ["a", "b"], ["number", "c"]]
            assert _history(store, oid) == [[], [(1, "a")], [(1, 7)]]
            types = [each.table.columns[1].type for each in store.catalog().snapshots[oid]]
            assert types == [TEXT, TEXT, INT4]


def test_nothing_is_kept_without_a_retention(tmp_path: Path) -> None:
    with _open(tmp_path, NO_PAST) as store:
        oid = _changed(store)
        assert _history(store, oid) == EXPECTED[-1:]
        store.garbage.collect(at_once=True)
        assert len(files_under(tmp_path)) == 1


def test_what_is_too_old_is_discarded_with_its_files(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        assert len(files_under(tmp_path)) == 3
        assert store.expire_snapshots() == 0
        store.retention = Retention(1e-6)
        with store.begin() as reader:
            first = reader.catalog.snapshots[oid][1].table
            assert store.expire_snapshots(oid) == 3
            assert _history(store, oid) == EXPECTED[-1:]
            # A transaction that began before still reads them.
            assert _rows(first) == EXPECTED[1]
        assert len(files_under(tmp_path)) == 1
        assert len(list((store.folder(oid) / "metadata").iterdir())) <= 4
    with _open(tmp_path) as store:
        assert _history(store, oid) == EXPECTED[-1:]
    assert not check(tmp_path, deep=True).problems


def test_files_that_a_later_snapshot_has_too_stay(tmp_path: Path) -> None:
    with _open(tmp_path, replace(HOUR, snapshot_limit=2)) as store:
        oid = created(store, "t")
        for number in range(5):
            insert(store, oid, (number, "x"))
        history = _history(store, oid)
        assert [len(rows) for rows in history] == [4, 5]
        assert len(files_under(tmp_path)) == 5
    with _open(tmp_path) as store:
        assert _history(store, oid) == history


def test_a_compaction_takes_the_place_of_what_it_compacted(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = created(store, "t")
        for number in range(SMALL_FILES + 1):
            insert(store, oid, (number, "x"))
            store.fold()
        before = store.catalog().snapshots[oid]
        history = _history(store, oid)
        assert compact(store, oid) == SMALL_FILES + 1
        after = store.catalog().snapshots[oid]
        assert [each.committed for each in after] == [each.committed for each in before]
        assert after[-1].operation == "replace"
        assert _history(store, oid) == history
        assert len(after[-1].table.files) == 1
    with _open(tmp_path) as store:
        assert _history(store, oid) == history
        store.retention = Retention(1e-6)
        store.expire_snapshots()
        assert len(files_under(tmp_path)) == 1


def test_a_restored_snapshot_survives_the_end_of_its_retention(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        past = store.catalog().snapshots[oid][2].table
        with store.begin() as transaction:
            transaction.restore(oid, past.files)
            store.retention = Retention(1e-6)
            store.expire_snapshots()
            transaction.commit()
        assert _rows(table_of(store, oid)) == EXPECTED[2]
        store.expire_snapshots()
        store.garbage.collect(at_once=True)
        assert _rows(table_of(store, oid)) == EXPECTED[2]
        assert len(files_under(tmp_path)) == 2
    with _open(tmp_path) as store:
        assert _rows(table_of(store, oid)) == EXPECTED[2]


def test_a_dropped_table_has_none(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        with store.begin() as transaction:
            transaction.set_catalog(transaction.catalog.drop(transaction.catalog.relations["public", "t"]))
            transaction.commit()
        assert oid not in store.catalog().snapshots
        assert not files_under(tmp_path)


def test_a_snapshot_that_cannot_be_read_raises(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        second = store.catalog().snapshots[oid][1]
    (damaged,) = (tmp_path / "tables" / str(oid) / "metadata").glob(f"snap-{second.id}-*")
    damaged.write_bytes(b"nothing")
    with _open(tmp_path) as store:
        first, unreadable, *others = store.catalog().snapshots[oid]
        assert [_rows(each.table) for each in (first, *others)] == [EXPECTED[0], *EXPECTED[2:]]
        assert unreadable.id == second.id
        with pytest.raises(GpudbError, match=damaged.name):
            _rows(unreadable.table)
    assert f"snapshot {second.id} of table" in caplog.text


def test_a_missing_file_of_a_snapshot_is_a_problem(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        second = store.catalog().snapshots[oid][1]
    Path(second.table.files[0].path).unlink()
    ((name, problem),) = check(tmp_path).problems
    assert name == f"public.t, snapshot {second.id}"
    assert "No such file" in problem


def test_other_readers_of_iceberg_find_them(tmp_path: Path) -> None:
    with _open(tmp_path) as store:
        oid = _changed(store)
        known = store.catalog().snapshots[oid]
        location = table_of(store, oid).metadata_location
    other = StaticTable.from_metadata(f"file://{location}")
    assert [each.snapshot_id for each in other.snapshots()] == [each.id for each in known]
    scanned = [other.scan(snapshot_id=each.id).to_arrow().to_pylist() for each in known]
    assert [sorted(tuple(row.values()) for row in rows) for rows in scanned] == EXPECTED


def test_selection() -> None:
    table = Table(1, "public", "t", (), "gpudb")
    snapshots = [TableSnapshot(number, number * 1_000_000, "append", table) for number in range(1, 6)]

    def kept(now: float, retention: Retention) -> list[int]:
        return [each.id for each in select_kept(snapshots, round(now * 1_000_000), retention)]

    assert kept(5, Retention(10.0)) == [1, 2, 3, 4, 5]
    # The second one was the table's state until second 3.
    assert kept(12.5, Retention(10.0)) == [2, 3, 4, 5]
    assert kept(100, Retention(10.0)) == [5]
    assert kept(5, Retention(10.0, 2)) == [4, 5]
    assert kept(5, Retention(10.0, 1)) == kept(5, Retention(0.0)) == [5]
    assert select_kept([], 5, Retention(3600.0)) == ()


def test_records_leave_the_mark_of_past_tables_out() -> None:
    assert "past_of" not in encode(Table(1, "public", "t", (), "gpudb"))

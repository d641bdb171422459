"""Rows that are deleted from files which stay: what snapshots, reopening, merges, checks and other readers see."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pyiceberg.table import StaticTable

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.tables import DataFile, Distribution, list_added_rows
from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError, SerializationFailure, SqlError
from gpudb.storage.backup.restore import restore, verify
from gpudb.storage.backup.write import back_up
from gpudb.storage.compaction import SMALL_FILES, compact, is_rewritten, select_files
from gpudb.storage.iceberg.pruning import ColumnRange, prune_files
from gpudb.storage.recovery.check import check
from gpudb.storage.store import Store
from tests.support.duckdb_iceberg.reader import build_environment, query
from tests.support.store_tables import AB, ab, arrow, create, created, files_under, insert, rows, table_of

COUNT = 2000
HOUR = StorageSettings(snapshot_retention=3600)


def _filled(store: Store, **more: tuple[str, ...]) -> int:
    """A table with a = 1 … COUNT in one file."""
    oid = created(store, "t", **more)
    insert(store, oid, *[(n + 1, f"row {n + 1}") for n in range(COUNT)])
    return oid


def _delete(store: Store, oid: int, *keys: int, added: tuple[tuple[int, str], ...] = ()) -> None:
    with store.begin() as transaction:
        table = transaction.table(oid)
        transaction.replace(oid, (), [ab(*added)] if added else [], deleted=_find(table.files[0], keys))
        transaction.commit()


def _find(file: DataFile, keys: tuple[int, ...]) -> dict[str, DeletedRows]:
    """The deleted rows of the first file once it also lacks some keys."""
    known = [] if file.deleted is None else file.deleted.rows.tolist()
    return {file.path: DeletedRows.of([*known, *(key - 1 for key in keys)])}


def _data_files(store: Store) -> set[Path]:
    return {path for path in files_under(store.directory) if path.parent.name == "data"}


def _keys(store: Store, oid: int) -> list[int]:
    return sorted(row[0] for row in rows(store, oid))  # type: ignore[misc]


def _all_but(*keys: int) -> list[int]:
    return [n for n in range(1, COUNT + 1) if n not in keys]


def test_rows_leave_and_the_file_stays(store: Store) -> None:
    oid = _filled(store)
    (before,) = table_of(store, oid).files
    _delete(store, oid, 7)
    (after,) = table_of(store, oid).files
    assert (after.path, after.rows, after.stored_rows) == (before.path, COUNT - 1, COUNT)
    assert after.id != before.id
    assert _keys(store, oid) == _all_but(7)
    # More than are compared one by one
    _delete(store, oid, *range(100, 300), added=((5000, "new"),))
    assert _keys(store, oid) == [*_all_but(7, *range(100, 300)), 5000]
    assert _data_files(store) == {Path(each.path) for each in table_of(store, oid).files}


def test_a_file_without_live_rows_is_dropped(store: Store) -> None:
    oid = _filled(store)
    _delete(store, oid, *range(1, COUNT + 1), added=((1, "only"),))
    assert rows(store, oid) == [(1, "only")]
    assert len(table_of(store, oid).files) == 1
    assert len(_data_files(store)) == 1


def test_it_outlives_an_opening(tmp_path: Path) -> None:
    with Store(tmp_path, compaction=False) as store:
        oid = _filled(store)
        _delete(store, oid, 1, COUNT)
        _delete(store, oid, 1000)
        files = table_of(store, oid).files
    with Store(tmp_path, compaction=False) as store:
        assert table_of(store, oid).files == files
        assert _keys(store, oid) == _all_but(1, COUNT, 1000)
        _delete(store, oid, 2)
        assert _keys(store, oid) == _all_but(1, 2, COUNT, 1000)
    assert not (tmp_path / "lost+found").exists()
    report = check(tmp_path, deep=True)
    assert (report.rows, report.problems) == (COUNT - 4, [])


def test_readers_keep_their_rows(store: Store) -> None:
    oid = _filled(store)
    with store.begin() as reader:
        _delete(store, oid, 5)
        _delete(store, oid, 6)
        assert sorted(row[0] for row in rows(reader, oid)) == _all_but()
    assert _keys(store, oid) == _all_but(5, 6)


def test_a_statement_reads_its_own_deletion(store: Store) -> None:
    oid = _filled(store)
    with store.begin() as transaction:
        mark = transaction.savepoint()
        transaction.replace(oid, (), [], deleted=_find(transaction.table(oid).files[0], (3,)))
        assert len(rows(transaction, oid)) == COUNT - 1
        transaction.rollback_to(mark)
        assert len(rows(transaction, oid)) == COUNT
        transaction.replace(oid, (), [], deleted=_find(transaction.table(oid).files[0], (4,)))
        transaction.commit()
    assert _keys(store, oid) == _all_but(4)


def test_deletions_of_one_file_add_up_unless_they_share_a_row(store: Store) -> None:
    oid = _filled(store)
    with store.begin() as first, store.begin() as second, store.begin() as third:
        first.replace(oid, (), [], deleted=_find(first.table(oid).files[0], (1, 3)))
        second.replace(oid, (), [], deleted=_find(second.table(oid).files[0], (2,)))
        third.replace(oid, (), [], deleted=_find(third.table(oid).files[0], (3,)))
        first.commit()
        second.commit()
        with pytest.raises(SerializationFailure):
            third.commit()
    assert _keys(store, oid) == _all_but(1, 2, 3)


def test_a_file_whose_rows_all_go_by_several_deletions_goes(store: Store) -> None:
    oid = created(store, "t")
    insert(store, oid, (1, "one"), (2, "two"))
    with store.begin() as first, store.begin() as second:
        first.replace(oid, (), [ab((3, "three"))], deleted=_find(first.table(oid).files[0], (1,)))
        second.replace(oid, (), [], deleted=_find(second.table(oid).files[0], (2,)))
        first.commit()
        second.advance()
        assert [file.rows for file in second.table(oid).files] == [1]
        second.commit()
    assert _keys(store, oid) == [3]


def test_a_transaction_advances_with_its_changes(store: Store) -> None:
    oid = _filled(store)
    with store.begin() as first, store.begin() as second:
        second.append(oid, [ab((COUNT + 2, "own"))])
        second.replace(oid, (), [], deleted=_find(second.table(oid).files[0], (2,)))
        assert not second.advance()
        first.replace(oid, (), [], deleted=_find(first.table(oid).files[0], (1,)))
        first.append(oid, [ab((COUNT + 1, "of another"))])
        first.commit()
        assert second.advance()
        assert sum(file.rows for file in second.table(oid).files) == COUNT
        second.commit()
    assert _keys(store, oid) == [*_all_but(1, 2), COUNT + 1, COUNT + 2]


def test_a_rewrite_conflicts_with_a_deletion(store: Store) -> None:
    oid = _filled(store)
    with store.begin() as writer:
        writer.replace(oid, writer.table(oid).files, [ab((1, "one"))])
        _delete(store, oid, 2)
        with pytest.raises(SerializationFailure):
            writer.commit()
    assert _keys(store, oid) == _all_but(2)


def test_an_insert_joins_a_deletion(store: Store) -> None:
    oid = _filled(store, primary_key=("a",))
    with store.begin() as writer:
        writer.append(oid, [ab((COUNT + 1, "late"))])
        _delete(store, oid, 9)
        writer.commit()
    assert _keys(store, oid) == [*_all_but(9), COUNT + 1]


def test_a_deleted_key_is_free_again(store: Store) -> None:
    oid = _filled(store, primary_key=("a",))
    with pytest.raises(SqlError) as caught:
        insert(store, oid, (9, "twice"))
    assert caught.value.sqlstate == "23505"
    _delete(store, oid, 9, added=((9, "new"),))
    assert dict(rows(store, oid))[9] == "new"
    with pytest.raises(SqlError):
        insert(store, oid, (9, "twice"))


def test_a_concurrent_merge_is_undone(store: Store) -> None:
    oid = created(store, "t", primary_key=("a",))
    for number in range(SMALL_FILES + 1):
        insert(store, oid, *[(number * 10 + n + 1, "x") for n in range(10)])
    with store.begin() as older:
        file = older.table(oid).files[0]
        older.replace(oid, (), [], deleted={file.path: DeletedRows.of([4])})
        assert compact(store, oid)
        older.commit()
    everything = [n for n in range(1, (SMALL_FILES + 1) * 10 + 1) if n != 5]
    assert _keys(store, oid) == everything
    assert {Path(each.path) for each in table_of(store, oid).files} == _data_files(store)
    if store.durable:
        directory = store.directory
        store.close()
        with Store(directory, compaction=False) as again:
            assert _keys(again, oid) == everything


def test_compaction_writes_files_with_many_deleted_rows_anew(store: Store) -> None:
    oid = _filled(store)
    _delete(store, oid, 1)
    assert not select_files(table_of(store, oid))
    _delete(store, oid, *range(2, 200))
    assert compact(store, oid) == 1
    (file,) = table_of(store, oid).files
    assert (file.deleted, file.rows) == (None, COUNT - 199)
    assert _keys(store, oid) == _all_but(*range(1, 200))
    assert not compact(store, oid)


def test_snapshots_before_a_deletion_have_its_rows(tmp_path: Path) -> None:
    def counts(store: Store) -> list[tuple[str, int, int]]:
        return [
            (each.operation, each.table.rows, arrow(each.table).num_rows) for each in store.catalog().snapshots[oid]
        ]

    with Store(tmp_path, HOUR, compaction=False) as store:
        oid = _filled(store)
        _delete(store, oid, 1)
        _delete(store, oid, 2, added=((COUNT + 1, "new"),))
        found = counts(store)
        assert found == [
            ("append", 0, 0),
            ("append", COUNT, COUNT),
            ("delete", COUNT - 1, COUNT - 1),
            ("overwrite", COUNT - 1, COUNT - 1),
        ]
    with Store(tmp_path, HOUR, compaction=False) as store:
        assert counts(store) == found
        past = store.catalog().snapshots[oid]
        with store.begin() as transaction:
            transaction.restore(oid, past[1].table.files)
            transaction.commit()
        assert _keys(store, oid) == _all_but()
        _delete(store, oid, 3)
        with store.begin() as transaction:
            transaction.restore(oid, past[2].table.files)
            transaction.commit()
        assert _keys(store, oid) == _all_but(1)
    with Store(tmp_path, HOUR, compaction=False) as store:
        assert _keys(store, oid) == _all_but(1)
        assert _sums_of(table_of(store, oid).metadata_location) == [(COUNT - 1, sum(_all_but(1)))] * 2
    assert not check(tmp_path, deep=True).problems


def _sums_of(location: str | None) -> list[tuple[int, int]]:
    """Rows and the sum of `a` as pyiceberg and Polars read them."""
    assert location is not None
    read = StaticTable.from_metadata(f"file://{location}").scan().to_arrow()
    frame = pl.scan_iceberg(location, reader_override="native").select(pl.len(), pl.col("a").sum()).collect()
    return [(read.num_rows, sum(read.column("a").to_pylist())), tuple(map(int, frame.row(0)))]  # type: ignore[list-item]


def test_other_readers_of_iceberg_leave_deleted_rows_out(tmp_path: Path) -> None:
    with Store(tmp_path, compaction=False) as store:
        oid = _filled(store)
        insert(store, oid, (COUNT + 1, "another file"))
        for key in (1, 1234):
            _delete(store, oid, key)
        sums = _sums_of(table_of(store, oid).metadata_location)
    assert sums == [(COUNT - 1, sum(_all_but(1, 1234)) + COUNT + 1)] * 2


def test_duckdb_leaves_deleted_rows_out(tmp_path: Path) -> None:
    with Store(tmp_path / "data", compaction=False) as store:
        oid = _filled(store)
        insert(store, oid, (COUNT + 1, "another file"))
        for key in (1, 1234):
            _delete(store, oid, key)
        location = table_of(store, oid).metadata_location
    python = build_environment(tmp_path)
    found = query(python, f"SELECT count(*), sum(a)::BIGINT, max(b) FROM iceberg_scan('{location}')")
    assert found == [[COUNT - 1, sum(_all_but(1, 1234)) + COUNT + 1, "row 999"]]
    assert query(python, f"SELECT a FROM iceberg_scan('{location}') WHERE a BETWEEN 1233 AND 1235 ORDER BY a") == [
        [1233],
        [1235],
    ]


def test_a_moved_directory_has_its_deletions(tmp_path: Path) -> None:
    with Store(tmp_path / "here", compaction=False) as store:
        oid = _filled(store)
        _delete(store, oid, 3)
    shutil.move(tmp_path / "here", tmp_path / "there")
    with Store(tmp_path / "there", compaction=False) as store:
        assert _keys(store, oid) == _all_but(3)
        insert(store, oid, (COUNT + 1, "new"))
        assert _keys(store, oid) == [*_all_but(3), COUNT + 1]
        store.fold()
        assert _sums_of(table_of(store, oid).metadata_location) == [(COUNT, sum(_all_but(3)) + COUNT + 1)] * 2
    with Store(tmp_path / "there", compaction=False) as store:
        assert _keys(store, oid) == [*_all_but(3), COUNT + 1]


def test_discarding_snapshots_of_a_moved_directory_makes_none(tmp_path: Path) -> None:
    with Store(tmp_path / "here", HOUR, compaction=False) as store:
        oid = _filled(store)
        for key in (3, 4, 5):
            _delete(store, oid, key)
    shutil.move(tmp_path / "here", tmp_path / "there")
    with Store(tmp_path / "there", replace(HOUR, snapshot_limit=2), compaction=False) as store:
        assert store.expire_snapshots() == 3
        assert [each.table.rows for each in store.catalog().snapshots[oid]] == [COUNT - 2, COUNT - 3]
        assert _sums_of(table_of(store, oid).metadata_location) == [(COUNT - 3, sum(_all_but(3, 4, 5)))] * 2
        _delete(store, oid, 6)
    with Store(tmp_path / "there", HOUR, compaction=False) as store:
        assert _keys(store, oid) == _all_but(3, 4, 5, 6)
        assert [each.operation for each in store.catalog().snapshots[oid]][-1] == "delete"


def test_buckets_keep_their_partitions(tmp_path: Path) -> None:
    with Store(tmp_path, compaction=False) as store:
        with store.begin() as transaction:
            oid = create(transaction, "t", AB, distribution=Distribution("hash", ("a",)))
            transaction.append(oid, [ab(*[(n + 1, "x") for n in range(COUNT)])])
            transaction.commit()
        with store.begin() as transaction:
            files = transaction.table(oid).files
            transaction.replace(oid, (), [], deleted={file.path: DeletedRows.of([0]) for file in files})
            transaction.commit()
        assert len(files) > 1
        left = _keys(store, oid)
        assert len(left) == COUNT - len(files)
        assert _sums_of(table_of(store, oid).metadata_location) == [(len(left), sum(left))] * 2
    with Store(tmp_path, compaction=False) as store:
        assert _keys(store, oid) == left
        assert all(file.bucket is not None for file in table_of(store, oid).files)


def test_a_backup_has_the_deletions(tmp_path: Path) -> None:
    with Store(tmp_path / "data", compaction=False) as store:
        oid = _filled(store)
        _delete(store, oid, 3)
        made = back_up(store, tmp_path / "backups")
        _delete(store, oid, 4)
    assert not list(verify(tmp_path / "backups"))
    restore(tmp_path / "backups", made.manifest, tmp_path / "restored")
    assert not check(tmp_path / "restored", deep=True).problems
    with Store(tmp_path / "restored", compaction=False) as store:
        assert _keys(store, oid) == _all_but(3)


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"PAR1 and nothing else")])
def test_a_damaged_delete_file_is_an_error(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    with Store(tmp_path, compaction=False) as store:
        oid = _filled(store)
        _delete(store, oid, 3)
    (path,) = (tmp_path / "tables").rglob("metadata/*.parquet")
    harm(path)
    assert check(tmp_path).problems
    with Store(tmp_path, compaction=False) as store, pytest.raises(GpudbError) as caught:
        rows(store, oid)
    assert caught.value.sqlstate == "XX001"


def test_superseded_delete_files_are_removed(durable: Store) -> None:
    oid = _filled(durable)
    for key in (1, 2, 3):
        _delete(durable, oid, key)
    assert len(list((durable.directory / "tables").rglob("metadata/*.parquet"))) == 1


def test_counts_of_nulls_stay_exact() -> None:
    file = DataFile("f", 10, 1, nulls={1: 0, 2: 10, 3: 5})
    after = file.with_deleted(DeletedRows.of([1, 2, 3, 4, 5]))
    assert after.nulls == {1: 0, 2: 5}
    again = after.with_deleted(DeletedRows.of([1, 2, 3, 4, 5, 6]))
    assert again.nulls == {1: 0, 2: 4}
    assert prune_files([again], [ColumnRange(2, not_null=True)]) == ()
    assert prune_files([again], [ColumnRange(3, not_null=True)]) == (again,)


def test_numbers_of_rows() -> None:
    deleted = DeletedRows.of([0, 3, 4, 9])
    file = DataFile("f", 10, 1).with_deleted(deleted)
    live = [1, 2, 5, 6, 7, 8]
    for first in range(len(live)):
        for last in range(first + 1, len(live) + 1):
            begin, end = file.stored_range(first, last)
            held = [row for row in range(begin, end) if row - begin not in deleted.within(begin, end)]
            assert held == live[first:last]
    assert [file.count_live(row) for row in range(11)] == [0, 0, 1, 2, 2, 2, 3, 4, 5, 6, 6]
    assert DeletedRows.of([4, 0, 4]) == DeletedRows.of([0, 4])
    with pytest.raises(ValueError, match="no rows"):
        DeletedRows.of([-1])


def test_which_files_have_rows_that_others_lack() -> None:
    whole = DataFile("f", 10, 1)
    less, least = whole.with_deleted(DeletedRows.of([1])), whole.with_deleted(DeletedRows.of([1, 2]))
    assert list_added_rows([least], [whole]) == list_added_rows([less], [less]) == ()
    assert list_added_rows([less], [least]) == (less,)
    assert list_added_rows([whole], [less]) == list_added_rows([whole], []) == (whole,)


def test_when_a_file_is_written_anew() -> None:
    large, small = DataFile("f", 100_000, 1), DataFile("f", 100, 1)
    assert not is_rewritten(large, DeletedRows.of([1]))
    assert not is_rewritten(large, DeletedRows.of(range(10_000)))
    assert is_rewritten(large, DeletedRows.of(range(10_001)))
    assert is_rewritten(small, DeletedRows.of([1]))
    assert not is_rewritten(small, DeletedRows.of(range(100)))

"""An opening deletes nothing that it does not know, and refuses a catalog that is missing, empty or outdated."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gpudb.errors import GpudbError
from gpudb.storage.lost_and_found import list_lost_files, purge
from gpudb.storage.recovery.check import check
from gpudb.storage.recovery.rebuild import repair
from gpudb.storage.store import Store
from tests.support.store_tables import ab, create, created, insert, rows, table_of


def contents(directory: Path) -> dict[str, bytes]:
    """All files below tables/, and the catalog's, but for empty ones."""
    found = [path for path in (directory / "tables").rglob("*") if path.is_file()]
    found += [path for path in directory.glob("catalog.db*") if not path.name.endswith("-shm")]
    return {str(path.relative_to(directory)): path.read_bytes() for path in found if path.stat().st_size}


def filled(directory: Path, commits: int = 3) -> int:
    """A data directory with the table `kept` of as many rows as `commits`."""
    with Store(directory, compaction=False) as store:
        oid = created(store, "kept")
        for number in range(commits):
            insert(store, oid, (number, "x"))
    return oid


def refused(directory: Path) -> GpudbError:
    before = contents(directory)
    with pytest.raises(GpudbError) as raised:
        Store(directory)
    assert contents(directory) == before
    assert raised.value.sqlstate == "XX001"
    return raised.value


def _remove(path: Path) -> None:
    path.unlink()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _delete_rows(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            connection.execute(f"DELETE FROM {name}")
        connection.commit()


def _truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [_remove, _empty, _delete_rows, _truncate])
@pytest.mark.parametrize("with_backup", [True, False])
def test_a_lost_catalog_is_refused_and_rebuilt(tmp_path: Path, damage, with_backup: bool) -> None:  # type: ignore[no-untyped-def]
    directory = tmp_path / "data"
    oid = filled(directory)
    damage(directory / "catalog.db")
    if not with_backup:
        (directory / "catalog-backup.db").unlink()
    error = refused(directory)
    assert "catalog.db" in str(error)
    assert damage is _truncate or "gpudb repair" in (error.hint or "")
    assert check(directory).problems
    report = repair(directory)
    assert (report.rebuilt, report.tables, report.rows) == (True, 1, 3)
    assert not check(directory, deep=True).problems
    with Store(directory) as store:
        assert rows(store, oid) == [(0, "x"), (1, "x"), (2, "x")]
        insert(store, oid, (9, "later"))
        new, _ = store.catalog().allocate_oid()
        assert new > oid
    with Store(directory) as store:
        assert len(rows(store, oid)) == 4
    assert not repair(directory).rebuilt


def test_a_copy_without_the_write_ahead_log_is_refused(tmp_path: Path) -> None:
    directory, copy = tmp_path / "data", tmp_path / "copy"
    with Store(directory, compaction=False) as store:
        oid = created(store, "kept")
        for number in range(4):
            insert(store, oid, (number, "x"))
        store.fold()
        assert (directory / "catalog.db-wal").stat().st_size
        shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("*-wal", "*-shm", "lock"))
    refused(copy)
    assert repair(copy).rows == 4
    with Store(copy) as store:
        assert len(rows(store, oid)) == 4


def test_an_older_copy_of_the_catalog_is_refused_and_brought_up_to_date(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    oid = filled(directory)
    older = {path.name: path.read_bytes() for path in directory.glob("catalog*")}
    with Store(directory, compaction=False) as store:
        insert(store, oid, (7, "new"))
        later = created(store, "later")
        insert(store, later, (8, "new"))
    for path in directory.glob("catalog*"):
        path.unlink()
    for name, data in older.items():
        (directory / name).write_bytes(data)
    error = refused(directory)
    assert "of commit" in str(error)
    assert repair(directory).rows == 5
    with Store(directory) as store:
        assert rows(store, oid)[-1] == (7, "new")
        assert rows(store, later) == [(8, "new")]


def test_a_commit_of_which_a_table_is_missing_is_left_out(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with Store(directory, compaction=False) as store:
        one, two = created(store, "one"), created(store, "two")
        insert(store, one, (1, "x"))
        insert(store, two, (1, "x"))
        store.fold()
        with store.begin() as reader:  # keeps the metadata before the last commit
            with store.begin() as transaction:
                transaction.append(one, [ab((2, "both"))])
                transaction.append(two, [ab((2, "both"))])
                transaction.commit()
            store.fold()
            shutil.copytree(
                directory, tmp_path / "copy", ignore=shutil.ignore_patterns("catalog*", "commits.log", "lock")
            )
            reader.rollback()
        newest = table_of(store, two).metadata_location
    assert newest is not None
    copy = tmp_path / "copy"
    (copy / "tables" / str(two) / "metadata" / Path(newest).name).unlink()
    report = repair(copy)
    assert any("incomplete" in change for change in report.changes)
    with Store(copy) as store:
        assert (rows(store, one), rows(store, two)) == ([(1, "x")], [(1, "x")])


def test_unknown_files_go_to_lost_and_found(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    oid = filled(directory)
    strays = {"99/data/a.parquet": b"one", f"{oid}/data/b.parquet": b"two", "notes.txt": b"three"}
    for name, data in strays.items():
        path = directory / "tables" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    Store(directory).close()
    (lost,) = list_lost_files(directory)
    assert {str(p.relative_to(lost.folder)): p.read_bytes() for p in lost.folder.rglob("*") if p.is_file()} == strays
    assert not (directory / "tables" / "99").exists()
    Store(directory).close()
    assert len(list_lost_files(directory)) == 1
    assert purge(directory, older_than=3600.0) == 0
    assert purge(directory, older_than=0.0) == 3
    assert not list_lost_files(directory)


def test_a_new_directory_has_nothing_to_check_or_repair(tmp_path: Path) -> None:
    with pytest.raises(GpudbError) as raised:
        check(tmp_path / "none")
    assert raised.value.sqlstate == "58P01"
    Store(tmp_path / "data").close()
    assert not check(tmp_path / "data").problems
    assert not repair(tmp_path / "data").rebuilt


def test_an_open_directory_is_neither_checked_nor_repaired(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        create(store.begin(), "t")
        for run in (check, repair):
            with pytest.raises(GpudbError) as raised:
                run(tmp_path / "data")
            assert raised.value.sqlstate == "55006"

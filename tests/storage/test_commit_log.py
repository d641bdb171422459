"""Small commits are in the log first: nothing of them is lost, and Iceberg's metadata has them soon."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudb.catalog.model import Database
from gpudb.catalog.tables import Table
from gpudb.errors import GpudbError
from gpudb.storage import folding
from gpudb.storage.commit_log import NAME, CommitLog
from gpudb.storage.recovery.check import check
from gpudb.storage.store import NO_PAST, Store
from tests.support.sessions import wait_until
from tests.support.store_tables import ab, create, created, insert, rows, table_of

_FOREVER = 3600.0


@pytest.fixture
def unfolded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store that folds nothing by itself."""
    monkeypatch.setattr(folding, "FOLD_SECONDS", _FOREVER)
    monkeypatch.setattr(folding, "QUIET_SECONDS", _FOREVER)
    with Store(tmp_path / "data", compaction=False) as store:
        yield store


def _crash(store: Store, to: Path) -> Path:
    """Returns a copy of a data directory as it is while its store is open."""
    return Path(shutil.copytree(store.directory, to, ignore=shutil.ignore_patterns("lock", "spill")))


def _fill(store: Store, count: int = 3) -> int:
    oid = created(store, "t", primary_key=("a",))
    for number in range(count):
        insert(store, oid, (number, "x"))
    return oid


def _has_metadata(store: Store, oid: int) -> bool:
    state = store.find_state(table_of(store, oid))
    return state is not None and {file.path for file in table_of(store, oid).files} == state.added.keys()


def test_what_a_crash_leaves_in_the_log_is_there(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded)
    assert not _has_metadata(unfolded, oid)
    copy = _crash(unfolded, tmp_path / "copy")
    for _ in range(2):
        with Store(copy, compaction=False) as store:
            assert rows(store, oid) == [(0, "x"), (1, "x"), (2, "x")]
            assert _has_metadata(store, oid)
            with pytest.raises(GpudbError, match="duplicate key"):
                insert(store, oid, (1, "y"))
    assert not (copy / "lost+found").exists()
    assert not check(copy, deep=True).problems


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "empty"])
def test_files_that_were_not_synced_are_written_again(unfolded: Store, tmp_path: Path, damage: object) -> None:
    oid = _fill(unfolded)
    copy = _crash(unfolded, tmp_path / "copy")
    for path in list((copy / "tables" / str(oid) / "data").iterdir()):
        damage(path)  # type: ignore[operator]
    with Store(copy, compaction=False) as store:
        assert rows(store, oid) == [(0, "x"), (1, "x"), (2, "x")]
    assert not check(copy, deep=True).problems


def test_the_last_record_may_be_cut(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded, 2)
    size = unfolded._committer._small.log_bytes
    insert(unfolded, oid, (2, "x"))
    copy = _crash(unfolded, tmp_path / "copy")
    content = bytearray((copy / NAME).read_bytes())
    content[size + 100 :] = bytes(len(content) - size - 100)
    (copy / NAME).write_bytes(content)
    with Store(copy, compaction=False) as store:
        assert rows(store, oid) == [(0, "x"), (1, "x")]
        insert(store, oid, (5, "later"))
    with Store(copy, compaction=False) as store:
        assert rows(store, oid) == [(0, "x"), (1, "x"), (5, "later")]


def test_folded_commits_are_not_read_again(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded, 5)
    unfolded.fold()
    assert _has_metadata(unfolded, oid)
    assert CommitLog(unfolded.directory / NAME, read_only=True).read(0)  # which a crash may leave there
    with Store(_crash(unfolded, tmp_path / "one"), compaction=False) as store:
        assert len(rows(store, oid)) == 5
    insert(unfolded, oid, (7, "x"))  # shorter than what the log had
    with Store(_crash(unfolded, tmp_path / "two"), compaction=False) as store:
        assert len(rows(store, oid)) == 6


def test_other_commits_fold_the_log(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded)
    other = created(unfolded, "other")
    assert _has_metadata(unfolded, oid)
    insert(unfolded, other, (1, "x"))
    insert(unfolded, oid, (3, "x"))
    with unfolded.begin() as transaction:
        transaction.truncate(other)
        transaction.commit()
    assert _has_metadata(unfolded, oid)
    insert(unfolded, oid, (4, "x"))
    with Store(_crash(unfolded, tmp_path / "copy"), compaction=False) as store:
        assert len(rows(store, oid)) == 5
        assert not rows(store, other)


def test_commits_of_several_databases(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded)
    with unfolded.begin() as transaction:
        transaction.set_catalog(transaction.catalog.put(Database("other", oid=9000)))
        transaction.commit()
    insert(unfolded, oid, (5, "x"))
    with unfolded.begin("other") as transaction:
        there = create(transaction, "t")
        transaction.commit()
    insert(unfolded, oid, (6, "x"))
    for settles in (False, True):
        with unfolded.begin("other") as transaction:
            transaction.append(there, [ab((1, "there"))])
            if settles:
                transaction.settle()
            transaction.commit()
        insert(unfolded, oid, (7 + settles, "x"))
    with Store(_crash(unfolded, tmp_path / "copy"), compaction=False) as store:
        assert len(rows(store, oid)) == 7
        table = store.catalog("other").find_relation_by_oid(there)
        assert isinstance(table, Table)
        assert sum(file.rows for file in table.files) == 2


@pytest.mark.parametrize("limit", ["FOLD_SECONDS", "QUIET_SECONDS", "FULL_BYTES"])
def test_metadata_follows_soon(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in ("FOLD_SECONDS", "QUIET_SECONDS"):
        monkeypatch.setattr(folding, each, _FOREVER)
    monkeypatch.setattr(folding, limit, 0.05)
    with Store(tmp_path / "data", compaction=False) as store:
        oid = _fill(store)
        wait_until(lambda: _has_metadata(store, oid), "the log is folded")
        insert(store, oid, (9, "x"))
        wait_until(lambda: _has_metadata(store, oid), "the log is folded again")


def test_a_store_that_is_read_only_has_the_rows(unfolded: Store, tmp_path: Path) -> None:
    oid = _fill(unfolded)
    copy = _crash(unfolded, tmp_path / "copy")
    with Store(copy, replace(NO_PAST, read_only=True), compaction=False) as store:
        assert len(rows(store, oid)) == 3
    with Store(copy, compaction=False) as store:
        assert len(rows(store, oid)) == 3


def test_snapshots_are_those_of_the_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "QUIET_SECONDS", _FOREVER)
    settings = replace(NO_PAST, snapshot_retention=_FOREVER)
    with Store(tmp_path / "data", settings, compaction=False) as store:
        oid = _fill(store)
        before = [(each.id, each.committed, each.operation) for each in store.catalog().snapshots[oid]]
        assert len(before) == 4
        store.fold()
        assert [(each.id, each.committed, each.operation) for each in store.catalog().snapshots[oid]] == before
        copy = _crash(store, tmp_path / "copy")
    with Store(copy, settings, compaction=False) as store:
        assert [(each.id, each.committed, each.operation) for each in store.catalog().snapshots[oid]] == before
        assert [len(each.table.files) for each in store.catalog().snapshots[oid]] == [0, 1, 2, 3]

"""Restores of the database of a time between backups, and restores that are killed and repeated."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpudb.config.storage import StorageSettings
from gpudb.errors import GpudbError
from gpudb.storage.backup.manifest import find_manifest, list_manifests
from gpudb.storage.backup.point_in_time import find_reaching
from gpudb.storage.backup.restore import restore, restore_in_place
from gpudb.storage.backup.write import back_up
from gpudb.storage.recovery.check import check
from gpudb.storage.recovery.unfinished_restore import UnfinishedRestore
from gpudb.storage.store import Store
from tests.support.sessions import wait_until
from tests.support.store_tables import created, insert, rows

KEPT = StorageSettings(snapshot_retention=3600)


def now() -> datetime:
    return datetime.now(UTC)


def refused(destination: Path, at: datetime) -> GpudbError:
    with pytest.raises(GpudbError) as raised:
        find_reaching(destination, at)
    assert raised.value.sqlstate == "42704"
    return raised.value


def restored(destination: Path, directory: Path, at: datetime, *oids: int) -> list[list[tuple[object, ...]]]:
    """Restores the database of a time; returns the rows of tables."""
    restore(destination, find_reaching(destination, at), directory, at)
    assert not check(directory, deep=True).problems
    with Store(directory, KEPT) as store:
        return [rows(store, oid) for oid in oids]


def test_each_moment_since_the_last_definition(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data", KEPT) as store:
        one = created(store, "one", primary_key=("a",))
        before = now()
        two = created(store, "two")
        moments = [now()]
        insert(store, one, (1, "x"))
        moments.append(now())
        with store.begin() as transaction:
            transaction.truncate(one)
            transaction.commit()
        moments.append(now())
        insert(store, one, (2, "y"))
        insert(store, two, (3, "z"))
        moments.append(now())
        back_up(store, destination)
        insert(store, two, (4, "after"))
        moments.append(now())
        back_up(store, destination)
        late = now()
    wanted = [([], []), ([(1, "x")], []), ([], []), ([(2, "y")], [(3, "z")]), ([(2, "y")], [(3, "z"), (4, "after")])]
    for number, (moment, expected) in enumerate(zip(moments, wanted, strict=True)):
        found = restored(destination, tmp_path / f"restored{number}", moment, one, two)
        assert tuple(found) == expected, number
    with Store(tmp_path / "restored1", KEPT) as store:
        insert(store, one, (9, "new"))
        with pytest.raises(GpudbError, match="duplicate key"):
            insert(store, one, (1, "again"))
    error = refused(destination, before)  # the second table was created later
    first = list_manifests(destination)[0]
    assert error.detail is not None
    assert f"Reachable are {first.reaches} to {first.time};" in error.detail
    assert error.hint is None
    error = refused(destination, late)
    assert error.hint == f'"--backup {find_manifest(destination).id}" restores the last backup before.'


def test_what_is_not_kept_is_not_reached(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data") as store:  # no past
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        gone = now()
        insert(store, oid, (2, "y"))
        kept = now()
        back_up(store, destination)
    refused(destination, gone)
    assert restored(destination, tmp_path / "restored", kept, oid) == [[(1, "x"), (2, "y")]]


def test_a_definition_of_any_kind_ends_what_is_reached(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    directory = tmp_path / "data"
    with Store(directory, KEPT) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        before = now()
        with store.begin() as transaction:
            role = transaction.catalog.roles["gpudb"]
            transaction.set_catalog(transaction.catalog.put(replace(role, comment="changed")))
            transaction.commit()
    with Store(directory, KEPT) as store:  # the time outlives the server
        insert(store, oid, (2, "y"))
        back_up(store, destination)
    refused(destination, before)


def test_what_an_earlier_gpudb_wrote(tmp_path: Path) -> None:
    """Its catalog does not say when a definition changed last, and its backups reach their own moment alone."""
    destination = tmp_path / "backups"
    with Store(tmp_path / "data", KEPT) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        unknown = now()
    with closing(sqlite3.connect(tmp_path / "data" / "catalog.db")) as catalog:
        catalog.execute("DELETE FROM gpudb_state WHERE key = 'defined'")
        catalog.commit()
    with Store(tmp_path / "data", KEPT) as store:
        known = now()
        insert(store, oid, (2, "y"))
        manifest = back_up(store, destination).manifest
    refused(destination, unknown)
    assert restored(destination, tmp_path / "restored", known, oid) == [[(1, "x")]]
    path = destination / "backups" / f"{manifest.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "reaches": None}))
    refused(destination, known)
    assert find_reaching(destination, datetime.fromisoformat(manifest.time)).id == manifest.id


def test_in_place(tmp_path: Path) -> None:
    directory, destination = tmp_path / "data", tmp_path / "backups"
    with Store(directory, KEPT) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        moment = now()
        insert(store, oid, (2, "mistake"))
        back_up(store, destination)
    kept = restore_in_place(destination, find_reaching(destination, moment), directory, moment)
    assert kept is not None
    with Store(directory, KEPT) as store:
        assert rows(store, oid) == [(1, "x")]
        assert [each.committed for each in store.catalog().snapshots[oid]]
    with Store(kept, KEPT) as store:
        assert rows(store, oid) == [(1, "x"), (2, "mistake")]


_KILLED = """
import os, signal, sys
from datetime import datetime
from pathlib import Path
from gpudb.storage.backup import restore
at = sys.argv[4] and datetime.fromisoformat(sys.argv[4]) or None
of = restore.UnfinishedRestore if sys.argv[3] == "end" else restore
named = getattr(of, sys.argv[3])
count = 0
def stopping(*arguments):
    global count
    count += 1
    if count == 2 or sys.argv[3] != "_copy_verified":
        os.kill(os.getpid(), signal.SIGSTOP)
    return named(*arguments)
setattr(of, sys.argv[3], stopping)
from gpudb.storage.backup.point_in_time import find_reaching
from gpudb.storage.backup.manifest import find_manifest
manifest = find_reaching(sys.argv[1], at) if at else find_manifest(sys.argv[1])
restore.restore(sys.argv[1], manifest, Path(sys.argv[2]), at)
"""


@pytest.mark.parametrize("step", ["_copy_verified", "write_configuration", "rewind", "end"])
def test_a_killed_restore_is_repeated(tmp_path: Path, step: str) -> None:
    """kill -9 in the midst of the files, before the catalog, before the rewinding, and before the end."""
    directory, destination = tmp_path / "restored", tmp_path / "backups"
    with Store(tmp_path / "data", KEPT) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        moment = now()
        insert(store, oid, (2, "y"))
        back_up(store, destination)
    command = [sys.executable, "-c", _KILLED, str(destination), str(directory), step, moment.isoformat()]
    with subprocess.Popen(command) as process:
        try:
            wait_until(lambda: _is_stopped(process.pid), "it has reached the step")
            with pytest.raises(GpudbError) as raised:
                restore(destination, find_manifest(destination), directory)
            assert raised.value.sqlstate == "55006"
        finally:
            os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(GpudbError) as raised:
        Store(directory)
    assert raised.value.sqlstate == "55000"
    assert "was not finished" in raised.value.message
    assert restored(destination, directory, moment, oid) == [[(1, "x")]]


def _is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def test_others_files_stay(tmp_path: Path) -> None:
    destination, directory = tmp_path / "backups", tmp_path / "data"
    with Store(directory) as store:
        created(store, "t")
        back_up(store, destination)
    before = sorted(path.name for path in directory.iterdir())
    with pytest.raises(GpudbError) as raised:
        restore(destination, find_manifest(destination), directory)
    assert raised.value.sqlstate == "58P02"
    assert sorted(path.name for path in directory.iterdir()) == before
    assert refused(destination, now() - timedelta(days=1)).hint is None


def test_a_directory_that_cannot_be_cleared_stays_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    destination, directory = tmp_path / "backups", tmp_path / "restored"
    with Store(tmp_path / "data") as store:
        insert(store, created(store, "t"), (1, "x"))
        manifest = back_up(store, destination).manifest
    next(path for path in destination.rglob("*.parquet*") if path.is_file()).unlink()
    clear, calls = UnfinishedRestore.clear, []

    def failing(unfinished: UnfinishedRestore) -> None:
        calls.append(unfinished)
        if len(calls) > 1:
            raise PermissionError("no")
        clear(unfinished)

    monkeypatch.setattr(UnfinishedRestore, "clear", failing)
    with pytest.raises(PermissionError):
        restore(destination, manifest, directory)
    with pytest.raises(GpudbError, match="was not finished"):
        Store(directory)

"""Backups of a store: consistent while rows are written, incremental, verified, and restored as they were."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from gpudb.errors import GpudbError
from gpudb.storage.backup.configuration import MAX_BYTES
from gpudb.storage.backup.manifest import BACKUPS, FILES, find_manifest, list_manifests
from gpudb.storage.backup.restore import restore, restore_in_place, verify
from gpudb.storage.backup.schedule import BackupSchedule, prune
from gpudb.storage.backup.write import back_up
from gpudb.storage.recovery.check import check
from gpudb.storage.store import Store
from tests.support.store_tables import ab, created, insert, rows, table_of


def test_a_restored_backup_is_the_database_of_that_moment(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data") as store:
        oid = created(store, "t", primary_key=("a",))
        insert(store, oid, (1, "x"))
        first = back_up(store, destination)
        insert(store, oid, (2, "y"))
        second = back_up(store, destination)
        third = back_up(store, destination)
        insert(store, oid, (3, "z"))
        with store.begin() as transaction:
            transaction.truncate(oid)
            transaction.commit()
    assert first.copied_files == len(first.manifest.files)
    assert {Path(name).suffix for name in second.manifest.files} == {".parquet", ".json", ".avro"}
    assert 0 < second.copied_files < len(second.manifest.files)
    assert (third.copied_files, third.copied_bytes) == (0, 0)
    assert not list(verify(destination))
    for result, wanted in ((first, [(1, "x")]), (second, [(1, "x"), (2, "y")])):
        directory = tmp_path / result.manifest.id
        restore(destination, result.manifest, directory)
        assert not check(directory, deep=True).problems
        with Store(directory) as store:
            assert rows(store, oid) == wanted
            insert(store, oid, (9, "new"))
            with pytest.raises(GpudbError, match="duplicate key"):
                insert(store, oid, (1, "again"))
        assert check(directory, deep=True).rows == len(wanted) + 1


def test_a_backup_replaces_a_directory_that_no_server_has(tmp_path: Path) -> None:
    directory, destination = tmp_path / "data", tmp_path / "backups"
    with Store(directory) as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        manifest = back_up(store, destination).manifest
        insert(store, oid, (2, "y"))
        with pytest.raises(GpudbError, match="in use by another gpudb") as refused:
            restore_in_place(destination, manifest, directory)
        assert refused.value.sqlstate == "55006"
    (tmp_path / "data.restoring" / "tables").mkdir(parents=True)  # of a restore that was killed
    # A damaged backup changes nothing.
    (file,) = (destination / FILES).rglob("*.parquet")
    sound = file.read_bytes()
    file.write_bytes(sound[:-1] + b"?")
    with pytest.raises(GpudbError, match="differs from its checksum"):
        restore_in_place(destination, manifest, directory)
    file.write_bytes(sound)
    with Store(directory) as store:
        assert rows(store, oid) == [(1, "x"), (2, "y")]
    kept = restore_in_place(destination, manifest, directory)
    assert kept is not None
    for path, wanted in ((directory, [(1, "x")]), (kept, [(1, "x"), (2, "y")])):
        assert not check(path, deep=True).problems
        with Store(path) as store:
            assert rows(store, oid) == wanted
    assert restore_in_place(destination, manifest, tmp_path / "new") is None
    assert not check(tmp_path / "new", deep=True).problems


def test_a_backup_by_id(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data") as store:
        first = back_up(store, destination).manifest
        second = back_up(store, destination).manifest
    assert find_manifest(destination) == second
    assert find_manifest(destination, id=first.id) == first
    with pytest.raises(GpudbError) as raised:
        find_manifest(destination, id="none")
    assert raised.value.sqlstate == "42704"
    with pytest.raises(GpudbError) as raised:
        find_manifest(tmp_path / "data")
    assert raised.value.sqlstate == "58P01"


def test_tables_are_of_one_commit_while_they_are_written(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    ends = threading.Event()
    with Store(tmp_path / "data", keep_seconds=0.0) as store:
        one, two = created(store, "one"), created(store, "two")

        def write() -> None:
            number = 0
            while not ends.is_set():
                number += 1
                with store.begin() as transaction:
                    for oid in (one, two):
                        if number % 7 == 0:
                            transaction.truncate(oid)
                        transaction.append(oid, [ab((number, "x"))])
                    transaction.commit()

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(8):
                back_up(store, destination)
        finally:
            ends.set()
            writer.join()
    manifests = list_manifests(destination)
    assert len({manifest.commit for manifest in manifests}) > 2
    assert not list(verify(destination, manifests))
    for manifest in manifests:
        directory = tmp_path / manifest.id
        restore(destination, manifest, directory)
        with Store(directory) as store:
            assert sorted(rows(store, one)) == sorted(rows(store, two))


def test_a_backup_leaves_nothing_in_the_data_directory(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        before = {path.name for path in store.directory.iterdir()}
        (store.directory / "backup-1-killed").mkdir()
        back_up(store, tmp_path / "backups")
        assert {path.name for path in store.directory.iterdir()} == before


def test_configuration_in_the_data_directory_is_restored(tmp_path: Path) -> None:
    source, restored = tmp_path / "data", tmp_path / "restored"
    with Store(source) as store:
        (source / "system_settings.json").write_text('{"work_mem": "64MB"}')
        (source / "pg_hba.conf").write_bytes(b"# \xff\nlocal all all trust\n")
        (source / "large.json").write_bytes(b" " * (MAX_BYTES + 1))
        (source / "server.key").write_text("secret")
        manifest = back_up(store, tmp_path / "backups").manifest
    assert set(manifest.configuration) == {"system_settings.json", "pg_hba.conf"}
    restore(tmp_path / "backups", find_manifest(tmp_path / "backups"), restored)
    for name in manifest.configuration:
        assert (restored / name).read_bytes() == (source / name).read_bytes()
        assert (restored / name).stat().st_mode & 0o777 == 0o600
    assert not (restored / "server.key").exists()


@pytest.mark.parametrize("member", ["files", "configuration"])
def test_a_manifest_cannot_write_elsewhere(tmp_path: Path, member: str) -> None:
    with Store(tmp_path / "data") as store:
        manifest = back_up(store, tmp_path / "backups").manifest
    path = tmp_path / "backups" / BACKUPS / f"{manifest.id}.json"
    data = json.loads(path.read_text())
    data[member]["../outside"] = "x" if member == "configuration" else {"bytes": 1, "sha256": ""}
    path.write_text(json.dumps(data))
    with pytest.raises(GpudbError, match="leads out of the data directory") as raised:
        find_manifest(tmp_path / "backups")
    assert raised.value.sqlstate == "XX001"


def test_a_damaged_backup_is_found_and_not_restored(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data") as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        manifest = back_up(store, destination).manifest
    (path,) = (destination / FILES).rglob("*.parquet")
    whole = path.read_bytes()
    for damage, word in ((whole[:-9] + b"x" + whole[-8:], "checksum"), (None, "missing")):
        path.unlink() if damage is None else path.write_bytes(damage)
        assert [(id, word in problem) for id, problem in verify(destination)] == [(manifest.id, True)]
        target = tmp_path / word
        with pytest.raises(GpudbError, match=path.name) as raised:
            restore(destination, manifest, target)
        assert raised.value.sqlstate == "XX001"
        assert not list(target.iterdir())


def test_what_cannot_be_backed_up_or_restored(tmp_path: Path) -> None:
    with Store() as store, pytest.raises(GpudbError) as raised:
        back_up(store, tmp_path / "backups")
    assert raised.value.sqlstate == "55000"
    with Store(tmp_path / "data") as store:
        with pytest.raises(GpudbError, match="inside the data directory"):
            back_up(store, tmp_path / "data" / "backups")
        manifest = back_up(store, tmp_path / "backups").manifest
    with pytest.raises(GpudbError, match="is not empty"):
        restore(tmp_path / "backups", manifest, tmp_path / "data")


def test_a_damaged_table_cannot_be_backed_up(tmp_path: Path) -> None:
    with Store(tmp_path / "data") as store:
        oid = created(store, "t")
        insert(store, oid, (1, "x"))
        store.fold()
        location = table_of(store, oid).metadata_location
    Path(location or "").unlink()
    with Store(tmp_path / "data") as store, pytest.raises(GpudbError) as raised:
        back_up(store, tmp_path / "backups")
    assert raised.value.sqlstate == "XX001"
    assert not list((tmp_path / "backups" / BACKUPS).rglob("*"))


def test_a_schedule_keeps_the_last_backups(tmp_path: Path) -> None:
    destination = tmp_path / "backups"
    with Store(tmp_path / "data", keep_seconds=0.0) as store:
        oid = created(store, "t")
        schedule = BackupSchedule(store, destination, 0.05, keep=2)
        deadline = time.monotonic() + 60
        seen: set[str] = set()
        number = 0
        while len(seen) < 5 and time.monotonic() < deadline:
            number += 1
            with store.begin() as transaction:
                transaction.truncate(oid)
                transaction.append(oid, [ab((number, "x"))])
                transaction.commit()
            seen |= {path.stem for path in (destination / BACKUPS).glob("*.json")}
        schedule.stop()
    assert len(seen) >= 5
    assert len(list_manifests(destination)) <= 3
    prune(destination, 1)
    (last,) = list_manifests(destination)
    assert not list(verify(destination))
    stored = {str(path.relative_to(destination / FILES)) for path in (destination / FILES).rglob("*") if path.is_file()}
    assert stored == set(last.files)

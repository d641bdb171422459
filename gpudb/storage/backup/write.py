"""Writes a backup of an open store: a consistent snapshot of all tables, while statements go on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpudb.errors import GpudbError, SqlError
from gpudb.storage.backup.manifest import (
    BACKUPS,
    FILES,
    Manifest,
    StoredFile,
    hash_file,
    list_manifests,
    new_id,
    write_manifest,
)
from gpudb.storage.iceberg.file_writer import disk_condition, sync
from gpudb.storage.lockfile import LockFile
from gpudb.storage.private_files import create_file, make_directory
from gpudb.storage.store import Store


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A finished backup: its manifest, and the files and bytes that no earlier backup held."""

    manifest: Manifest
    copied_files: int
    copied_bytes: int


def back_up(store: Store, destination: Path, *, check: Callable[[], None] = lambda: None) -> BackupResult:
    """Adds a backup of a store to a folder, which is created if it is missing; `check` may cancel it.

    All tables are of the same commit. Raises 55000 for a store without a data directory, 42710 for a folder inside it,
    55006 while another backup is written to the folder, XX001 for a table that cannot be read, and 53100 or 58030 if
    files cannot be written.
    """
    if not store.durable:
        message = "a database without a data directory cannot be backed up"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    destination = destination.absolute()
    if destination == store.directory or store.directory in destination.parents:
        raise SqlError.of("duplicate_object", f'the folder "{destination}" is inside the data directory')
    with _disk_errors(destination):
        for folder in (destination / BACKUPS, destination / FILES):
            make_directory(folder)
    lock = LockFile(destination / "lock", f'the backup folder "{destination}"', shared=False)
    try:
        with _disk_errors(destination):
            return _back_up(store, destination, check)
    finally:
        lock.close()


def _back_up(store: Store, destination: Path, check: Callable[[], None]) -> BackupResult:
    id = new_id()
    catalog = destination / BACKUPS / f"{id}.db"
    known = _list_known_files(destination)
    copied_files = copied_bytes = 0
    try:
        with store.freeze(catalog) as frozen:
            time = datetime.now(UTC).isoformat()
            files: dict[str, StoredFile] = {}
            for path in sorted(frozen.files):
                check()
                name = str(path.relative_to(store.directory / "tables"))
                target = destination / FILES / name
                stored = known.get(name)
                if stored is None or not target.exists() or target.stat().st_size != stored.bytes:
                    stored = _copy(path, target)
                    copied_files += 1
                    copied_bytes += stored.bytes
                files[name] = stored
        for folder in sorted({(destination / FILES / name).parent for name in files}):
            sync(folder)
        sync(catalog)
        external = tuple(sorted(str(path) for path in frozen.external))
        manifest = Manifest(id, time, frozen.commit, hash_file(catalog), files, external)
        write_manifest(destination, manifest)
        sync(destination / BACKUPS)
    except BaseException:
        catalog.unlink(missing_ok=True)
        raise
    return BackupResult(manifest, copied_files, copied_bytes)


def _list_known_files(destination: Path) -> dict[str, StoredFile]:
    """Returns the files that earlier backups hold."""
    if not any((destination / BACKUPS).glob("*.json")):
        return {}
    return {name: file for manifest in list_manifests(destination) for name, file in manifest.files.items()}


def _copy(source: Path, target: Path) -> StoredFile:
    make_directory(target.parent)
    partial = target.with_name(f"{target.name}.part")
    create_file(partial)
    shutil.copyfile(source, partial)
    sync(partial)
    stored = hash_file(partial)
    partial.rename(target)
    return stored


@contextmanager
def _disk_errors(destination: Path) -> Iterator[None]:
    """Converts errors of the operating system: 53100, 42501 or 58030."""
    try:
        yield
    except OSError as error:
        condition = "insufficient_privilege" if isinstance(error, PermissionError) else disk_condition(error)
        raise GpudbError(f'could not write a backup to "{destination}": {error}', condition=condition) from error

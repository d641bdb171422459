"""Writes a backup of an open store: a consistent snapshot of all tables, while statements go on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gpudb.errors import GpudbError, SqlError
from gpudb.storage.backup.configuration import read_configuration
from gpudb.storage.backup.destination import Destination, open_destination
from gpudb.storage.backup.manifest import BACKUPS, FILES, Manifest, list_manifests, new_id, write_manifest
from gpudb.storage.backup.stored_file import StoredFile
from gpudb.storage.iceberg.file_writer import disk_condition
from gpudb.storage.store import Store

_TEMPORARY = "backup-"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class BackupResult:
    """A finished backup: its manifest, and the files and bytes that no earlier backup held."""

    manifest: Manifest
    copied_files: int
    copied_bytes: int


def back_up(store: Store, where: str | Path, *, check: Callable[[], None] = lambda: None) -> BackupResult:
    """Adds a backup of a store to a folder, which is created if it is missing, or to a URL; `check` may cancel it.

    All tables are of the same commit. Raises 55000 for a store without a data directory, 42710 for a folder inside it,
    55006 while another backup is written to the same destination, XX001 for a table that cannot be read, 53100 or 58030
    if files cannot be written, and 0A000 for a URL of an unknown kind.
    """
    if not store.durable:
        message = "a database without a data directory cannot be backed up"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    destination = open_destination(where)
    folder = destination.folder
    if folder is not None and (folder == store.directory or store.directory in folder.parents):
        raise SqlError.of("duplicate_object", f'the folder "{folder}" is inside the data directory')
    with _disk_errors(destination), destination.lock():
        return _back_up(store, destination, check)


def _back_up(store: Store, destination: Destination, check: Callable[[], None]) -> BackupResult:
    id = new_id()
    known = _list_known_files(destination)
    with _make_temporary_folder(store.private_directory) as temporary:
        catalog = Path(temporary) / "catalog.db"
        with store.freeze(catalog) as frozen:
            time, reaches = map(_to_iso, (frozen.moment, frozen.reaches))
            tables = store.directory / "tables"
            paths = {str(path.relative_to(tables)): path for path in sorted(frozen.files)}
            missing = {name: path for name, path in paths.items() if name not in known}
            sent = _send_files(destination, missing, check)
            configuration = read_configuration(store.directory)
        destination.sync([f"{FILES}/{name}" for name in sent])
        files = {name: sent.get(name) or known[name] for name in paths}
        external = tuple(sorted(str(path) for path in frozen.external))
        catalog_name = f"{BACKUPS}/{id}.db"
        try:
            stored_catalog = destination.send(catalog, catalog_name)
            destination.sync([catalog_name])
            manifest = Manifest(id, time, frozen.commit, stored_catalog, files, external, configuration, reaches)
            write_manifest(destination, manifest)
        except BaseException:
            destination.remove([catalog_name])
            raise
    return BackupResult(manifest, len(sent), sum(each.bytes for each in sent.values()))


def _to_iso(moment: int) -> str:
    return (_EPOCH + timedelta(microseconds=moment)).isoformat(timespec="microseconds")


def _make_temporary_folder(directory: Path) -> tempfile.TemporaryDirectory[str]:
    """Makes a folder in the data directory, and removes those that processes left that were killed.

    The folder for spilling does not do: a DuckDB instance removes it as a whole.
    """
    own = f"{_TEMPORARY}{os.getpid()}-"
    for path in directory.glob(f"{_TEMPORARY}*"):
        if not path.name.startswith(own):
            shutil.rmtree(path, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=own, dir=directory)


def _send_files(
    destination: Destination, paths: Mapping[str, Path], check: Callable[[], None]
) -> dict[str, StoredFile]:
    """Sends files, several at a time where that is faster; returns their lengths and checksums."""

    def send(name: str) -> StoredFile:
        check()
        return destination.send(paths[name], f"{FILES}/{name}")

    with ThreadPoolExecutor(destination.writers, thread_name_prefix="backup") as threads:
        try:
            return dict(zip(paths, threads.map(send, paths), strict=True))
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise


def _list_known_files(destination: Destination) -> dict[str, StoredFile]:
    """Returns the files that earlier backups hold, and that are there with their lengths."""
    if not any(name.endswith(".json") for name in destination.list_sizes(BACKUPS)):
        return {}
    known = {name: file for manifest in list_manifests(destination) for name, file in manifest.files.items()}
    sizes = destination.list_sizes(FILES)
    return {name: file for name, file in known.items() if sizes.get(f"{FILES}/{name}") == file.bytes}


@contextmanager
def _disk_errors(destination: Destination) -> Iterator[None]:
    """Converts errors of the operating system and of the network: 53100, 42501 or 58030."""
    try:
        yield
    except OSError as error:
        condition = "insufficient_privilege" if isinstance(error, PermissionError) else disk_condition(error)
        raise GpudbError(f'could not write a backup to "{destination.name}": {error}', condition=condition) from error

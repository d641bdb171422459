"""Restores a backup into a new data directory or in the place of one, and verifies backups."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from gpudb.errors import GpudbError
from gpudb.storage.backup.configuration import write_configuration
from gpudb.storage.backup.destination import Destination, open_destination
from gpudb.storage.backup.manifest import FILES, Manifest, list_manifests
from gpudb.storage.backup.point_in_time import rewind
from gpudb.storage.backup.stored_file import StoredFile
from gpudb.storage.iceberg.file_writer import disk_condition, sync
from gpudb.storage.lockfile import LockFile
from gpudb.storage.private_files import create_file, make_data_directory, make_directory
from gpudb.storage.recovery.unfinished_restore import UnfinishedRestore, is_marked


def restore(source: str | Path, manifest: Manifest, directory: Path, at: datetime | None = None) -> None:
    """Restores a backup of the folder or URL `source` into `directory`, which must be empty or missing.

    With `at` its tables have the rows of that moment, which the backup reaches. A restore that was killed may be
    repeated: it begins anew, and no server opens the directory before one has ended. Every file is verified. Raises
    58P02 if the directory holds something else, 55006 while another restore writes to it, and XX001 with the file's
    name if a file of the backup is missing or differs from its checksum; the directory is empty then.
    """
    destination = open_destination(source)
    if directory.exists() and not is_marked(directory) and any(directory.iterdir()):
        raise GpudbError(f'the directory "{directory}" is not empty', condition="duplicate_file")
    make_data_directory(directory)
    unfinished = UnfinishedRestore(directory)
    try:
        with _errors(destination, directory):
            unfinished.clear()
            _restore(destination, manifest, directory)
            if at is not None:
                rewind(directory, at)
    except BaseException:
        unfinished.clear()  # where it fails, the mark stays
        unfinished.end()
        raise
    unfinished.end()


def restore_in_place(
    source: str | Path, manifest: Manifest, directory: Path, at: datetime | None = None
) -> Path | None:
    """Restores a backup in the place of a data directory; returns the folder that keeps what was there, if anything.

    Everything is restored beside the directory first, which is unchanged until then. Raises 55006 if a server has the
    directory open, and what `restore` raises.
    """
    directory = directory.absolute()
    beside = directory.with_name(f"{directory.name}.restoring")
    if beside.exists():  # a restore was killed
        shutil.rmtree(beside)
    if not (directory.exists() and any(directory.iterdir())):
        restore(source, manifest, directory, at)
        return None
    lock = LockFile(directory / "lock")
    try:
        restore(source, manifest, beside, at)
        kept = directory.with_name(f"{directory.name}.before-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        with _errors(open_destination(source), directory):
            directory.rename(kept)
            beside.rename(directory)
            sync(directory.parent)
    finally:
        lock.close()
    return kept


def _restore(source: Destination, manifest: Manifest, directory: Path) -> None:
    tables = directory / "tables"
    make_directory(tables)
    for folder in sorted({(tables / name).parent for name in manifest.files}):
        make_directory(folder)
    with ThreadPoolExecutor(source.writers) as threads:
        copied = [
            threads.submit(_copy_verified, source, f"{FILES}/{name}", tables / name, stored)
            for name, stored in manifest.files.items()
        ]
        try:
            for each in copied:
                each.result()
        except BaseException:
            threads.shutdown(cancel_futures=True)
            raise
    for folder in sorted({path.parent for path in tables.rglob("*")}):
        sync(folder)
    write_configuration(directory, manifest.configuration)
    # Last, so that a restore that was killed is no database: a start refuses tables without a catalog.
    partial = directory / "catalog.part"
    _copy_verified(source, manifest.catalog_name, partial, manifest.catalog)
    partial.rename(directory / "catalog.db")
    sync(directory)


def verify(where: str | Path, manifests: list[Manifest] | None = None) -> Iterator[tuple[str, str]]:
    """Yields, for backups of a folder or URL (default: all), each problem as a backup's ID and a sentence.

    Every file is read once and compared with its checksum. Raises 58030 if the destination cannot be reached.
    """
    source = open_destination(where)
    seen: dict[str, str | None] = {}
    for manifest in list_manifests(source) if manifests is None else manifests:
        files = {f"{FILES}/{name}": file for name, file in manifest.files.items()}
        for name, stored in {manifest.catalog_name: manifest.catalog, **files}.items():
            if name not in seen:
                seen[name] = _find_problem(source, name, stored)
            if (problem := seen[name]) is not None:
                yield manifest.id, problem


def _find_problem(source: Destination, name: str, stored: StoredFile) -> str | None:
    try:
        found = source.hash(name)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return f'file "{source.name}/{name}" is missing'
    except OSError as error:
        raise GpudbError(f'could not read "{source.name}/{name}": {error}', condition="io_error") from error
    return None if found == stored else f'file "{source.name}/{name}" differs from its checksum'


def _copy_verified(source: Destination, name: str, target: Path, stored: StoredFile) -> None:
    create_file(target)
    try:
        copied = source.fetch(name, target)
    except FileNotFoundError:
        message = f'file "{source.name}/{name}" of the backup is missing'
        raise GpudbError(message, condition="data_corrupted") from None
    if copied != stored:
        message = f'file "{source.name}/{name}" of the backup differs from its checksum'
        raise GpudbError(message, condition="data_corrupted")


@contextmanager
def _errors(source: Destination, directory: Path) -> Iterator[None]:
    """Converts errors of the operating system and of the network: 53100 or 58030."""
    try:
        yield
    except OSError as error:
        message = f'could not restore "{source.name}" to "{directory}": {error}'
        raise GpudbError(message, condition=disk_condition(error)) from error

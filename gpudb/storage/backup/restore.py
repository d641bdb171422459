"""Restores a backup into a new data directory, and verifies backups."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from gpudb.errors import GpudbError
from gpudb.storage.backup.manifest import BACKUPS, FILES, Manifest, StoredFile, hash_file, list_manifests
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.private_files import create_file, make_data_directory, make_directory


def restore(source: Path, manifest: Manifest, directory: Path) -> None:
    """Restores a backup of the folder `source` into `directory`, which must be empty or missing.

    Every file is verified. Raises 58P02 if the directory holds something, and XX001 with the file's name if a file of
    the backup is missing or differs from its checksum; the directory is empty then.
    """
    if directory.exists() and any(directory.iterdir()):
        raise GpudbError(f'the directory "{directory}" is not empty', condition="duplicate_file")
    make_data_directory(directory)
    try:
        _restore(source, manifest, directory)
    except BaseException:
        for path in directory.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        raise


def _restore(source: Path, manifest: Manifest, directory: Path) -> None:
    tables = directory / "tables"
    make_directory(tables)
    for name, stored in manifest.files.items():
        target = tables / name
        make_directory(target.parent)
        _copy_verified(source / FILES / name, target, stored)
    for folder in sorted({path.parent for path in tables.rglob("*")}):
        sync(folder)
    # Last, so that a restore that was killed is no database: a start refuses tables without a catalog.
    partial = directory / "catalog.part"
    _copy_verified(source / BACKUPS / f"{manifest.id}.db", partial, manifest.catalog)
    partial.rename(directory / "catalog.db")
    sync(directory)


def verify(source: Path, manifests: list[Manifest] | None = None) -> Iterator[tuple[str, str]]:
    """Yields, for backups of a folder (default: all), each problem as a backup's ID and a sentence.

    Every file is read once and compared with its checksum.
    """
    seen: dict[str, str | None] = {}
    for manifest in list_manifests(source) if manifests is None else manifests:
        files = {f"{FILES}/{name}": file for name, file in manifest.files.items()}
        for name, stored in {f"{BACKUPS}/{manifest.id}.db": manifest.catalog, **files}.items():
            if name not in seen:
                seen[name] = _find_problem(source / name, stored)
            if (problem := seen[name]) is not None:
                yield manifest.id, problem


def _find_problem(path: Path, stored: StoredFile) -> str | None:
    if not path.is_file():
        return f'file "{path}" is missing'
    if hash_file(path) != stored:
        return f'file "{path}" differs from its checksum'
    return None


def _copy_verified(source: Path, target: Path, stored: StoredFile) -> None:
    if not source.is_file():
        raise GpudbError(f'file "{source}" of the backup is missing', condition="data_corrupted")
    create_file(target)
    shutil.copyfile(source, target)
    if hash_file(target) != stored:
        raise GpudbError(f'file "{source}" of the backup differs from its checksum', condition="data_corrupted")
    sync(target)

"""A folder of this machine as a destination of backups."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gpudb.storage.backup.stored_file import StoredFile
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.lockfile import LockFile
from gpudb.storage.private_files import create_file, make_directory


class Folder:
    """A folder with backups; it and its files are for their owner alone."""

    writers = 1

    def __init__(self, path: Path) -> None:
        self.folder: Path | None = path
        self.name = str(path)
        self._path = path

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Creates the folder, and keeps other backups from being written to it; 55006 if one is."""
        make_directory(self._path)
        lock = LockFile(self._path / "lock", f'the backup folder "{self._path}"', shared=False)
        try:
            yield
        finally:
            lock.close()

    def list_sizes(self, prefix: str) -> Mapping[str, int]:
        """Returns the files below a folder: their bytes by name."""
        found = (path for path in (self._path / prefix).rglob("*") if path.is_file())
        return {str(path.relative_to(self._path)): path.stat().st_size for path in found}

    def read(self, name: str) -> bytes:
        """Returns the content of a file."""
        return (self._path / name).read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Writes a file atomically and durably."""
        partial = self._make_partial(name)
        partial.write_bytes(content)
        sync(partial)
        partial.rename(self._path / name)
        sync(partial.parent)

    def send(self, source: Path, name: str) -> StoredFile:
        """Copies a local file here."""
        partial = self._make_partial(name)
        shutil.copyfile(source, partial)
        sync(partial)
        stored = _hash(partial)
        partial.rename(self._path / name)
        return stored

    def sync(self, names: Iterable[str]) -> None:
        """Makes the entries of files that were sent durable."""
        for folder in sorted({(self._path / name).parent for name in names}):
            sync(folder)

    def fetch(self, name: str, target: Path) -> StoredFile:
        """Copies a file into an existing one; the checksum is that of the copy."""
        shutil.copyfile(self._path / name, target)
        sync(target)
        return _hash(target)

    def hash(self, name: str) -> StoredFile:
        """Reads a file and returns its checksum."""
        return _hash(self._path / name)

    def remove(self, names: Iterable[str]) -> None:
        """Removes files."""
        for name in names:
            (self._path / name).unlink(missing_ok=True)

    def _make_partial(self, name: str) -> Path:
        path = self._path / name
        make_directory(path.parent)
        partial = path.with_name(f"{path.name}.part")
        create_file(partial)
        os.truncate(partial, 0)
        return partial


def _hash(path: Path) -> StoredFile:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        return StoredFile(file.tell(), digest.hexdigest())

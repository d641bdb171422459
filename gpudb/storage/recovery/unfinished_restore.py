"""The mark of a data directory into which a backup is being restored: no server opens it until that is done."""

from __future__ import annotations

import shutil
from pathlib import Path

from gpudb.errors import GpudbError
from gpudb.storage.iceberg.file_writer import sync
from gpudb.storage.lockfile import LockFile

MARK = "restore-unfinished"


def is_marked(directory: Path) -> bool:
    """Returns whether a restore into a directory has begun and not ended."""
    return (directory / MARK).exists()


class UnfinishedRestore:
    """A restore into a directory, from its mark to `end`. The mark is locked: 55006 while another restore runs."""

    def __init__(self, directory: Path) -> None:
        """Marks the directory durably."""
        self._directory = directory
        self._lock = LockFile(directory / MARK)
        sync(directory)

    def clear(self) -> None:
        """Removes what has been written, but for the mark."""
        for path in self._directory.iterdir():
            if path.name != MARK:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def end(self) -> None:
        """Removes the mark durably: the directory is empty, or a database."""
        (self._directory / MARK).unlink()
        sync(self._directory)
        self._lock.close()


def check_restored(directory: Path) -> None:
    """Raises 55000 for a directory into which a restore has not ended."""
    if is_marked(directory):
        message = f'a restore into the data directory "{directory}" was not finished'
        hint = "Run the same gpudb restore again: it begins anew."
        raise GpudbError(message, condition="object_not_in_prerequisite_state", hint=hint)

"""A directory of this process that no other user may enter. It goes with the process, or when the next one starts.

A process that is killed leaves its directory. The lock in it, which ended with the process, tells the next one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "gpudb-workers-"
_LOCK = "workers.lock"
"""No other directory has a file of this name: nothing else is ever removed."""


class PrivateDirectory:
    """A new directory with mode 0700 at `path`, in Dask's directory for temporary files or else the system's."""

    def __init__(self) -> None:
        import dask

        parent = Path(dask.config.get("temporary-directory") or tempfile.gettempdir())
        _remove_abandoned(parent)
        self._made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True)
        self.path = Path(self._made.name)
        # Locked before it has its name: whoever finds the name finds the lock held.
        unnamed = self.path / "new"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _LOCK)

    def close(self) -> None:
        """Removes it."""
        self._made.cleanup()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    """Removes the directories of this user's processes that were killed."""
    for directory in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            found = directory.stat(follow_symlinks=False)
            if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
                with _take(directory / _LOCK):
                    shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _take(lock: Path) -> Iterator[None]:
    """Holds a lock. Raises OSError if there is none, or its process still runs."""
    descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)

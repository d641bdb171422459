"""A directory of this process that no other user may enter. It goes with the process, or when the next one starts.

It is locked for as long as the process runs. Programs that clean temporary files (systemd-tmpfiles) leave a locked
directory alone; one that is not locked is what a killed process left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "gpudb-workers-"
_MARK = "made-by-gpudb"
"""A file that marks the directory, once it is locked: nothing without it is ever removed."""


class PrivateDirectory:
    """A new directory with mode 0700 at `path`, in Dask's directory for temporary files or else the system's."""

    def __init__(self) -> None:
        import dask

        parent = Path(dask.config.get("temporary-directory") or tempfile.gettempdir())
        _remove_abandoned(parent)
        self._made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True)
        self.path = Path(self._made.name)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(self._lock, fcntl.LOCK_SH)
            (self.path / _MARK).touch(mode=0o600)

    def close(self) -> None:
        """Removes it."""
        self._made.cleanup()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def _remove_abandoned(parent: Path) -> None:
    """Removes the directories of this user's processes that were killed."""
    for directory in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid() and (directory / _MARK).exists():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(descriptor)

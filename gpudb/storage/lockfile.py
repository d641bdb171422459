"""Lock file of a data directory or of a GPU: one process holds it, or those that hold it together."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gpudb.errors import GpudbError

_OWNER_MODE, _SHARED_MODE = 0o600, 0o666


class LockFile:
    """Held from construction to `close`; the kernel releases it when the process dies."""

    def __init__(self, path: Path, what: str = "", *, shared: bool = True, together: bool = False) -> None:
        """Acquires the lock.

        Raises 55006 if another process, or another store of this one, holds it, and 42501 if this user may not open the
        file. `what` names a resource, which all users of the machine share unless it is not `shared`; by default the
        lock is for the directory of `path`, which is its owner's. Those that lock it `together` keep only others out.
        """
        self._descriptor = _open(path, _SHARED_MODE if what and shared else _OWNER_MODE)
        try:
            fcntl.flock(self._descriptor, (fcntl.LOCK_SH if together else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            locked = what or f'data directory "{path.parent}"'
            message = f"{locked} is in use by another gpudb"
            detail = f"Its process ID is {owner}." if owner.isdigit() else None
            hint = "Connect to that server, or stop it first."
            raise GpudbError(message, condition="object_in_use", detail=detail, hint=hint) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Releases the lock; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open(path: Path, mode: int) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            # Linux refuses O_CREAT in /tmp for an existing file of another user.
            return os.open(path, flags)
        except FileNotFoundError:
            pass
        except PermissionError:
            message = f'permission denied for lock file "{path}"'
            hint = "Another user has made it: have that user or an administrator remove it where nothing uses it."
            raise GpudbError(message, condition="insufficient_privilege", hint=hint) from None
        try:
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            continue
        os.fchmod(made, mode)  # regardless of the umask
        return made

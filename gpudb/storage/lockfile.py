"""The lock of a data directory, or of a GPU: at most one process has it open."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gpudb.errors import GpudbError


class LockFile:
    """Held from construction to `close`; the kernel lets it go when the process dies."""

    def __init__(self, path: Path, what: str = "") -> None:
        """Takes the lock; 55006 if another process (or another store of this one) has it. `what` is what it locks."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
        """Lets the lock go; idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

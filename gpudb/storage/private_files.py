"""Files and directories for their owner alone: 0600 and 0700, whatever the umask of the process is."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from gpudb.errors import GpudbError

_LOG = logging.getLogger(__name__)
DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
CATALOG_FILE = "catalog.db"
SHARED_CATALOG_FILE = "catalog-in-postgresql"
"""File of a data directory whose catalog is in PostgreSQL; it has that catalog's identifier."""
TABLES_URL_FILE = "tables-url"
"""File of a data directory whose tables lie in an object storage; it has their address."""
_OTHERS = 0o077
_OWN = frozenset(
    {
        *(CATALOG_FILE, "catalog.db-wal", "catalog.db-shm", "catalog-backup.db", "lock"),
        *("lost+found", "server.crt", "server.key", "server.key.lock", "spill", "system_settings.json", "tables"),
        *("query_log.db", "query_log.db-wal", "query_log.db-shm", "commits.log", SHARED_CATALOG_FILE, "coordinators"),
    }
)
"""What gpudb itself puts into a data directory."""


def make_data_directory(path: Path) -> None:
    """Creates a data directory, or takes the access of others away from an existing one and from the files of gpudb.

    Raises OSError, and 55000 if others have access to a directory of another user, or to one with other files and no
    catalog, which is no data directory yet.
    """
    path.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & _OTHERS:
        return
    names = {entry.name for entry in os.scandir(path)}
    if names.isdisjoint({CATALOG_FILE, SHARED_CATALOG_FILE}) and names:
        hint = f"Run chmod 0700 if the directory is for gpudb alone: it has files, and no {CATALOG_FILE}."
        raise _make_permissions_error(path, mode, hint)
    try:
        path.chmod(DIRECTORY_MODE)
    except PermissionError:
        hint = "The server must be started by the user that owns the data directory."
        raise _make_permissions_error(path, mode, hint) from None
    if names:
        _LOG.warning('data directory "%s" had the permissions %04o, now it is for its owner alone (0700)', path, mode)
    for name in names & _OWN:
        _make_private(path / name)


def _make_permissions_error(path: Path, mode: int, hint: str) -> GpudbError:
    message = f'data directory "{path}" has invalid permissions'
    detail = f"Permissions should be u=rwx (0700), and are {mode:04o}."
    return GpudbError(message, condition="object_not_in_prerequisite_state", detail=detail, hint=hint)


def _make_private(path: Path) -> None:
    """Takes the access of others from a file, or from a folder and all that is in it; links are left alone."""
    if path.is_symlink():
        return
    if path.is_file():
        path.chmod(FILE_MODE)
    elif path.is_dir():
        path.chmod(DIRECTORY_MODE)
        for entry in os.scandir(path):
            _make_private(Path(entry.path))


def make_directory(path: Path) -> None:
    """Creates a directory within a data directory, and those above it that are missing."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(mode=DIRECTORY_MODE, exist_ok=True)


def create_file(path: Path) -> None:
    """Creates an empty file unless it exists; programs that open it for writing keep its mode."""
    os.close(open_private(os.fspath(path), os.O_WRONLY | os.O_CREAT))


def open_private(path: str, flags: int) -> int:
    """Opens a file, which is created for its owner alone: an `opener` of `open`."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)

"""gpudb_backup('DIR'): adds a backup of the server's data directory to a folder on the server, or to a URL."""

from __future__ import annotations

from pathlib import Path

from gpudb.errors import SqlError, UndefinedFunction
from gpudb.session.context import Context
from gpudb.session.copy.server_files import check_file_access
from gpudb.storage.backup.destination import is_url
from gpudb.storage.backup.write import back_up

FUNCTION = "gpudb_backup"


def call_backup(context: Context, arguments: list[str | None]) -> int:
    """Runs such a call; returns the bytes that it copied. 42501 unless the user may write files on the server."""
    if len(arguments) != 1 or arguments[0] is None:
        raise UndefinedFunction(f"function {FUNCTION} takes 1 argument, the folder or URL, not {len(arguments)}")
    check_file_access(context, reading=False)
    destination = arguments[0]
    if not is_url(destination) and not Path(destination).is_absolute():
        raise SqlError.of("invalid_name", f"relative path not allowed for {FUNCTION}()")
    return back_up(context.session.database.store, destination, check=context.cancel.check).copied_bytes

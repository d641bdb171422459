"""Server files of COPY and load_data: permission, paths, and errors of the operating system."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gpudb.errors import GpudbError, SqlError, find_file_condition
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context


def check_file_access(context: Context, reading: bool, *, program: bool = False) -> None:
    """42501 unless the current role is a superuser or a member of the predefined role for such files."""
    if program:
        action, needed = "COPY to or from an external program", "pg_execute_server_program"
    elif reading:
        action, needed = "COPY from a file", "pg_read_server_files"
    else:
        action, needed = "COPY to a file", "pg_write_server_files"
    if has_privileges_of(context.transaction.catalog, context.session.user, needed):
        return
    raise SqlError.of(
        "insufficient_privilege",
        f"permission denied to {action}",
        detail=f'Only roles with privileges of the "{needed}" role may {action}.',
        hint="Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.",
    )


def writable_file(context: Context, name: str) -> Path:
    """The path of a file to write. 42602 for a relative path, but for a client that is this process."""
    if not Path(name).is_absolute() and not context.session.is_embedded:
        raise SqlError.of("invalid_name", "relative path not allowed for COPY to file")
    return Path(name)


def file_error(error: OSError, path: Path, reading: bool) -> GpudbError:
    """Converts an operating system error to PostgreSQL's error."""
    condition = find_file_condition(error)
    direction, verb = ("FROM", "read") if reading else ("TO", "write")
    hint = (
        f"COPY {direction} instructs the PostgreSQL server process to {verb} a file. "
        "You may want a client-side facility such as psql's \\copy."
    )
    action = "reading" if reading else "writing"
    message = f'could not open file "{path}" for {action}: {os.strerror(error.errno or errno.EIO)}'
    helpful = condition in {"undefined_file", "insufficient_privilege"}
    return SqlError.of(condition, message, hint=hint if helpful else None)

"""Files that a statement reads as tables: who may read them, and what they hold."""

from __future__ import annotations

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context

READERS = "pg_read_server_files"


def open_files(context: Context, request: FileRequest, role: str | None) -> FileTable:
    """Returns the files that a statement names, as a table (see `storage.files.schema`).

    42501 unless the role (None: the current one) is a superuser or a member of pg_read_server_files.
    """
    # Heavy, and for few statements
    from gpudb.storage.files.schema import open_file_table

    check_reader(context, role or context.session.user)
    return open_file_table(request)


def check_reader(context: Context, role: str) -> None:
    """42501 for a role that may not read files of the server."""
    if not has_privileges_of(context.transaction.catalog, role, READERS):
        detail = f'Only roles with privileges of the "{READERS}" role may read files of the server.'
        raise SqlError.of("insufficient_privilege", "permission denied to read a file of the server", detail=detail)

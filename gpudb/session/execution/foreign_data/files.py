"""Files that a statement reads as tables: who may read them, and what they hold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.errors import SqlError
from gpudb.session.authorization.membership import has_privileges_of
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.interruptible import run_interruptibly
from gpudb.session.execution.foreign_data.object_stores import find_store
from gpudb.storage.copy.conversion import Clock
from gpudb.storage.object_stores.addresses import is_remote

READERS = "pg_read_server_files"
_MAX_TOLD = 1000


def open_files(context: Context, request: FileRequest, role: str | None) -> FileTable:
    """Returns the files that a statement names, as a table (see `storage.files.tables`).

    42501 unless the role (None: the current one) is a superuser or a member of pg_read_server_files. For addresses of
    object storages see `find_store`; the option `server` names a foreign server.
    """
    # Heavy, and for few statements
    from gpudb.storage.files.tables import open_table
    from gpudb.storage.files.written_csv import Reading

    reader = role or context.session.user
    check_reader(context, reader)
    options = dict(request.options)
    server = options.pop("server", None)
    request = replace(request, options=options)
    name = None if server is None else str(server)
    reading = Reading(
        Clock(context.session.settings["TimeZone"], context.started), partial(_tell, context), context.notice
    )
    call = partial(open_table, request, lambda address: find_store(context, address, reader, name), reading)
    return run_interruptibly(context.cancel, call) if any(map(is_remote, request.patterns)) else call()


def _tell(context: Context, message: str) -> None:
    """Tells the client what was found of a file, once in a session."""
    told = context.session.told_of_files
    if message not in told:
        if len(told) >= _MAX_TOLD:
            told.clear()
        told.add(message)
        context.notice(message)


def check_reader(context: Context, role: str) -> None:
    """42501 for a role that may not read files of the server."""
    if not has_privileges_of(context.transaction.catalog, role, READERS):
        detail = f'Only roles with privileges of the "{READERS}" role may read files of the server.'
        raise SqlError.of("insufficient_privilege", "permission denied to read a file of the server", detail=detail)

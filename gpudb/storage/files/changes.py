"""Detects files that change while a statement reads them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gpudb.catalog.file_tables import FileStamp, FileTable
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.files.discovery import restamp

_REQUESTS = 16
"""Requests to an object storage at a time."""


def find_change(tables: Sequence[FileTable]) -> GpudbError | None:
    """Returns 55000 for a file that is not as it was when the statement was bound, 58P01 if it is gone; else None."""
    files = [file for table in tables if table.lake is None for file in table.files]
    remote = [file for file in files if file.store is not None]
    found = [_check(file) for file in files if file.store is None]
    if len(remote) == 1:
        found.append(_check(remote[0]))
    elif remote:  # each is a request
        with ThreadPoolExecutor(min(len(remote), _REQUESTS), thread_name_prefix="gpudb-objects") as pool:
            found += pool.map(_check, remote)
    return next((error for error in found if error is not None), None)


def _check(file: FileStamp) -> GpudbError | None:
    try:
        now = restamp(file)
    except GpudbError as error:
        return error
    if now == file:
        return None
    message = f'file "{file.path}" changed while it was read'
    return SqlError.of("object_not_in_prerequisite_state", message, hint="Run the statement again.")

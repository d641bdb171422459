"""Detects files that change while a statement reads them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from gpudb.catalog.file_tables import FileStamp, FileTable
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.files.discovery import restamp

_REQUESTS = 16
"""Requests to an object storage at a time."""


def check_unchanged(file: FileStamp) -> None:
    """Raises 55000 for a file that is not as it was when the statement was bound, 58P01 if it is gone."""
    if restamp(file) != file:
        message = f'file "{file.path}" changed while it was read'
        raise SqlError.of("object_not_in_prerequisite_state", message, hint="Run the statement again.")


def find_change(tables: Sequence[FileTable]) -> GpudbError | None:
    """Returns the error of a file that is not as it was when the statement was bound; None if all are."""
    files = [file for table in tables if table.lake is None for file in table.files]
    remote = [file for file in files if file.store is not None]
    found = [_find_change(file) for file in files if file.store is None]
    if len(remote) == 1:
        found.append(_find_change(remote[0]))
    elif remote:  # each is a request
        with ThreadPoolExecutor(min(len(remote), _REQUESTS), thread_name_prefix="gpudb-objects") as pool:
            found += pool.map(_find_change, remote)
    return next((error for error in found if error is not None), None)


def _find_change(file: FileStamp) -> GpudbError | None:
    try:
        check_unchanged(file)
    except GpudbError as error:
        return error
    return None

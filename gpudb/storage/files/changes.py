"""Detects files that change while a statement reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpudb.catalog.file_tables import FileTable
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.files.discovery import stamp_file


def find_change(tables: Sequence[FileTable]) -> GpudbError | None:
    """Returns 55000 for a file that is not as it was when the statement was bound, 58P01 if it is gone; else None."""
    for file in (file for table in tables for file in table.files):
        try:
            now = stamp_file(Path(file.path))
        except GpudbError as error:
            return error
        if now != file:
            message = f'file "{file.path}" changed while it was read'
            return SqlError.of("object_not_in_prerequisite_state", message, hint="Run the statement again.")
    return None

"""Detects files that change while a statement reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpudb.catalog.file_tables import FileStamp, FileTable
from gpudb.errors import GpudbError, SqlError
from gpudb.storage.files.discovery import stamp_file


def check_unchanged(file: FileStamp) -> None:
    """55000 for a file that is not as it was when the statement was bound, 58P01 if it is gone."""
    if stamp_file(Path(file.path)) != file:
        message = f'file "{file.path}" changed while it was read'
        raise SqlError.of("object_not_in_prerequisite_state", message, hint="Run the statement again.")


def find_change(tables: Sequence[FileTable]) -> GpudbError | None:
    """Returns 55000 for a file that is not as it was when the statement was bound, 58P01 if it is gone; else None."""
    for file in (file for table in tables for file in table.files):
        try:
            check_unchanged(file)
        except GpudbError as error:
            return error
    return None

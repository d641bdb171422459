"""What a statement names as one table: files, or a table of Iceberg or Delta."""

from __future__ import annotations

from gpudb.catalog.file_tables import FileFormat, FileRequest, FileTable
from gpudb.errors import FeatureNotSupported
from gpudb.sql.parse.file_names import get_format
from gpudb.storage.files.discovery import FindStore
from gpudb.storage.files.lake_places import Place, detect_format, open_place
from gpudb.storage.files.lake_tables import open_lake_table
from gpudb.storage.files.schema import check_distinct, open_file_table
from gpudb.storage.files.written_csv import Reading
from gpudb.storage.object_stores.addresses import has_pattern


def open_table(request: FileRequest, find_store: FindStore | None = None, reading: Reading | None = None) -> FileTable:
    """Returns files (see `open_file_table`), or the table in a folder (see `open_lake_table`).

    Without a format a name that has no suffix of files may be such a folder.
    """
    if (lake := _find_lake(request, find_store)) is not None:
        table = open_lake_table(request, *lake)
        check_distinct([column.name for column in table.columns], request.patterns[0])
        return table
    return open_file_table(request, find_store, reading)


def _find_lake(request: FileRequest, find_store: FindStore | None) -> tuple[FileFormat, Place] | None:
    """Returns the format and the place of a table of Iceberg or Delta; None for files."""
    name = request.patterns[0]
    if request.format in ("iceberg", "delta"):
        if len(request.patterns) > 1:
            raise FeatureNotSupported(f"several {request.format} tables are no one table")
        return request.format, open_place(name, find_store)
    if request.format is not None or len(request.patterns) > 1 or get_format(name) is not None or has_pattern(name):
        return None
    place = open_place(name, find_store)
    format = detect_format(place)
    return None if format is None else (format, place)

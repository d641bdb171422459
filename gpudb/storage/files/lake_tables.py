"""Tables of Iceberg and Delta that others write, as tables of their current files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpudb.catalog.file_tables import FileColumn, FileFormat, FileRequest, FileTable, LakeScan
from gpudb.errors import SqlError
from gpudb.storage.files.lake_places import Place
from gpudb.storage.files.types import find_type
from gpudb.types import TEXT

FILENAME = "filename"
_OPTIONS: dict[str, tuple[str, ...]] = {"iceberg": ("filename", "snapshot_id"), "delta": ("filename", "version")}


OpenTable = Callable[[Place, Mapping[str, object]], tuple[Sequence[tuple[str, str]], LakeScan]]
"""Opens a table: its columns with the DuckDB types that its files are read as, and the files."""


def open_lake_table(request: FileRequest, format: FileFormat, place: Place) -> FileTable:
    """Returns a table of another system with its current columns and files.

    58P01 if there is none; XX001 for a damaged one; 0A000 for what cannot be read; 22023 for options; 42703 and 42804
    for a column definition list.
    """
    for name in request.options:
        if name not in _OPTIONS[format]:
            hint = f"The options of {format} tables are {', '.join(_OPTIONS[format])}."
            raise SqlError.of("invalid_parameter_value", f'option "{name}" not recognized', hint=hint)
    held, scan = _get_opener(format)(place, request.options)
    columns = tuple(FileColumn(name, find_type(kind, name), kind) for name, kind in held)
    if request.declared is not None:
        by_name = {column.name: column for column in columns}
        for name, _ in request.declared:
            if name not in by_name:
                raise SqlError.of("undefined_column", f'column "{name}" does not exist in table "{place.root}"')
        columns = tuple(FileColumn(name, kind, by_name[name].held) for name, kind in request.declared)
    path = FileColumn(FILENAME, TEXT, "VARCHAR", "path")
    files = tuple(file for group in scan.groups for file in group.files)
    hidden = () if any(column.name == FILENAME for column in columns) else (path,)
    return FileTable(files, "parquet", columns, hidden, lake=scan)


def _get_opener(format: FileFormat) -> OpenTable:
    # Heavy, and for few statements
    if format == "iceberg":
        from gpudb.storage.files.iceberg_tables import open_iceberg

        return open_iceberg
    from gpudb.storage.files.delta_tables import open_delta

    return open_delta

"""Sources of files in formats that DuckDB does not read itself: it scans them as Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpudb.catalog.file_tables import FileTable
from gpudb.errors import GpudbError
from gpudb.storage.files.arrow_source import Source, open_arrow_file
from gpudb.storage.files.changes import find_change
from gpudb.storage.files.sheets import open_sheet
from gpudb.storage.object_stores.duckdb_files import find_store_failure, show_addresses

if TYPE_CHECKING:
    from gpudb.storage.files.copy_source import CopySource


def needs_sources(table: FileTable) -> bool:
    """Whether DuckDB reads the files as Arrow, not itself."""
    return table.format in ("arrow", "copy", "xlsx")


def open_sources(table: FileTable) -> list[Source]:
    """Returns a source for each file; 58P01, 42501, XX001."""
    if table.format == "copy":
        return list(_list_copied(table))
    if table.format == "xlsx":
        return [open_sheet(file, table.options).rows for file in table.files]
    return [open_arrow_file(file) for file in table.files]


def _list_copied(table: FileTable) -> Sequence[CopySource]:
    """Returns the sources of files that are read as COPY FROM reads them, or of another server's rows."""
    from gpudb.storage.files.copy_source import CopySource

    source = table.options.get("source")
    if isinstance(source, CopySource):
        return [source]
    return source if isinstance(source, tuple) else []


def list_remote_queries(tables: Sequence[FileTable]) -> list[str]:
    """Returns the SQL that other servers run for a statement."""
    sources = [source for table in tables for source in _list_copied(table)]
    return [each.remote for each in sources if each.remote is not None]


def name_objects(error: GpudbError) -> GpudbError:
    """Returns an engine's error with addresses in the place of the paths of objects."""
    error.message = show_addresses(error.message)
    error.args = (error.message,)
    error.detail = None if error.detail is None else show_addresses(error.detail)
    return error


def find_failure(tables: Sequence[FileTable], error: BaseException) -> GpudbError | None:
    """Returns the error of a source or of a file that changed, for which a scan failed with an engine's `error`.

    None for another reason.
    """
    if (failure := find_store_failure(str(error))) is not None:
        return failure
    for table in tables:
        for source in _list_copied(table):
            if source.failures:
                return source.failures[0]
    return find_change(tables)

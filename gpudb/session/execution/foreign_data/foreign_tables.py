"""Foreign tables as files that a statement reads: what their options name, for each wrapper."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gpudb.catalog.file_tables import FileColumn, FileRequest, FileTable
from gpudb.catalog.foreign import ForeignServer, read_foreign_options
from gpudb.catalog.tables import Table
from gpudb.catalog.wrappers import KnownWrapper, find_by_handler
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.execution.foreign_data.interruptible import run_interruptibly
from gpudb.session.execution.foreign_data.object_stores import open_server_store
from gpudb.session.execution.foreign_data.remote_tables import open_remote_table
from gpudb.sql.bound import FileScan, ForeignScan, Query
from gpudb.sql.prepared import Artifact
from gpudb.sql.traverse import replace_nodes
from gpudb.storage.copy.options import RawOption, validate_options
from gpudb.storage.object_stores.addresses import is_remote
from gpudb.types import SqlType

_OPENED = Artifact[tuple[list[FileTable], Query]]()
"""The files of a query's foreign tables, and the query with scans of them."""
_FORCE = ("force_not_null", "force_null")
_TRUE = ("true", "on", "1")


def open_foreign_scans(context: Context, query: Query) -> Query:
    """Returns a query with scans of files in the place of its foreign tables (see `open_foreign_table`).

    The same files give the same object, with all that engines prepared for it.
    """
    found: list[FileTable] = []

    def open_scan(node: Any) -> FileScan | None:
        if not isinstance(node, ForeignScan):
            return None
        found.append(open_foreign_table(context, query, node))
        return FileScan(node.rel, found[-1], node.columns)

    opened: Query = replace_nodes(query, open_scan)
    known = query.prepared.get(_OPENED)
    if known is not None and known[0] == found:
        return known[1]
    if all(table.is_plain for table in found):
        query.prepared.put(_OPENED, (found, opened))
    return opened


def open_foreign_table(context: Context, query: Query, scan: ForeignScan) -> FileTable:
    """Returns the files of a query's foreign table, with its columns.

    55000 for a wrapper without a handler; 58P01, 42501 and XX001 for the files; 42804 and 42703 if they have other
    columns; 0A000 for columns whose names differ in case alone.
    """
    from gpudb.storage.files.schema import check_distinct

    check_distinct([column.name for column in scan.table.columns], scan.table.name)
    known, server = _find_wrapper(context, scan.table)
    if known.name == "postgres_fdw":
        return open_remote_table(context, query, scan, server)
    return _open_files(context, scan.table, known, server, scan.role or context.session.user)


def open_foreign_parts(context: Context, table: Table) -> Table:
    """Returns a foreign table as workers read and cache it: its data files are parts of files.

    42809 for one that only the embedded engine reads; for other errors see `open_foreign_table`.
    """
    from gpudb.storage.files.parts import open_part_table

    known, server = _find_wrapper(context, table)
    if known.name != "postgres_fdw":
        files = _open_files(context, table, known, server, context.session.user)
        local = files.lake is None and all(file.store is None for file in files.files)
        if local and (parts := open_part_table(files)) is not None:
            return parts
    raise SqlError.of("wrong_object_type", f'workers do not cache the foreign table "{table.name}"')


def _find_wrapper(context: Context, table: Table) -> tuple[KnownWrapper, ForeignServer]:
    assert table.foreign is not None
    catalog = context.transaction.catalog
    server = catalog.find_server(table.foreign.server)
    wrapper = None if server is None else catalog.find_wrapper(server.wrapper)
    known = None if wrapper is None else find_by_handler(wrapper.handler)
    if known is None or server is None:
        name = "" if wrapper is None else wrapper.name
        message = f'foreign-data wrapper "{name}" has no handler'
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return known, server


def _open_files(context: Context, table: Table, known: KnownWrapper, server: ForeignServer, role: str) -> FileTable:
    from gpudb.storage.files.tables import open_table

    assert table.foreign is not None
    options = read_foreign_options(table.foreign.options)
    declared = tuple((column.name, column.type) for column in table.columns)
    plain: dict[str, object] = {"hive_partitioning": False}
    match known.name:
        case "file_fdw":
            return _open_copied_file(context, table, dict(options))
        case "parquet_fdw":
            return open_table(FileRequest(split_paths(options["filename"]), "parquet", plain, declared))
        case "arrow_fdw":
            return open_table(FileRequest(_list_arrow_files(dict(options)), "arrow", plain, declared))
        case "lake_fdw":
            request = _make_lake_request(options, declared)
            call = partial(open_table, request, lambda address: open_server_store(context, address, role, server))
            return run_interruptibly(context.cancel, call) if is_remote(options["address"]) else call()
    raise FeatureNotSupported(f'foreign tables of "{known.name}" cannot be read')


def _make_lake_request(options: Mapping[str, str], declared: tuple[tuple[str, SqlType], ...]) -> FileRequest:
    """The file or the pattern of a table of lake_fdw."""
    given = {name: value for name, value in options.items() if name not in ("address", "format")}
    return FileRequest((options["address"],), options.get("format"), given, declared)  # type: ignore[arg-type]


def split_paths(filename: str) -> tuple[str, ...]:
    """Returns the paths in parquet_fdw's option `filename`, which spaces separate; HV024 for an open quote."""
    try:
        return tuple(shlex.split(filename))
    except ValueError as error:
        message = f'invalid value for option "filename": "{filename}"'
        raise SqlError.of("fdw_invalid_attribute_value", message, detail=f"{error}.") from None


def _list_arrow_files(options: dict[str, str]) -> tuple[str, ...]:
    """The files of PG-Strom's options: a file, files separated by commas, or a folder with a suffix."""
    if "file" in options:
        return (options["file"],)
    if "files" in options:
        return tuple(each.strip() for each in options["files"].split(","))
    suffix = options.get("suffix", "")
    pattern = f"*.{suffix.removeprefix('.')}" if suffix else "*"
    return (str(Path(options["dir"]) / pattern),)


def _open_copied_file(context: Context, table: Table, options: dict[str, str]) -> FileTable:
    """A file that is read as COPY FROM reads it."""
    from gpudb.storage.files.copy_source import open_copied_file

    path = options.pop("filename")
    raw = [RawOption(name, value) for name, value in options.items()]
    for name in _FORCE:
        listed = tuple(
            column.name
            for column in table.columns
            if read_foreign_options(column.options).get(name, "").lower() in _TRUE
        )
        if listed:
            raw.append(RawOption(name, listed))
    copied = validate_options(raw, reading=True)
    columns = tuple(FileColumn(column.name, column.type, "") for column in table.columns)
    zone = context.session.settings["TimeZone"]
    return open_copied_file(table, path, copied, zone, context.started, columns)

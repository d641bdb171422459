"""Tables of Iceberg and Delta as a relation in DuckDB's SQL: their Parquet files without the rows that were deleted."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.catalog.file_tables import FileColumn, FileStamp, FileTable, LakeGroup, LakeScan
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.storage.files.reader_sql import PATH, get_reader_path, quote_path, render_path
from gpudb.storage.files.types import render_value

_ROW = "file_row_number"


def render_lake(table: FileTable, deleted: str | None) -> str:
    """Returns a SELECT over a lake table, whose columns are as those of `render_files`.

    `deleted` names the relation of `LakeScan.deleted`; None if there is none.
    """
    scan = table.lake
    assert scan is not None
    parts = []
    gone = set() if scan.deleted is None else set(scan.deleted.column("file").unique().to_pylist())
    for group in scan.groups:
        whole = [file for file in group.files if get_reader_path(file) not in gone]
        cut = [file for file in group.files if get_reader_path(file) in gone]
        parts += [_render_group(table, scan, group, whole, None)] if whole else []
        parts += [_render_group(table, scan, group, cut, deleted)] if cut else []
    return " UNION ALL ".join(parts) or _render_empty(table)


def _render_group(
    table: FileTable, scan: LakeScan, group: LakeGroup, files: Sequence[FileStamp], deleted: str | None
) -> str:
    own = [column for column in table.columns if column.name not in group.constants and column.origin == "file"]
    outputs = []
    for column in (*table.columns, *table.hidden):
        if column.origin == "path":
            value = render_path(remote=any(file.store is not None for file in files))
        elif column.name in group.constants:
            known = group.constants[column.name]
            value = f"CAST({'NULL' if known is None else quote_literal(known)} AS {column.type.duckdb})"
        else:
            value = render_value(quote_identifier(column.name), column.held, column.type)
        outputs.append(f"{value} AS {quote_identifier(column.name)}")
    paths = ", ".join(quote_path(file) for file in files)
    options = [f"schema = MAP {{{_render_schema(own, scan)}}}"] if own else []
    options.append(f"filename = {quote_literal(PATH)}")
    options += [] if deleted is None else ["file_row_number = true"]
    options.append("can_have_nan = true")  # ranges in the footers leave NaN out
    text = f"SELECT {', '.join(outputs)} FROM read_parquet([{paths}], {', '.join(options)}) AS f"
    if deleted is None:
        return text
    matching = f"f.{quote_identifier(PATH)} = d.file AND f.{_ROW} = d.row"
    return f"{text} ANTI JOIN {quote_identifier(deleted)} AS d ON {matching}"


def _render_schema(columns: Sequence[FileColumn], scan: LakeScan) -> str:
    """Returns the columns as DuckDB's readers are told them, by field or by name: a file may lack some."""
    entries = []
    for column in columns:
        key = scan.keys[column.name]
        shown = str(key) if isinstance(key, int) else quote_literal(key)
        name, held = quote_literal(column.name), quote_literal(column.held)
        entries.append(f"{shown}: {{name: {name}, type: {held}, default_value: NULL}}")
    return ", ".join(entries)


def _render_empty(table: FileTable) -> str:
    columns = (*table.columns, *table.hidden)
    nulls = [f"CAST(NULL AS {column.type.duckdb}) AS {quote_identifier(column.name)}" for column in columns]
    return f"SELECT {', '.join(nulls)} WHERE false"

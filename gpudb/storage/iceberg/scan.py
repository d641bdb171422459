"""A table's files as a relation in DuckDB's SQL, independent of the columns at the time each file was written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import duckdb

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.duckdb.errors import data_file_error
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.storage.iceberg.checksums import verify_files
from gpudb.storage.iceberg.column_layout import is_stored_as_struct, render_restored, stored_duckdb_type

FILE_COLUMN = "gpudb$filename"
ROW_COLUMN = "gpudb$file_row_number"
"""A row's position: its file's path, and its number in it from 0 (BIGINT). No user column has such a name."""


def scan_sql(
    table: Table,
    files: Sequence[DataFile] | None = None,
    *,
    columns: Sequence[str] | None = None,
    with_row_ids: bool = False,
) -> str:
    """Returns a SELECT in DuckDB's SQL over `files` (None: all of the table's), for use in parentheses in a FROM.

    It returns the table's columns (or the named ones, in their order) by name, each of `SqlType.duckdb`. Columns are
    matched by Iceberg field id; those that a file lacks are NULL or `Column.initial`. `with_row_ids` appends
    FILE_COLUMN and ROW_COLUMN. Filters and projections on it reach the Parquet reader. Files are verified when the
    process scans them first (XX001).
    """
    chosen = table.columns if columns is None else [_find_column(table, name) for name in columns]
    files = table.files if files is None else files
    if not files:
        return _render_empty(chosen, with_row_ids)
    verify_files(file.path for file in files)
    # DuckDB 2.0 fails to read a struct member that a file lacks: such files get a SELECT of their own.
    groups: dict[frozenset[int], list[DataFile]] = {}
    structs = [c.field_id for c in chosen if is_stored_as_struct(c.type)]
    for file in files:
        groups.setdefault(frozenset(id for id in structs if id > file.last_field_id), []).append(file)
    anchor = table.columns[0]
    parts = [_render_group(chosen, anchor, lacking, held, with_row_ids) for lacking, held in groups.items()]
    return " UNION ALL ".join(parts)


def _render_group(
    columns: Sequence[Column],
    anchor: Column,
    lacking: frozenset[int],
    files: Sequence[DataFile],
    with_row_ids: bool,
) -> str:
    """Returns the SELECT over files that lack the same struct columns; `anchor` is read if no other column is."""
    present = [column for column in columns if column.field_id not in lacking]
    fields = ", ".join(_render_field(column) for column in present or [anchor])
    # Ranges in the footers leave NaN out
    options = [f"schema = MAP {{{fields}}}", "can_have_nan = true"]
    outputs = []
    for column in columns:
        held = f"c{column.field_id}"
        if column.field_id in lacking:
            initial = "NULL" if column.initial is None else quote_literal(column.initial)
            held = f"CAST({initial} AS {stored_duckdb_type(column.type)})"
        outputs.append(f"{render_restored(column.type, held)} AS {quote_identifier(column.name)}")
    if with_row_ids:
        options += ["filename = true", "file_row_number = true"]
        outputs += [
            f"filename AS {quote_identifier(FILE_COLUMN)}",
            f"file_row_number AS {quote_identifier(ROW_COLUMN)}",
        ]
    paths = ", ".join(quote_literal(file.path) for file in files)
    return f"SELECT {', '.join(outputs) or 'NULL'} FROM read_parquet([{paths}], {', '.join(options)})"


def _find_column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _render_field(column: Column) -> str:
    default = "NULL" if column.initial is None else quote_literal(column.initial)
    type = quote_literal(stored_duckdb_type(column.type))
    return f"{column.field_id}: {{name: 'c{column.field_id}', type: {type}, default_value: {default}::VARCHAR}}"


def _render_empty(columns: Sequence[Column], with_row_ids: bool) -> str:
    outputs = [f"NULL::{column.type.duckdb} AS {quote_identifier(column.name)}" for column in columns]
    if with_row_ids:
        outputs += [
            f"NULL::VARCHAR AS {quote_identifier(FILE_COLUMN)}",
            f"NULL::BIGINT AS {quote_identifier(ROW_COLUMN)}",
        ]
    return f"SELECT {', '.join(outputs) or 'NULL'} WHERE false"


@contextlib.contextmanager
def data_errors() -> Iterator[None]:
    """Converts DuckDB's errors about unreadable data files to gpudb's; others pass unchanged."""
    try:
        yield
    except duckdb.Error as error:
        found = data_file_error(error)
        if found is None:
            raise
        raise found from error

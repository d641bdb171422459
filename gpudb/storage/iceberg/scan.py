"""A table's files as a relation in DuckDB's SQL, independent of the columns at the time each file was written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence

import duckdb
import numpy as np
import numpy.typing as npt

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.duckdb.column_names import quote_columns
from gpudb.duckdb.errors import data_file_error
from gpudb.duckdb.literals import quote_identifier, quote_literal
from gpudb.storage.iceberg.checksums import verify_files
from gpudb.storage.iceberg.column_layout import is_stored_as_struct, render_restored, stored_duckdb_type

FILE_COLUMN = "gpudb$filename"
ROW_COLUMN = "gpudb$file_row_number"
"""A row's position: its file's path, and its number in it from 0 (BIGINT); deleted rows have numbers too.

No user column has such a name.
"""
MAX_COMPARED_ROWS = 16
"""Maximum deleted rows of a file that are compared one by one; more are looked up in a hash table."""


def scan_sql(
    table: Table,
    files: Sequence[DataFile] | None = None,
    *,
    columns: Sequence[str] | None = None,
    with_row_ids: bool = False,
) -> str:
    """Returns a SELECT in DuckDB's SQL over `files` (None: all of the table's), for use in parentheses in a FROM.

    It returns the table's columns (or the named ones, in their order) under the names of `name_scanned`, each of
    `SqlType.duckdb`. Columns are matched by Iceberg field id; those that a file lacks are NULL or `Column.initial`.
    `with_row_ids` appends FILE_COLUMN and ROW_COLUMN. Filters and projections on it reach the Parquet reader. Deleted
    rows are left out. Files are verified when the process scans them first (XX001).
    """
    chosen = table.columns if columns is None else [_find_column(table, name) for name in columns]
    files = table.files if files is None else files
    named = name_scanned(table)
    if not files:
        return _render_empty(chosen, named, with_row_ids)
    verify_files(file.path for file in files)
    anchor = table.columns[0]
    parts = [
        _render_group(table.oid, chosen, named, anchor, lacking, held, with_row_ids)
        for lacking, held in _group_files(chosen, files)
    ]
    return " UNION ALL ".join(parts)


def name_scanned(table: Table) -> dict[str, str]:
    """Returns the identifiers that `scan_sql` gives to a table's columns, by the columns' names."""
    names = [column.name for column in table.columns]
    return dict(zip(names, quote_columns(names), strict=True))


def order_files(table: Table, files: Sequence[DataFile]) -> list[DataFile]:
    """Returns files in the order in which `scan_sql` of all columns has their rows."""
    return [file for _, held in _group_files(table.columns, files) for file in held]


def _group_files(columns: Sequence[Column], files: Sequence[DataFile]) -> list[tuple[frozenset[int], list[DataFile]]]:
    """Groups files that one SELECT reads, beside the struct columns that they lack.

    DuckDB 2.0 fails to read a struct member that a file lacks, and each file's deleted rows are excluded by themselves.
    """
    groups: dict[tuple[frozenset[int], str], list[DataFile]] = {}
    structs = [c.field_id for c in columns if is_stored_as_struct(c.type)]
    for file in files:
        lacking = frozenset(id for id in structs if id > file.last_field_id)
        groups.setdefault((lacking, "" if file.deleted is None else file.id), []).append(file)
    return [(lacking, held) for (lacking, _), held in groups.items()]


def name_held(oid: int, field_id: int) -> str:
    """Returns the name of a table's column in its files, under which DuckDB's plans show it."""
    return f"t{oid}c{field_id}".replace("-", "_")  # past states of tables have negative numbers


def _render_group(
    oid: int,
    columns: Sequence[Column],
    named: Mapping[str, str],
    anchor: Column,
    lacking: frozenset[int],
    files: Sequence[DataFile],
    with_row_ids: bool,
) -> str:
    """Returns the SELECT over files that lack the same struct columns; `anchor` is read if no other column is."""
    present = [column for column in columns if column.field_id not in lacking]
    fields = ", ".join(_render_field(oid, column) for column in present or [anchor])
    # Ranges in the footers leave NaN out
    options = [f"schema = MAP {{{fields}}}", "can_have_nan = true"]
    outputs = []
    for column in columns:
        held = name_held(oid, column.field_id)
        if column.field_id in lacking:
            initial = "NULL" if column.initial is None else quote_literal(column.initial)
            held = f"CAST({initial} AS {stored_duckdb_type(column.type)})"
        outputs.append(f"{render_restored(column.type, held)} AS {named[column.name]}")
    deleted = files[0].deleted
    if with_row_ids or deleted is not None:
        options.append("file_row_number = true")
    if with_row_ids:
        options.append("filename = true")
        outputs += [
            f"filename AS {quote_identifier(FILE_COLUMN)}",
            f"file_row_number AS {quote_identifier(ROW_COLUMN)}",
        ]
    paths = ", ".join(quote_literal(file.path) for file in files)
    where = "" if deleted is None else f" WHERE {render_exclusion('file_row_number', deleted.rows)}"
    return f"SELECT {', '.join(outputs) or 'NULL'} FROM read_parquet([{paths}], {', '.join(options)}){where}"


def render_exclusion(number: str, rows: npt.NDArray[np.int64]) -> str:
    """Returns a condition in DuckDB's SQL: a row number, from 0, is not one of `rows`, which are ascending."""
    if len(rows) <= MAX_COMPARED_ROWS:
        return " AND ".join(f"{number} <> {row}" for row in rows.tolist())
    # As one text: a list of as many constants takes long to parse and plan.
    listed = quote_literal(",".join(map(str, rows.tolist())))
    return f"{number} NOT IN (SELECT unnest(string_split({listed}, ','))::BIGINT)"


def render_inclusion(number: str, rows: npt.NDArray[np.int64]) -> str:
    """Returns a condition in DuckDB's SQL: a row number, from 0, is one of `rows`, of which there is at least one."""
    listed = quote_literal(",".join(map(str, rows.tolist())))
    return f"{number} IN (SELECT unnest(string_split({listed}, ','))::BIGINT)"


def _find_column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _render_field(oid: int, column: Column) -> str:
    default = "NULL" if column.initial is None else quote_literal(column.initial)
    type = quote_literal(stored_duckdb_type(column.type))
    name = quote_literal(name_held(oid, column.field_id))
    return f"{column.field_id}: {{name: {name}, type: {type}, default_value: {default}::VARCHAR}}"


def _render_empty(columns: Sequence[Column], named: Mapping[str, str], with_row_ids: bool) -> str:
    outputs = [f"NULL::{column.type.duckdb} AS {named[column.name]}" for column in columns]
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

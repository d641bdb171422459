"""A table's files as a relation in DuckDB's SQL, whatever its columns were when each file was written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import duckdb

from gpudb.catalog.model import Column, DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.stored import restored, stored_duckdb

FILE_COLUMN = "gpudb$filename"
ROW_COLUMN = "gpudb$file_row_number"
"""Where a row lies: its file's path, and its number in it from 0 (BIGINT). No user's column is called so."""


def scan_sql(
    table: Table,
    files: Sequence[DataFile] | None = None,
    *,
    columns: Sequence[str] | None = None,
    with_row_ids: bool = False,
) -> str:
    """A SELECT in DuckDB's SQL over `files` (None: all of the table's), to stand in parentheses in a FROM.

    It gives the table's columns (or those named, in their order) by name, each of `SqlType.duckdb`; columns
    are found by Iceberg field id, those that a file lacks are NULL or `Column.initial`. `with_row_ids` adds
    FILE_COLUMN and ROW_COLUMN at the end. Filters and projections on it reach the Parquet reader.
    """
    chosen = table.columns if columns is None else [_named(table, name) for name in columns]
    files = table.files if files is None else files
    if not files:
        return _empty(chosen, with_row_ids)
    outputs = [f"{restored(c.type, f'c{c.field_id}')} AS {_quoted(c.name)}" for c in chosen]
    options = ["schema = MAP {" + ", ".join(_field(column) for column in chosen or table.columns[:1]) + "}"]
    if with_row_ids:
        options += ["filename = true", "file_row_number = true"]
        outputs += [f"filename AS {_quoted(FILE_COLUMN)}", f"file_row_number AS {_quoted(ROW_COLUMN)}"]
    paths = ", ".join(_literal(file.path) for file in files)
    return f"SELECT {', '.join(outputs) or 'NULL'} FROM read_parquet([{paths}], {', '.join(options)})"


def _named(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _field(column: Column) -> str:
    default = "NULL" if column.initial is None else _literal(column.initial)
    type = _literal(stored_duckdb(column.type))
    return (
        f"{column.field_id}: {{name: 'c{column.field_id}', type: {type}, default_value: {default}::VARCHAR}}"
    )


def _empty(columns: Sequence[Column], with_row_ids: bool) -> str:
    outputs = [f"NULL::{column.type.duckdb} AS {_quoted(column.name)}" for column in columns]
    if with_row_ids:
        outputs += [f"NULL::VARCHAR AS {_quoted(FILE_COLUMN)}", f"NULL::BIGINT AS {_quoted(ROW_COLUMN)}"]
    return f"SELECT {', '.join(outputs) or 'NULL'} WHERE false"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@contextlib.contextmanager
def data_errors() -> Iterator[None]:
    """Turns DuckDB's errors about unreadable data files into gpudb's, and lets all others through."""
    try:
        yield
    except duckdb.Error as error:
        found = unreadable(error)
        if found is None:
            raise
        raise found from error


def unreadable(error: duckdb.Error) -> GpudbError | None:
    """XX001 for a file that is damaged or cut short, 58P01 for one that is gone; None for other matters."""
    text = str(error)
    if ".parquet" not in text and "Parquet" not in text and "parquet" not in text:
        return None
    first = text.partition("\n")[0]
    if "No files found" in text or "Cannot open file" in text or "No such file" in text:
        return GpudbError(f"could not open data file: {first}", condition="undefined_file")
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException | duckdb.SerializationException):
        return GpudbError(f"could not read data file: {first}", condition="data_corrupted")
    return None

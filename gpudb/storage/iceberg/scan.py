"""A table's files as a relation in DuckDB's SQL, whatever its columns were when each file was written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import duckdb

from gpudb.catalog.model import Column, DataFile, Table
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.column_layout import is_struct, restored, stored_duckdb

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
    # DuckDB 2.0 fails where a member of a struct is read that a file lacks: such files stand apart.
    groups: dict[frozenset[int], list[DataFile]] = {}
    structs = [c.field_id for c in chosen if is_struct(c.type)]
    for file in files:
        groups.setdefault(frozenset(id for id in structs if id > file.last_field_id), []).append(file)
    anchor = table.columns[0]
    parts = [_group(chosen, anchor, lacking, held, with_row_ids) for lacking, held in groups.items()]
    return " UNION ALL ".join(parts)


def _group(
    columns: Sequence[Column],
    anchor: Column,
    lacking: frozenset[int],
    files: Sequence[DataFile],
    with_row_ids: bool,
) -> str:
    """The SELECT over files that all lack the same struct columns; `anchor` is read where nothing else is."""
    there = [column for column in columns if column.field_id not in lacking]
    options = ["schema = MAP {" + ", ".join(_field(column) for column in there or [anchor]) + "}"]
    outputs = []
    for column in columns:
        held = f"c{column.field_id}"
        if column.field_id in lacking:
            initial = "NULL" if column.initial is None else _literal(column.initial)
            held = f"CAST({initial} AS {stored_duckdb(column.type)})"
        outputs.append(f"{restored(column.type, held)} AS {_quoted(column.name)}")
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
    return f"{column.field_id}: {{name: 'c{column.field_id}', type: {type}, default_value: {default}::VARCHAR}}"


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
    if type(error) is duckdb.Error and "alloc" not in text:
        # Its Parquet and Thrift readers' own exceptions, which name no file.
        return GpudbError(f"could not read data file: {text.partition(chr(10))[0]}", condition="data_corrupted")
    if ".parquet" not in text and "Parquet" not in text and "parquet" not in text:
        return None
    first = text.partition("\n")[0]
    if "No files found" in text or "Cannot open file" in text or "No such file" in text:
        return GpudbError(f"could not open data file: {first}", condition="undefined_file")
    if isinstance(error, duckdb.IOException | duckdb.InvalidInputException | duckdb.SerializationException):
        return GpudbError(f"could not read data file: {first}", condition="data_corrupted")
    return None

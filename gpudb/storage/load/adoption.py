"""Adopts Parquet files that other programs wrote: copies them page by page, with their footers' statistics.

Columns are matched by name. What a footer does not prove is read from the file or refused: every row of an adopted file
satisfies the table's definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import duckdb
import pyarrow as pa

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from gpudb.storage.iceberg.column_layout import is_stored_as_struct, stored_type
from gpudb.storage.iceberg.content_names import name_data_file
from gpudb.storage.iceberg.file_writer import disk_errors, sync
from gpudb.storage.iceberg.statistics import file_statistics
from gpudb.storage.load import files
from gpudb.storage.load.footer import copy_with_field_ids
from gpudb.storage.load.loader import match_columns

_THREADS = 4
_ADOPTABLE = frozenset(
    "bool int2 int4 int8 float4 float8 numeric text varchar bytea date time timestamp timestamptz".split()
)
_INT2_LIMIT = 2**15


def adopt_files(pattern: str, table: Table, directory: Path, *, durable: bool) -> tuple[DataFile, ...]:
    """Copies the files that `pattern` names into a table's folder; after an error none remains there.

    Raises 58P01, XX001 and 42501 for files; 42703 and 42804 for their columns; 23502, 22001 and 22003 for values that
    the table does not allow; 0A000 for column types and constraints that footers cannot prove.
    """
    _check_table(table)
    found = files.find_files(pattern)
    named: list[Path] = []
    targets = [directory / f"{uuid4().hex}.parquet" for _ in found]
    try:
        with disk_errors(), ThreadPoolExecutor(_THREADS) as pool:
            made = pool.map(lambda file, target: _adopt(file, table, target, durable, named), found, targets)
            return tuple(made)
    except BaseException:
        for target in (*targets, *named):
            target.unlink(missing_ok=True)
        raise


def _check_table(table: Table) -> None:
    what = "foreign keys" if table.foreign_keys else "CHECK constraints" if table.checks else None
    if any(column.generated is not None for column in table.columns):
        what = "generated columns"
    if any(column.type.domain is not None for column in table.columns):
        what = "columns of domains"
    if what is not None:
        raise FeatureNotSupported(f"add_files is not supported for tables with {what}", hint="Use load_data.")


def _adopt(file: files.DataFile, table: Table, target: Path, durable: bool, named: list[Path]) -> DataFile:
    """Copies one file; adds the path that it has in the end to `named`."""
    import pyarrow.parquet as pq

    if file.kind != "parquet":
        raise FeatureNotSupported(f'file "{file.path}" is not a Parquet file', hint="Use load_data.")
    schema = files.read_schema(file)
    columns = match_columns(file, schema, table)
    for column, field in zip(columns, schema, strict=True):
        _check_type(file.path, column, field.type)
    for column in table.columns:
        if column not in columns and not _is_null(column):
            message = f'file "{file.path}" has no column "{column.name}", whose value is not NULL by default'
            raise FeatureNotSupported(message, hint="Use load_data.")
    _check_lengths(file.path, columns, schema.names)
    copy_with_field_ids(
        file.path, target, {name: column.field_id for name, column in zip(schema.names, columns, strict=True)}
    )
    if durable:
        sync(target)
    footer = pq.read_metadata(target)
    target = name_data_file(target, footer)
    named.append(target)
    floats = frozenset(column.field_id for column in columns if column.type.name in {"float4", "float8"})
    made = file_statistics(str(target), target.stat().st_size, footer, columns, floats)
    _check_values(file.path, table, columns, made)
    # Columns that the file lacks are NULL; their ids are older than the file.
    return replace(made, last_field_id=max((column.field_id for column in table.columns), default=0))


def _is_null(column: Column) -> bool:
    """Returns whether rows of a file that lacks a column have NULL in it."""
    return column.default is None and column.initial is None and not is_stored_as_struct(column.type)


def _check_type(path: Path, column: Column, held_type: pa.DataType) -> None:
    kind = column.type
    if kind.name not in _ADOPTABLE or kind.is_carried or kind.item is not None or kind.user is not None:
        raise FeatureNotSupported(f"add_files is not supported for columns of type {kind.plain}", hint="Use load_data.")
    expected = stored_type(kind, column.field_id)
    held_type = held_type.value_type if pa.types.is_dictionary(held_type) else held_type
    fits = held_type == expected
    if pa.types.is_string(expected):
        fits = (
            pa.types.is_string(held_type) or pa.types.is_large_string(held_type) or pa.types.is_string_view(held_type)
        )
    elif pa.types.is_binary(expected):
        fits = (
            pa.types.is_binary(held_type) or pa.types.is_large_binary(held_type) or pa.types.is_binary_view(held_type)
        )
    elif kind.name == "int2":
        fits = held_type in {pa.int8(), pa.int16(), pa.int32()}
    elif kind.name == "timestamptz":
        fits = pa.types.is_timestamp(held_type) and held_type.unit == "us" and held_type.tz is not None
    elif kind.name == "numeric":
        fits = pa.types.is_decimal(held_type) and (
            held_type.scale == expected.scale and held_type.precision <= expected.precision
        )
    if not fits:
        message = f'column "{column.name}" is of type {kind} but file "{path}" has {held_type}'
        raise DatatypeMismatch(message, hint="load_data converts values.")


def _check_lengths(path: Path, columns: Sequence[Column], names: Sequence[str]) -> None:
    """Raises 22001 for a text that is longer than its column allows."""
    bounded = [(n, c) for n, c in zip(names, columns, strict=True) if c.type.name == "varchar" and c.type.length]
    if not bounded:
        return
    held = ", ".join('max(length("' + name.replace('"', '""') + '"))' for name, _ in bounded)
    quoted = str(path).replace("'", "''")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {held} FROM read_parquet('{quoted}')").fetchone()
    for length, (_, column) in zip(found or (), bounded, strict=True):
        if length is not None and length > (column.type.length or 0):
            message = f"value too long for type {column.type.plain}"
            raise SqlError.of("string_data_right_truncation", message, detail=f'Column "{column.name}", file "{path}".')


def _check_values(path: Path, table: Table, columns: Sequence[Column], made: DataFile) -> None:
    for column in table.columns:
        nulls = made.nulls.get(column.field_id) if column in columns else made.rows
        if column.not_null and made.rows and nulls != 0:
            known = "has" if nulls else "may have"
            message = f'null value in column "{column.name}" of relation "{table.name}" violates not-null constraint'
            raise SqlError.of("not_null_violation", message, detail=f'File "{path}" {known} NULLs there.')
        if column in columns and column.type.name == "int2" and nulls != made.rows:
            low, high = made.minimums.get(column.field_id), made.maximums.get(column.field_id)
            if not isinstance(low, int) or not isinstance(high, int) or low < -_INT2_LIMIT or high >= _INT2_LIMIT:
                message = "smallint out of range"
                raise SqlError.of("numeric_value_out_of_range", message, detail=f'Column "{column.name}", "{path}".')

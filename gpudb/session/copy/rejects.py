"""The rejects table of COPY FROM: it gets the rows that ON_ERROR ignore skips, in the transaction of the COPY."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from gpudb.catalog.tables import Column, Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.copy.named_tables import find_named_table
from gpudb.session.dml.domain_checks import append_checked
from gpudb.storage.copy.ingest import Reject, RowCompletion
from gpudb.storage.copy.reader import ParsedRows

_TYPES = {
    "source": ("text", "varchar"),
    "line": ("int8", "int4"),
    "column_name": ("text", "varchar"),
    "value": ("text", "varchar"),
}
"""The columns that a rejects table may have beside others, and their types."""


def find_rejects_table(context: Context, name: str) -> Table:
    """Returns the table of the option REJECTS_TABLE; 42703 if it has none of the columns, 42804 for their types.

    See `find_named_table` for other errors.
    """
    table = find_named_table(context, name, "a")
    columns = list_columns(table)
    for column in columns:
        if column.type.name not in _TYPES[column.name]:
            message = f'column "{column.name}" of rejects table "{table.name}" is of type {column.type}'
            raise SqlError.of("datatype_mismatch", message, hint=f"It must be {_TYPES[column.name][0]}.")
    if not columns:
        hint = "It may have the columns source text, line bigint, column_name text and value text."
        message = f'rejects table "{table.name}" has no column for rejected rows'
        raise SqlError.of("undefined_column", message, hint=hint)
    return table


def list_columns(table: Table) -> tuple[Column, ...]:
    """Returns the columns of a rejects table that are filled."""
    return tuple(column for column in table.columns if column.name in _TYPES and column.generated is None)


def store_rejects(
    context: Context, table: Table, rejects: Sequence[Reject], defaults: Mapping[str, Callable[[int], pa.Array]]
) -> None:
    """Appends rejected rows to a rejects table, whose other columns get their defaults."""
    columns = list_columns(table)
    values = {
        "source": [each.source for each in rejects],
        "line": [each.line for each in rejects],
        "column_name": [each.column for each in rejects],
        "value": [each.value for each in rejects],
    }
    arrays = [pa.array(values[column.name], column.type.arrow) for column in columns]
    batch = RowCompletion(table, columns, defaults).complete(ParsedRows(arrays, len(rejects), len(rejects)))
    append_checked(context, table, [batch])

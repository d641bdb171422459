"""Columns of numbers: each one contiguous Arrow array without NULLs, whose memory arrays of every library share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from gpudb.api.names import quote_identifier
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.results import ResultColumn
from gpudb.values.number_columns import holds_numbers, make_null_error

Columns = Mapping[str, pa.Array]
"""Arrays of equal length by name: integers, floats, booleans, dates (days) and timestamps (microseconds)."""

_DECIMALS = {"numeric": "::float8", "money": "::numeric::float8"}
_HINTS = {
    **dict.fromkeys(("text", "varchar", "bpchar"), "Encode texts as integers: gpudb.ml.Categorify."),
    "interval": "Take its seconds: extract(epoch FROM …).",
}


def select_numbers(fields: Sequence[ResultColumn]) -> list[str] | None:
    """Returns the columns as expressions that arrays can hold, decimals as double precision; None if they are so.

    0A000 names a column that is no number, boolean, date or timestamp; 42701 a name that occurs twice.
    """
    seen: set[str] = set()
    for field in fields:
        if field.name in seen:
            raise SqlError.of("duplicate_column", f'column "{field.name}" specified more than once')
        seen.add(field.name)
        if field.type.name not in _DECIMALS and not holds_numbers(field.type.arrow):
            hint = _HINTS.get(field.type.name, "Leave the column out, or cast it.")
            message = f'column "{field.name}" is of type {field.type}, which arrays of numbers cannot hold'
            raise FeatureNotSupported(message, hint=hint)
    if not any(field.type.name in _DECIMALS for field in fields):
        return None
    casts = [(quote_identifier(field.name), _DECIMALS.get(field.type.name)) for field in fields]
    return [name if cast is None else f"{name}{cast} AS {name}" for name, cast in casts]


def make_contiguous(table: pa.Table) -> Columns:
    """Returns a table's columns, each in one piece: copied only if it has several. NULL becomes NaN in floats.

    22004 names another column that holds a NULL.
    """
    return {name: _join(name, column) for name, column in zip(table.column_names, table.columns, strict=True)}


def _join(name: str, column: pa.ChunkedArray) -> pa.Array:
    if column.null_count:
        if not pa.types.is_floating(column.type):
            raise make_null_error(name, column.type)
        column = column.fill_null(float("nan"))
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)

"""Errors about rows that violate a table's constraints, with the row in the detail as PostgreSQL writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.tables import Column, Table
from gpudb.errors import ShownValues, SqlError
from gpudb.values.text_columns import format_text_column

_MOST_BYTES = 64


def null_violation(table: Table, column: Column, batch: pa.RecordBatch, array: pa.Array) -> SqlError:
    """Returns 23502 for the first NULL of `array`, the values of `column` in a batch of the table's columns."""
    row = pc.index(array.is_null(), True).as_py()
    return SqlError.of(
        "not_null_violation",
        f'null value in column "{column.name}" of relation "{table.name}" violates not-null constraint',
        **_describe_row(table, batch, row),
        objects={"schema": table.schema, "table": table.name, "column": column.name},
    )


def check_violation(table: Table, name: str, batch: pa.RecordBatch, row: int, zone: str) -> SqlError:
    """Returns 23514 for a row of a batch of the table's columns and the check constraint that rejects it."""
    return SqlError.of(
        "check_violation",
        f'new row for relation "{table.name}" violates check constraint "{name}"',
        **_describe_row(table, batch, row, zone),
        objects={"schema": table.schema, "table": table.name, "constraint": name},
    )


def partition_violation(table: Table, batch: pa.RecordBatch, row: int) -> SqlError:
    """Returns 23514 for a row of a batch of a partition's columns that its bound excludes."""
    return SqlError.of(
        "check_violation",
        f'new row for relation "{table.name}" violates partition constraint',
        **_describe_row(table, batch, row),
        objects={"schema": table.schema, "table": table.name},
    )


def missing_partition(table: Table, name: str, columns: Sequence[Column], batch: pa.RecordBatch, row: int) -> SqlError:
    """Returns 23514 for a row of a batch of a table's columns for which the partitioned table `name` has no partition.

    `columns` are those of the partition key.
    """
    values = dict(zip((column.name for column in table.columns), _format_row(table, batch, row, "UTC"), strict=True))
    names = ", ".join(column.name for column in columns)
    shown = {column.name: values[column.name] for column in columns}
    return SqlError.of(
        "check_violation",
        f'no partition of relation "{name}" found for row',
        detail=f"Partition key of the failing row contains ({names}) = ({', '.join(shown.values())}).",
        shown=ShownValues(shown),
        objects={"schema": table.schema, "table": name},
    )


def view_violation(message: str, table: Table, batch: pa.RecordBatch, row: int, zone: str) -> SqlError:
    """Returns 44000 for a row of a batch of the table's columns that the CHECK OPTION of a view rejects."""
    return SqlError.of("with_check_option_violation", message, **_describe_row(table, batch, row, zone))


def _describe_row(table: Table, batch: pa.RecordBatch, row: int, zone: str = "UTC") -> dict[str, Any]:
    """Returns the detail about a row, and its values."""
    values = dict(zip((column.name for column in table.columns), _format_row(table, batch, row, zone), strict=True))
    detail = f"Failing row contains ({', '.join(values.values())})."
    return {"detail": detail, "shown": ShownValues(values, whole_row=True)}


def _format_row(table: Table, batch: pa.RecordBatch, row: int, zone: str) -> list[str]:
    """Formats a row of a batch of the table's columns; each value is cut at 64 bytes."""
    shown = []
    for column, array in zip(table.columns, batch.columns, strict=True):
        text = format_text_column(column.type, array.slice(row, 1), zone)[0].as_py()
        if text is None:
            shown.append("null")
        elif len(text.encode()) > _MOST_BYTES:
            shown.append(text.encode()[:_MOST_BYTES].decode("utf-8", "ignore") + "...")
        else:
            shown.append(text)
    return shown

"""CHECK constraints of rows that are about to be written: 23514 for the first that one rejects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.model import Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution.requests import rows_over
from gpudb.sql.bind.dml.checks import violations
from gpudb.sql.bound import NEW_ROWS, ROW_NUMBER, Select
from gpudb.storage.row_errors import check_violation, null_violation


def checked(
    context: Context, table: Table, batches: Iterable[pa.RecordBatch], *, nulls: bool = False
) -> Iterator[pa.RecordBatch]:
    """Batches of the table's columns as they come, each looked at: 23514, or 23502 for an earlier NULL.

    With `nulls` 23502 for any NULL where none may be: of rows that need not be written, for storage looks again.
    """
    query = violations(context.session.binder(context), table) if table.checks else None
    used = {name for check in table.checks for name in check.columns}
    places = [index for index, column in enumerate(table.columns) if column.name in used]
    for batch in batches:
        if query is not None:
            _check(context, table, batch, query, places)
        if nulls:
            _check_nulls(table, batch, batch.num_rows)
        yield batch


def check_rows(context: Context, table: Table) -> None:
    """23514 if a row of the table, as it is stored now, violates one of its checks."""
    if not table.files or not table.checks:
        return
    first = rows_over(context, violations(context.session.binder(context), table, stored=True), {})
    if first.num_rows:
        name = table.checks[first.column(1)[0].as_py()].name
        raise SqlError.of(
            "check_violation",
            f'check constraint "{name}" of relation "{table.name}" is violated by some row',
            objects={"schema": table.schema, "table": table.name, "constraint": name},
        )


def _check_nulls(table: Table, batch: pa.RecordBatch, rows: int) -> None:
    """23502 for the first of the first `rows` rows that has a NULL where none may be."""
    found: tuple[int, int] | None = None
    for place, (column, array) in enumerate(zip(table.columns, batch.columns, strict=True)):
        if column.not_null and array.null_count:
            row = pc.index(array.is_null(), True).as_py()
            found = (row, place) if found is None else min(found, (row, place))
    if found is not None and found[0] < rows:
        raise null_violation(table, table.columns[found[1]], batch, batch.column(found[1]))


def _check(context: Context, table: Table, batch: pa.RecordBatch, query: Select, places: list[int]) -> None:
    arrays = {table.columns[index].name: batch.column(index) for index in places}
    frame = pa.table({**arrays, ROW_NUMBER: pa.array(np.arange(batch.num_rows, dtype=np.int64))})
    first = rows_over(context, query, {NEW_ROWS: frame})
    if not first.num_rows:
        return
    row, place = (column[0].as_py() for column in first.columns)
    # A row is looked at whole before the next: its NULLs come before its checks.
    _check_nulls(table, batch, row + 1)
    zone = context.session.settings["TimeZone"]
    raise check_violation(table, table.checks[place].name, batch, row, zone)

"""Checks of rows by the conditions of policies and of views, before they are written or changed: 42501, 44000."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.sql.bound import NEW_ROWS, OLD_ROWS, ROW_NUMBER, VIEW_CHECK, RowCheck
from gpudb.storage.row_errors import view_violation


def check_new_rows(
    context: Context, check: RowCheck | None, table: Table, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields batches of a table's columns after a check of their rows."""
    names = [column.name for column in table.columns]
    for batch in batches:
        if check is not None and batch.num_rows:
            frame = pa.Table.from_batches([batch.rename_columns(names)])
            _check(context, check, table, NEW_ROWS, frame, batch)
        yield batch


def note_violations(
    context: Context, check: RowCheck | None, table: Table, batches: Iterable[pa.RecordBatch], found: list[SqlError]
) -> Iterator[pa.RecordBatch]:
    """Yields batches, and notes the error of the first row that a view rejects: constraints precede it."""
    for batch in batches:
        if not found:
            try:
                list(check_new_rows(context, check, table, [batch]))
            except SqlError as error:
                if error.sqlstate != VIEW_CHECK:
                    raise
                found.append(error)
        yield batch


def check_old_rows(context: Context, check: RowCheck | None, table: Table, positions: pa.Table) -> None:
    """Checks the stored rows that have some positions: files and numbers in them."""
    if check is not None and positions.num_rows:
        _check(context, check, table, OLD_ROWS, positions.rename_columns(["file", "row"]), None)


def _check(
    context: Context, check: RowCheck, table: Table, name: str, frame: pa.Table, batch: pa.RecordBatch | None
) -> None:
    numbers = pa.array(np.arange(frame.num_rows, dtype=np.int64))
    found = fetch_query(context, check.query, {name: frame.append_column(ROW_NUMBER, numbers)})
    if not found.num_rows:
        return
    row, condition = (column[0].as_py() for column in found.columns)
    sqlstate, message = check.errors[condition]
    if sqlstate == VIEW_CHECK and batch is not None:
        raise view_violation(message, table, batch, row, context.session.settings["TimeZone"])
    raise SqlError.of("insufficient_privilege", message)

"""Rows that reach a table past INSERT (COPY, load_data), held against the domains of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa

from gpudb.catalog.model import Table
from gpudb.session.context import Context
from gpudb.session.dml.references import check_added
from gpudb.session.dml.row_checks import checked
from gpudb.session.execution.requests import rows_over
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import NEW_ROWS, Column, Expr, FrameScan, Select


def append(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> int:
    """Stores rows that have not been looked at; says how many. 23502, 23503, 23505, 23514."""
    count = context.transaction.append(table.oid, received(context, table, batches))
    check_added(context, table)
    return count


def received(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of a table's rows as they come, held against domains first and then against its own checks."""
    return checked(context, table, _conforming(context, table, batches))


def _conforming(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """23514 or 23502 for a value that its column's domain does not allow."""
    columns = table_columns(table)
    domains = [index for index, column in enumerate(columns) if column.type.domain is not None]
    if not domains:
        yield from batches
        return
    binder = context.session.binder(context)
    targets: list[Expr] = []
    for index in domains:
        value = Column(1, index, replace(columns[index].type, domain=None), columns[index].name)
        targets.append(coerce(binder, value, columns[index].type))
    query = Select(tuple(columns[index] for index in domains), tuple(targets), FrameScan(1, NEW_ROWS, columns))
    names = [column.name for column in columns]
    for batch in batches:
        rows_over(context, query, {NEW_ROWS: pa.Table.from_batches([batch]).rename_columns(names)})
        yield batch

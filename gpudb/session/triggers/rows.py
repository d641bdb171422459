"""Rows of triggers: stored rows by their positions, and rows as records and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.plpgsql.records import Record, column_values, new_record
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.sql.bind.dml.targets import ROW_ID
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bound import ROW_NUMBER, Column, FrameScan, Join, OutputColumn, Scan, Select
from gpudb.types import INT8, TEXT
from gpudb.values.arrow_columns import check_representable, to_arrow_array

_POSITIONS = "gpudb changed positions"


def empty_rows(table: Table) -> pa.Table:
    """Returns no rows of a table."""
    return pa.schema([pa.field(column.name, column.type.arrow) for column in table.columns]).empty_table()


def as_rows(table: Table, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    """Returns batches of the table's columns as one table."""
    names = [column.name for column in table.columns]
    schema = empty_rows(table).schema
    return pa.Table.from_batches([each.rename_columns(names) for each in batches], schema=schema)


def rename_rows(table: Table, rows: pa.Table) -> pa.Table:
    """Returns rows under the names of the table's columns."""
    return rows.rename_columns([column.name for column in table.columns])


def put_rows(found: pa.Table, first: int, rows: pa.Table) -> pa.Table:
    """Returns `found` with the columns of `rows` in the place of its own from `first` on."""
    for place, column in enumerate(rows.columns, first):
        found = found.set_column(place, found.field(place), column)
    return found


def fetch_rows(context: Context, table: Table, positions: pa.Table) -> pa.Table:
    """Returns the stored rows at `positions` (columns file and row), in their order."""
    if not positions.num_rows:
        return empty_rows(table)
    inside = replace(context, session_calls=None)
    binder = inside.binder()
    table = context.transaction.table(table.oid)
    scan, frame, width = binder.new_rel(), binder.new_rel(), len(table.columns)
    number = OutputColumn(ROW_NUMBER, INT8)
    on = conjunction(
        [
            apply_operator(binder, "=", Column(scan, width, TEXT), Column(frame, 0, TEXT)),
            apply_operator(binder, "=", Column(scan, width + 1, INT8), Column(frame, 1, INT8)),
        ]
    )
    source = Join("INNER", Scan(scan, table, row_ids=True), FrameScan(frame, _POSITIONS, (*ROW_ID, number)), on)
    row = tuple(Column(scan, place, column.type) for place, column in enumerate(table.columns))
    query = Select((number, *table_columns(table)), (Column(frame, 2, INT8), *row), source)
    numbered = positions.append_column(ROW_NUMBER, pa.array(np.arange(positions.num_rows, dtype=np.int64)))
    found = fetch_query(inside, query, {_POSITIONS: numbered})
    order = np.argsort(found.column(0).to_numpy(), kind="stable")
    rows = found.select(range(1, width + 1)).take(pa.array(order))
    return rows.rename_columns([column.name for column in table.columns])


def as_records(table: Table, rows: pa.Table | None, count: int, zone: str) -> list[Record | None]:
    """Returns rows as records; `count` times None without rows."""
    if rows is None:
        return [None] * count
    columns = tuple((column.name, column.type) for column in table.columns)
    lists = [column_values(item, rows.column(place).combine_chunks(), zone) for place, (_, item) in enumerate(columns)]
    return [new_record(columns, row) for row in zip(*lists, strict=True)]


def from_records(
    table: Table, records: Sequence[Record], rows: pa.Table | None = None, originals: Sequence[Record | None] = ()
) -> pa.Table:
    """Returns records as rows of a table. A column in which no record differs from its original is that of `rows`."""
    columns: list[pa.ChunkedArray | pa.Array] = []
    for place, column in enumerate(table.columns):
        values = [_plain(each.values[place]) for each in records]
        if rows is not None:
            before = [None if each is None else each.values[place] for each in originals]
            if all(one is other.values[place] for one, other in zip(before, records, strict=True)):
                columns.append(rows.column(place))
                continue
        for value in values:
            check_representable(column.type, value)
        columns.append(pa.chunked_array([to_arrow_array(column.type, values)], column.type.arrow))
    return pa.table(columns, names=[column.name for column in table.columns])


def _plain(value: object) -> object:
    return tuple(map(_plain, value.values)) if isinstance(value, Record) else value

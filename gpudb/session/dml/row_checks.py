"""CHECK constraints of rows before they are written: 23514 for the first row that violates one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.tables import Table
from gpudb.errors import SqlError
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.sql.bind.dml.checks import build_violation_query
from gpudb.sql.bound import NEW_ROWS, ROW_NUMBER, Select
from gpudb.storage.partitions.routing import Router
from gpudb.storage.row_errors import check_violation, null_violation


def check_batches(
    context: Context, table: Table, batches: Iterable[pa.RecordBatch], *, nulls: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yields batches of the table's columns after their checks: 23514, or 23502 for an earlier NULL.

    With `nulls`, 23502 for any NULL in a NOT NULL column: for rows that may not be written, since storage checks those
    that are.
    """
    if table.partitioned_by is not None:
        yield from _check_leaves(context, context.transaction.table(table.oid), batches, nulls=nulls)
        return
    binder = context.binder()
    query = build_violation_query(binder, table) if table.checks else None
    used = {name for check in table.checks for name in check.columns}
    indexes = [index for index, column in enumerate(table.columns) if column.name in used]
    for number, batch in enumerate(batches):
        if query is not None:
            if number == 0:
                check_accesses(context, binder.accesses)  # the right to call the functions of the checks
            _check(context, table, batch, query, indexes)
        if nulls:
            _check_nulls(table, batch, batch.num_rows)
        yield batch


def _check_leaves(
    context: Context, table: Table, batches: Iterable[pa.RecordBatch], *, nulls: bool
) -> Iterator[pa.RecordBatch]:
    """Yields batches of a partitioned table's columns after the checks of the partitions that take their rows."""
    assert table.tree is not None
    catalog = context.transaction.catalog
    leaves = {each.oid: each for each in list_partitions(catalog, table) if each.checks or nulls}
    router = Router(table.tree, table.columns)
    places = {column.field_id: place for place, column in enumerate(table.columns)}
    for batch in batches:
        for oid, rows in router.route(batch)[0] if leaves else ():
            leaf = leaves.get(oid)
            if leaf is not None:
                part = batch.take(pa.array(rows))
                arrays = [part.column(places[column.field_id]) for column in leaf.columns]
                names = [column.name for column in leaf.columns]
                list(check_batches(context, leaf, [pa.RecordBatch.from_arrays(arrays, names=names)], nulls=nulls))
        yield batch


def check_stored_rows(context: Context, table: Table) -> None:
    """23514 if a stored row of the table violates one of its checks."""
    if not table.files or not table.checks:
        return
    if table.partitioned_by is not None:
        for each in list_partitions(context.transaction.catalog, table):
            if each.partitioned_by is None:
                check_stored_rows(context, replace(each, constraints=table.constraints))
        return
    first = fetch_from_engine(context, build_violation_query(context.binder(), table, stored=True))
    if first.num_rows:
        name = table.checks[first.column(1)[0].as_py()].name
        raise SqlError.of(
            "check_violation",
            f'check constraint "{name}" of relation "{table.name}" is violated by some row',
            objects={"schema": table.schema, "table": table.name, "constraint": name},
        )


def _check_nulls(table: Table, batch: pa.RecordBatch, rows: int) -> None:
    """23502 for the first of the first `rows` rows with a NULL in a NOT NULL column."""
    first: tuple[int, int] | None = None
    for index, (column, array) in enumerate(zip(table.columns, batch.columns, strict=True)):
        if column.not_null and array.null_count:
            row = pc.index(array.is_null(), True).as_py()
            first = (row, index) if first is None else min(first, (row, index))
    if first is not None and first[0] < rows:
        raise null_violation(table, table.columns[first[1]], batch, batch.column(first[1]))


def _check(context: Context, table: Table, batch: pa.RecordBatch, query: Select, indexes: list[int]) -> None:
    arrays = {table.columns[index].name: batch.column(index) for index in indexes}
    frame = pa.table({**arrays, ROW_NUMBER: pa.array(np.arange(batch.num_rows, dtype=np.int64))})
    first = fetch_from_engine(context, query, {NEW_ROWS: frame})
    if not first.num_rows:
        return
    row, number = (column[0].as_py() for column in first.columns)
    # PostgreSQL checks row by row, NULLs before CHECK constraints.
    _check_nulls(table, batch, row + 1)
    zone = context.session.settings["TimeZone"]
    raise check_violation(table, table.checks[number].name, batch, row, zone)

"""Rows that reach a table without an INSERT (COPY, load_data), checked against the domains of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, INSERT, has_event
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.dml.apply import append_rows, apply_changes, check_inserted
from gpudb.session.dml.key_waits import reserve_ahead
from gpudb.session.dml.outcomes import TableChange
from gpudb.session.dml.row_checks import check_batches
from gpudb.session.dml.wide_columns import append_in_form
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.triggers.firing import fire_before_rows, fire_for_statement
from gpudb.session.triggers.rows import as_rows
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.types.coercion import coerce
from gpudb.sql.bound import NEW_ROWS, Column, Expr, FrameScan, Select


def append_checked(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> int:
    """Checks rows and appends them to a table; returns their number. 23502, 23503, 23505, 23514.

    A numeric that has no room in its column's 128 bits makes that column wide.
    """
    return append_in_form(context, table, batches, partial(_append, context))


def _append(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> int:
    if has_event(table.triggers, INSERT):
        return _append_with_triggers(context, table, list(_check_domains(context, table, batches)))
    checked = reserve_ahead(context, table, check_batches(context, table, _check_domains(context, table, batches)))
    count = context.transaction.append(table.oid, checked)
    check_inserted(context, table)
    return count


def _append_with_triggers(context: Context, table: Table, batches: list[pa.RecordBatch]) -> int:
    fire_for_statement(context, table, INSERT, BEFORE)
    rows, _ = fire_before_rows(context, table, INSERT, as_rows(table, batches), None, None, append_rows)
    written = rows.combine_chunks().to_batches() if table.kind != "v" else []
    apply_changes(context, [(table, TableChange(rows.num_rows, [], inserted=written, events=(INSERT,)))])
    return int(rows.num_rows)


def _check_domains(context: Context, table: Table, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields batches after the checks of their domains: 23514, 23502."""
    columns = table_columns(table)
    domains = [index for index, column in enumerate(columns) if column.type.domain is not None]
    if not domains:
        yield from batches
        return
    binder = context.binder()
    targets: list[Expr] = []
    for index in domains:
        value = Column(1, index, replace(columns[index].type, domain=None), columns[index].name)
        targets.append(coerce(binder, value, columns[index].type))
    check_accesses(context, binder.accesses)  # the right to call the functions of the checks
    query = Select(tuple(columns[index] for index in domains), tuple(targets), FrameScan(1, NEW_ROWS, columns))
    names = [column.name for column in columns]
    for batch in batches:
        fetch_from_engine(context, query, {NEW_ROWS: pa.Table.from_batches([batch]).rename_columns(names)})
        yield batch

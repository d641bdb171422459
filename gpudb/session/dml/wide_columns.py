"""Columns of numerics that take the wide form, once a value has no room in their 128 bits.

The statement that writes the value ends, the columns' tables are rewritten in its transaction, and it begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import INSERT, has_event
from gpudb.errors import NARROW_COLUMN, GpudbError, NumericOutOfRange
from gpudb.session.context import Context
from gpudb.session.cursors.open_cursors import check_not_scanned
from gpudb.session.execution.locks_and_snapshots.restarts import StatementRestart, run_with_restarts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.objects.relations import lock_table, put_relation
from gpudb.sql.bound import Cast, Column, DataChange, OutputColumn, Scan, Select
from gpudb.sql.traverse import walk
from gpudb.types import widen
from gpudb.values.wide_conversion import narrow_column, widen_column
from gpudb.values.wide_numerics import is_wide_column

T = TypeVar("T")
Batches = Iterable[pa.RecordBatch]
Place = tuple[int, str]
"""A column: its table's OID, and its name."""


def run_change(context: Context, run: Callable[[], T]) -> T:
    """Runs what a change does, again on newer states, and with wider columns where a value has no room in one."""

    def attempt() -> T:
        try:
            return run()
        except GpudbError as error:
            name = find_narrow_column(error)
            if name is None:
                raise
            places = {(table.oid, name) for table in _list_targets(context) if is_narrow(table, name)}
            if not places:
                raise NumericOutOfRange(error.message) from None
            raise StatementRestart(partial(widen_columns, places=places)) from None

    return run_with_restarts(context, attempt)


def find_narrow_column(error: GpudbError) -> str | None:
    """Returns the name of the column in which a value has no room; None for other errors."""
    if error.sqlstate != "22003" or not (error.detail or "").startswith(NARROW_COLUMN):
        return None
    return (error.detail or "").removeprefix(NARROW_COLUMN)


def _list_targets(context: Context) -> Iterator[Table]:
    bound = context.session.plan(context).bound
    yield from (each.table for each in walk(bound) if isinstance(each, DataChange))


def is_narrow(table: Table, name: str) -> bool:
    """Whether a table has a column of this name whose numerics are in 128 bits."""
    return any(c.name == name and not c.type.wide and c.type.name.lstrip("_") == "numeric" for c in table.columns)


def append_in_form(
    context: Context, table: Table, batches: Iterable[pa.RecordBatch], append: Callable[[Table, Batches], int]
) -> int:
    """Appends rows whose columns of numerics may be wide, of which some then are the table's too; returns their number.

    `append` gets rows in the table's form. It is called again after a column has been widened, unless rows have
    triggers: then all rows are there before.
    """
    count, rest = 0, iter(batches)
    if has_event(table.triggers, INSERT):
        rows = list(rest)
        _widen_for(context, table, rows)
        return append(table, (_in_form(table, batch) or batch for batch in rows))
    while True:
        table = context.transaction.table(table.oid)
        refused: list[pa.RecordBatch] = []
        count += append(table, _while_in_form(table, rest, refused))
        if not refused:
            return count
        _widen_for(context, table, refused)
        rest = chain(refused, rest)


def _while_in_form(
    table: Table, batches: Iterator[pa.RecordBatch], refused: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yields batches in the form of a table, until one has a value without room in it."""
    for batch in batches:
        made = _in_form(table, batch)
        if made is None:
            refused.append(batch)
            return
        yield made


def _in_form(table: Table, batch: pa.RecordBatch) -> pa.RecordBatch | None:
    """Returns a batch with its numerics in a table's forms; None if one has no room."""
    for place, column in enumerate(table.columns):
        if column.type.name.lstrip("_") != "numeric" or is_wide_column(batch.column(place)) == column.type.wide:
            continue
        held = batch.column(place)
        made = (
            widen_column(held, replace(column.type, wide=False))
            if column.type.wide
            else narrow_column(held, column.type)
        )
        if made is None:
            return None
        batch = batch.set_column(place, column.name, made)
    return batch


def _widen_for(context: Context, table: Table, batches: Sequence[pa.RecordBatch]) -> None:
    """Widens the columns in which values of batches have no room."""
    places = {
        (table.oid, column.name)
        for batch in batches
        for place, column in enumerate(table.columns)
        if is_narrow(table, column.name)
        and is_wide_column(batch.column(place))
        and narrow_column(batch.column(place), column.type) is None
    }
    if places:
        widen_columns(context, places)


def widen_columns(context: Context, places: Iterable[Place]) -> None:
    """Rewrites tables so that some of their columns, and those that refer to them, are wide; 22003 for a bucket's key.

    55006 for a table that the session reads at the same time.
    """
    for oid, names in _collect(context.transaction.catalog, places).items():
        root = _find_definition(context, oid)
        check_not_scanned(context.session, root, "ALTER TABLE")
        lock_table(context, root)
        for name in sorted(names):
            _widen(context, oid, name)


def _collect(catalog: Catalog, places: Iterable[Place]) -> dict[int, set[str]]:
    """Returns the columns, with those at the other ends of foreign keys, by the topmost partitioned table."""
    tables = {each.oid: each for each in catalog.relations.values() if isinstance(each, Table)}
    pending, found = list(places), set[Place]()
    while pending:
        place = pending.pop()
        if place in found:
            continue
        found.add(place)
        for owner in tables.values():
            for key in owner.foreign_keys:
                for own, referenced in zip(key.columns, key.referenced, strict=True):
                    ends = (owner.oid, own), (key.table, referenced)
                    pending += ends if place in ends else ()
    result: dict[int, set[str]] = {}
    for oid, name in found:
        while (bound := tables[oid].partition_bound) is not None:
            oid = bound.parent
        result.setdefault(oid, set()).add(name)
    return result


def _widen(context: Context, oid: int, name: str) -> None:
    """Rewrites a table, and its partitions, for one column."""
    root = _find_definition(context, oid)
    for each in (root, *list_partitions(context.transaction.catalog, root)):
        # A partitioned table's definition has no files, which are its partitions'
        table = each if each.partitioned_by is not None else context.transaction.table(each.oid)
        if not is_narrow(table, name):
            continue
        if table.hashed_by is not None and table.hashed_by.name == name:
            raise NumericOutOfRange(
                "value overflows numeric format",
                detail=f'Rows of table "{table.name}" are distributed by column "{name}", which has at most 38 digits.',
            )
        _rewrite(context, table, name, root.last_field_id)


def _find_definition(context: Context, oid: int) -> Table:
    found = context.transaction.catalog.find_relation_by_oid(oid)
    assert isinstance(found, Table)
    return found


def _rewrite(context: Context, table: Table, name: str, last_field_id: int) -> None:
    rel = 1
    targets = [Column(rel, place, column.type, column.name) for place, column in enumerate(table.columns)]
    kinds = [widen(column.type) if column.name == name else column.type for column in table.columns]
    converted = tuple(
        each if each.type == kind else Cast(each, kind) for each, kind in zip(targets, kinds, strict=True)
    )
    outputs = tuple(OutputColumn(each.name, kind) for each, kind in zip(targets, kinds, strict=True))
    files = table.files
    batches = list(run_query(context, Select(outputs, converted, Scan(rel, table)))) if files else []
    columns = tuple(
        replace(column, type=kind, field_id=column.field_id if column.type == kind else 0)
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    # The columns of partitions have the field ids of their partitioned table's
    least = last_field_id if table.partition_bound is not None else table.last_field_id
    put_relation(context, replace(table, columns=columns, last_field_id=least))
    if files:
        context.transaction.replace(table.oid, files, batches)

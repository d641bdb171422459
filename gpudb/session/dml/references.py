"""Queries for foreign keys: keys that changes remove from referenced tables, and the rows that reference them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from gpudb.catalog.partition_trees import list_ancestors
from gpudb.catalog.tables import ForeignKey, Table
from gpudb.session.context import Context
from gpudb.session.dml.outcomes import TableChange
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.objects.constraints import referencing_keys
from gpudb.session.state.deferral import ReferencedChange
from gpudb.sql.bind.base import Binder
from gpudb.sql.bind.dml.targets import ROW_ID, bind_column_default
from gpudb.sql.bind.expressions.operators import apply_operator, conjunction
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.types.coercion import coerce, coerce_exactly
from gpudb.sql.bound import (
    BoolOp,
    Column,
    Constant,
    DistinctFrom,
    Exists,
    Expr,
    FrameScan,
    Join,
    OutputColumn,
    Scan,
    Select,
    Test,
)
from gpudb.types import INT4, INT8, TEXT

_VARYING = {"jsonb", "float4", "float8", "interval"}
"""Types whose equal values may have different text."""
_POSITIONS, _KEYS = "gpudb leaving rows", "gpudb leaving keys"


def find_key_changes(context: Context, changes: Sequence[tuple[Table, TableChange]]) -> list[ReferencedChange]:
    """The keys that computed changes will remove and foreign keys may reference; call it before they are written."""
    found: list[ReferencedChange] = []
    for table, change in changes:
        if change.removed is None or not change.removed.num_rows:
            continue
        catalog = context.transaction.catalog
        for referenced in (table, *list_ancestors(catalog, table)):
            for owner, foreign in referencing_keys(catalog, referenced.oid):
                made = _find_changed_keys(context, table, owner, foreign, change)
                found += [replace(each, referenced=referenced.oid) for each in made]
    return [each for each in found if each.keys.num_rows]


def _find_changed_keys(
    context: Context, table: Table, owner: Table, foreign: ForeignKey, change: TableChange
) -> Iterator[ReferencedChange]:
    """Yields the keys that a change of a table, or of a partition, takes from a foreign key of `owner`."""
    assert change.removed is not None
    if change.deleted is not None and change.deleted.num_rows:
        yield _removed_keys(context, table, owner, foreign, change.deleted, deleted=True)
    if change.may_update(foreign.referenced) and foreign.on_update in "cndr":
        yield _updated_keys(context, table, owner, foreign, change)
    elif change.may_update(foreign.referenced):
        # Includes the deleted rows: their keys are missing as well.
        yield _removed_keys(context, table, owner, foreign, change.removed, deleted=False)


def _removed_keys(
    context: Context, table: Table, owner: Table, foreign: ForeignKey, positions: pa.Table, *, deleted: bool
) -> ReferencedChange:
    """The distinct keys of the rows at `positions`."""
    binder = context.binder()
    table = context.transaction.table(table.oid)
    scan, frame = binder.new_rel(), binder.new_rel()
    columns = _columns(table, scan, foreign.referenced)
    not_null = conjunction([Test(column, "NULL", True) for column in columns])
    on = _same_position(binder, scan, len(table.columns), frame)
    source = Join("INNER", Scan(scan, table, row_ids=True), FrameScan(frame, _POSITIONS, ROW_ID), on)
    query = Select(_key_columns(table, foreign), columns, source, not_null, distinct=True)
    return ReferencedChange(
        table.oid, owner.oid, foreign, fetch_query(context, query, {_POSITIONS: positions}), deleted
    )


def _updated_keys(
    context: Context, table: Table, owner: Table, foreign: ForeignKey, change: TableChange
) -> ReferencedChange:
    """Old and new keys of the rows whose keys change."""
    assert change.updated_positions is not None
    binder = context.binder()
    table = context.transaction.table(table.oid)
    columns = _key_columns(table, foreign)
    new_keys = pa.Table.from_batches([batch.select(_indexes(table, foreign.referenced)) for batch in change.updated])
    rows = change.updated_positions
    for column, values in zip(columns, new_keys.columns, strict=True):
        rows = rows.append_column(column.name, values)
    scan, frame = binder.new_rel(), binder.new_rel()
    on = _same_position(binder, scan, len(table.columns), frame)
    old = _columns(table, scan, foreign.referenced)
    new = tuple(Column(frame, 2 + index, column.type) for index, column in enumerate(columns))
    not_null = [Test(column, "NULL", True) for column in old]
    distinct = [
        DistinctFrom(_comparable(binder, one), _comparable(binder, other), False)
        for one, other in zip(old, new, strict=True)
    ]
    where = conjunction([*not_null, distinct[0] if len(distinct) == 1 else BoolOp("OR", tuple(distinct))])
    source = Join("INNER", Scan(scan, table, row_ids=True), FrameScan(frame, _POSITIONS, (*ROW_ID, *columns)), on)
    new_columns = tuple(OutputColumn(f"n{index}", column.type) for index, column in enumerate(columns))
    if foreign.on_update == "r":
        new = new_columns = ()
    keys = fetch_query(context, Select((*columns, *new_columns), (*old, *new), source, where), {_POSITIONS: rows})
    return ReferencedChange(table.oid, owner.oid, foreign, keys, False)


def _same_position(binder: Binder, scan: int, width: int, frame: int) -> Expr:
    """Joins a scan with row positions, which follow its `width` columns, to a frame that begins with positions."""
    return conjunction(
        [
            apply_operator(binder, "=", Column(scan, width, TEXT), Column(frame, 0, TEXT)),
            apply_operator(binder, "=", Column(scan, width + 1, INT8), Column(frame, 1, INT8)),
        ]
    )


def _comparable(binder: Binder, key: Expr) -> Expr:
    """A key as old and new are compared: as text if equal values may have different text, such as 1.0 and 1.00."""
    item = key.type
    varies = item.name in _VARYING or (item.name == "numeric" and item.modifier == -1)
    return coerce(binder, key, TEXT, "e") if varies or item.fields or item.element is not None else key


def _indexes(table: Table, names: Sequence[str]) -> list[int]:
    known = [column.name for column in table.columns]
    return [known.index(name) for name in names]


def find_missing_keys(context: Context, referenced: Table, change: ReferencedChange) -> pa.Table:
    """The keys of a change that no row of the referenced table has now."""
    binder = context.binder()
    outer, inner = binder.new_rel(), binder.new_rel()
    columns = _key_columns(referenced, change.foreign)
    keys = tuple(Column(outer, index, column.type) for index, column in enumerate(columns))
    same = _equal(binder, _columns(referenced, inner, change.foreign.referenced), keys)
    rows = Select((OutputColumn("one", INT4),), (Constant(1, INT4),), Scan(inner, referenced), same)
    query = Select(columns, keys, FrameScan(outer, _KEYS, columns), BoolOp("NOT", (Exists(rows),)))
    return fetch_query(context, query, {_KEYS: _rename(change.keys, columns)})


def find_referencing_rows(
    context: Context, owner: Table, foreign: ForeignKey, referenced: Table, keys: pa.Table, *, updated: bool
) -> pa.Table:
    """File, row number and columns of the rows that reference some of `keys`, and these keys.

    If `updated`, the new keys instead, which follow the old ones in `keys`.
    """
    binder = context.binder()
    scan, frame = binder.new_rel(), binder.new_rel()
    columns = _key_columns(referenced, foreign)
    selected: tuple[Expr, ...] = tuple(Column(frame, index, column.type) for index, column in enumerate(columns))
    on = _equal(binder, _columns(owner, scan, foreign.columns), selected)
    width = len(owner.columns)
    position = (Column(scan, width, TEXT), Column(scan, width + 1, INT8))
    row = tuple(Column(scan, index, column.type) for index, column in enumerate(owner.columns))
    frame_columns = columns
    if updated:
        frame_columns = (*columns, *(OutputColumn(f"n{n}", column.type) for n, column in enumerate(columns)))
        selected = tuple(Column(frame, len(columns) + n, column.type) for n, column in enumerate(columns))
        # A key is converted by assignment to the type of the column that references it.
        types = {column.name: column.type for column in owner.columns}
        selected = tuple(
            coerce_exactly(binder, expr, types[name]) for expr, name in zip(selected, foreign.columns, strict=True)
        )
        columns = tuple(OutputColumn(each.name, expr.type) for each, expr in zip(columns, selected, strict=True))
    source = Join("INNER", Scan(scan, owner, row_ids=True), FrameScan(frame, _KEYS, frame_columns), on)
    query = Select((*ROW_ID, *table_columns(owner), *columns), (*position, *row, *selected), source)
    return fetch_query(context, query, {_KEYS: _rename(keys, frame_columns)})


def rows_with_new_keys(owner: Table, columns: Sequence[str], found: pa.Table) -> list[pa.RecordBatch]:
    """Referencing rows with the new keys in the columns of the foreign key."""
    first = 2 + len(owner.columns)
    chosen = list(range(2, first))
    for number, index in enumerate(_indexes(owner, columns)):
        chosen[index] = first + number
    return found.select(chosen).combine_chunks().to_batches()  # type: ignore[no-any-return]


def rows_without_reference(
    context: Context, owner: Table, names: Sequence[str], found: pa.Table, *, default: bool
) -> list[pa.RecordBatch]:
    """Referencing rows with NULL, or the defaults, in these columns."""
    binder = context.binder()
    rel = binder.new_rel()
    columns = table_columns(owner)
    targets: list[Expr] = []
    for index, column in enumerate(owner.columns):
        if column.name not in names:
            targets.append(Column(rel, index, column.type))
        else:
            targets.append(bind_column_default(binder, column) if default else Constant(None, column.type))
    query = Select(columns, tuple(targets), FrameScan(rel, _KEYS, columns))
    rows = _rename(found.select(range(2, 2 + len(columns))), columns)
    return fetch_query(context, query, {_KEYS: rows}).to_batches()  # type: ignore[no-any-return]


def _equal(binder: Binder, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
    return conjunction([apply_operator(binder, "=", one, other) for one, other in zip(left, right, strict=True)])


def _columns(table: Table, rel: int, names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(
        Column(rel, index, table.columns[index].type, table.columns[index].name) for index in _indexes(table, names)
    )


def _key_columns(referenced: Table, foreign: ForeignKey) -> tuple[OutputColumn, ...]:
    types = {column.name: column.type for column in referenced.columns}
    return tuple(OutputColumn(f"k{n}", types[name]) for n, name in enumerate(foreign.referenced))


def _rename(table: pa.Table, columns: Sequence[OutputColumn]) -> pa.Table:
    return table.rename_columns([column.name for column in columns])

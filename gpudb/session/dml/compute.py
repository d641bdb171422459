"""Computation of INSERT, UPDATE, DELETE and MERGE: runs their queries and derives the rows to write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.triggers import DELETE, INSERT, UPDATE
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.apply import append_rows
from gpudb.session.dml.on_conflict import resolve_conflicts
from gpudb.session.dml.outcomes import Batches, TableChange, exclude_removed
from gpudb.session.dml.policy_checks import check_new_rows, check_old_rows
from gpudb.session.execution.locks_and_snapshots.row_waits import lock_rows
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.triggers.firing import fire_before_rows, fire_before_update, has_before_rows
from gpudb.session.triggers.rows import as_rows, put_rows, rename_rows
from gpudb.sql.bound import (
    CHANGED,
    Column,
    DataChange,
    Delete,
    Derived,
    Expr,
    FrameScan,
    Insert,
    Join,
    Merge,
    Scan,
    Select,
    Update,
)

Frames = Mapping[str, pa.Table]
_INSERT, _UPDATE, _DELETE = 1, 2, 3


def compute_change(context: Context, bound: DataChange, frames: Frames, earlier: Sequence[TableChange]) -> TableChange:
    """Computes a change over `frames`; `earlier` are the changes of the table by other parts of the statement."""
    removed = [each.removed for each in earlier if each.removed is not None]
    match bound:
        case Insert():
            rows = as_rows(bound.table, fetch_query(context, bound.query, frames).to_batches())
            if bound.table.triggers:
                rows, _ = fire_before_rows(context, bound.table, INSERT, rows, None, None, append_rows)
            list(check_new_rows(context, bound.check, bound.table, rows.to_batches()))
            if bound.on_conflict is not None:
                change = resolve_conflicts(context, bound, rows.to_batches(), frames, earlier)
                change.events = (UPDATE, INSERT) if bound.on_conflict.update else (INSERT,)
                return change
            batches = rows.combine_chunks().to_batches()
            stored = batches if bound.table.kind != "v" else []
            return TableChange(rows.num_rows, batches, inserted=stored, events=(INSERT,))
        case Update() | Delete():
            found = exclude_removed(fetch_query(context, bound.query, frames), 0, removed)
            if bound.table.kind != "v":
                lock_rows(context, bound.table, _positions(found, 0))
            if isinstance(bound, Delete):
                return _delete(context, bound, found)
            return _update(context, bound, found)
        case Merge():
            return _merge(context, bound, exclude_removed(fetch_query(context, bound.query, frames), 1, removed))


def _delete(context: Context, bound: Delete, found: pa.Table) -> TableChange:
    table = bound.table
    if has_before_rows(context, table, DELETE):
        old = rename_rows(table, found.select(range(2, 2 + len(table.columns))))
        _, kept = fire_before_rows(context, table, DELETE, None, old, None, append_rows)
        found = found.filter(pa.array(kept))
    if table.kind == "v":
        found = found.select(range(found.num_columns - len(table.columns)))
        return TableChange(found.num_rows, _rows(found, 2), events=(DELETE,))
    rows = _rows(found, 2)
    positions = _positions(found, 0)
    old = [batch.select(range(len(table.columns))) for batch in rows]
    return TableChange(found.num_rows, rows, positions, deleted=positions, events=(DELETE,), old=old)


def _update(context: Context, bound: Update, found: pa.Table) -> TableChange:
    table, assigned, width = bound.table, _assigned_columns(bound), len(bound.table.columns)
    old: pa.Table | None = None
    if table.kind == "v":
        last = found.num_columns - width
        old, found = found.select(range(last, last + width)), found.select(range(last))
    if has_before_rows(context, table, UPDATE, bound.named):
        found, _ = fire_before_update(context, table, found, 0, old, bound.named, append_rows)
        assigned = None
    rows = _rows(found, 2)
    if table.kind == "v":
        return TableChange(found.num_rows, rows, events=(UPDATE,), named=bound.named)
    positions, new = _positions(found, 0), _rows(found, 2, width)
    list(check_new_rows(context, bound.check, table, new))
    return TableChange(
        found.num_rows,
        rows,
        positions,
        new,
        assigned=assigned,
        updated_positions=positions,
        events=(UPDATE,),
        named=bound.named,
    )


def _merge(context: Context, bound: Merge, found: pa.Table) -> TableChange:
    action = found.column(0)
    removed = _positions(found.filter(pc.not_equal(action, _INSERT)), 1)
    lock_rows(context, bound.table, removed)
    for what, check in ((_UPDATE, bound.updated_check), (_DELETE, bound.deleted_check)):
        check_old_rows(context, check, bound.table, _positions(found.filter(pc.equal(action, what)), 1))
    if removed.group_by(["file", "row"]).aggregate([]).num_rows < removed.num_rows:
        message = "MERGE command cannot affect row a second time"
        hint = "Ensure that not more than one source row matches any one target row."
        raise SqlError.of("cardinality_violation", message, hint=hint)
    assigned: frozenset[str] | None = bound.assigned
    if bound.table.triggers:
        fires = has_before_rows(context, bound.table, UPDATE, bound.assigned)
        found, assigned = _fire_before_merge(context, bound, found), None if fires else assigned
        action = found.column(0)
        removed = _positions(found.filter(pc.not_equal(action, _INSERT)), 1)
    updated, inserted = (_rows(found.filter(pc.equal(action, what)), 3) for what in (_UPDATE, _INSERT))
    list(check_new_rows(context, bound.update_check, bound.table, updated))
    list(check_new_rows(context, bound.insert_check, bound.table, inserted))
    deleted = _positions(found.filter(pc.equal(action, _DELETE)), 1)
    updated_positions = _positions(found.filter(pc.equal(action, _UPDATE)), 1)
    return TableChange(
        found.num_rows,
        _rows(found, 3),
        removed,
        updated,
        inserted,
        deleted,
        assigned,
        updated_positions,
        events=bound.events[::-1],
        named=bound.assigned,
    )


def _fire_before_merge(context: Context, bound: Merge, found: pa.Table) -> pa.Table:
    """Fires the row-level triggers of each action; returns the rows that remain, in their order."""
    table = bound.table
    number = pa.array(np.arange(found.num_rows, dtype=np.int64))
    parts = []
    for what, event in ((_INSERT, INSERT), (_UPDATE, UPDATE), (_DELETE, DELETE)):
        chosen = pc.equal(found.column(0), what)
        part, numbers = found.filter(chosen), number.filter(chosen.combine_chunks())
        if event == UPDATE:
            part, kept = fire_before_update(context, table, part, 1, None, bound.assigned)
        else:
            rows = rename_rows(table, part.select(range(3, 3 + len(table.columns))))
            new, old = (rows, None) if event == INSERT else (None, rows)
            changed, kept = fire_before_rows(context, table, event, new, old)
            part = put_rows(part.filter(pa.array(kept)), 3, changed)
        parts.append(part.append_column("number", numbers.filter(pa.array(kept))))
    return pa.concat_tables(parts).sort_by("number").drop_columns(["number"])


def _positions(found: pa.Table, file: int) -> pa.Table:
    return pa.table({"file": found.column(file), "row": found.column(file + 1)})


def _rows(found: pa.Table, first: int, width: int | None = None) -> Batches:
    """The table's columns of the rows: those from `first` on, all or `width` of them."""
    last = found.num_columns if width is None else first + width
    batches: Batches = found.select(range(first, last)).combine_chunks().to_batches()
    return batches


def _assigned_columns(bound: Update) -> frozenset[str] | None:
    """The columns that an UPDATE may change; None if its query is no plain SELECT."""
    query = bound.query
    if not isinstance(query, Select):
        return None
    scans = set(_list_targets(query.source))
    return frozenset(
        column.name
        for index, column in enumerate(bound.table.columns)
        if not _is_column(query.targets[index + 2], scans, index)
    )


def _is_column(target: Expr, rels: set[int], index: int) -> bool:
    return isinstance(target, Column) and target.rel in rels and target.index == index


def _list_targets(source: object) -> Iterator[int]:
    """Yields the relations that stand for the target: scans with positions, also below barriers and policies."""
    if isinstance(source, Join):
        yield from _list_targets(source.left)
        yield from _list_targets(source.right)
    elif isinstance(source, Scan):
        yield from (source.rel,) if source.is_target else ()
    elif isinstance(source, Derived) and isinstance(source.query, Select):
        below = set(_list_targets(source.query.source))
        if below and all(_is_column(each, below, index) for index, each in enumerate(source.query.targets)):
            yield source.rel


def compute_returning(context: Context, bound: DataChange, rows: Batches, frames: Frames) -> pa.Table:
    """Evaluates RETURNING over the rows that a change wrote or deleted; columns c1, c2, …"""
    assert bound.returning is not None
    assert isinstance(bound.returning.source, FrameScan)
    columns = bound.returning.source.columns
    names = [column.name for column in columns]
    schema = pa.schema([pa.field(column.name, column.type.arrow) for column in columns])
    changed = pa.Table.from_batches([batch.rename_columns(names) for batch in rows], schema=schema)
    return fetch_query(context, bound.returning, {**frames, CHANGED: changed})

"""Computation of INSERT, UPDATE, DELETE and MERGE: runs their queries and derives the rows to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.on_conflict import resolve_conflicts
from gpudb.session.dml.outcomes import Batches, TableChange, exclude_removed
from gpudb.session.execution.queries import fetch_query
from gpudb.sql.bound import CHANGED, Column, DataChange, Delete, Expr, FrameScan, Insert, Merge, Scan, Select, Update

Frames = Mapping[str, pa.Table]
_INSERT, _UPDATE, _DELETE = 1, 2, 3


def compute_change(context: Context, bound: DataChange, frames: Frames, earlier: Sequence[TableChange]) -> TableChange:
    """Computes a change over `frames`; `earlier` are the changes of the table by other parts of the statement."""
    removed = [each.removed for each in earlier if each.removed is not None]
    match bound:
        case Insert():
            rows = fetch_query(context, bound.query, frames).to_batches()
            if bound.on_conflict is not None:
                return resolve_conflicts(context, bound, rows, frames, earlier)
            return TableChange(sum(batch.num_rows for batch in rows), rows, inserted=rows)
        case Update() | Delete():
            found = exclude_removed(fetch_query(context, bound.query, frames), 0, removed)
            rows, positions = _rows(found, 2), _positions(found, 0)
            if isinstance(bound, Delete):
                return TableChange(found.num_rows, rows, positions, deleted=positions)
            updated = _rows(found, 2, len(bound.table.columns))
            assigned = _assigned_columns(bound)
            return TableChange(found.num_rows, rows, positions, updated, assigned=assigned, updated_positions=positions)
        case Merge():
            return _merge(bound, exclude_removed(fetch_query(context, bound.query, frames), 1, removed))


def _merge(bound: Merge, found: pa.Table) -> TableChange:
    action = found.column(0)
    removed = _positions(found.filter(pc.not_equal(action, _INSERT)), 1)
    if removed.group_by(["file", "row"]).aggregate([]).num_rows < removed.num_rows:
        message = "MERGE command cannot affect row a second time"
        hint = "Ensure that not more than one source row matches any one target row."
        raise SqlError.of("cardinality_violation", message, hint=hint)
    updated, inserted = (_rows(found.filter(pc.equal(action, what)), 3) for what in (_UPDATE, _INSERT))
    deleted = _positions(found.filter(pc.equal(action, _DELETE)), 1)
    updated_positions = _positions(found.filter(pc.equal(action, _UPDATE)), 1)
    return TableChange(
        found.num_rows,
        _rows(found, 3),
        removed,
        updated,
        inserted,
        deleted,
        bound.assigned,
        updated_positions,
    )


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
    scans = {scan.rel for scan in _scans(query.source) if scan.row_ids}
    return frozenset(
        column.name
        for index, column in enumerate(bound.table.columns)
        if not _is_column(query.targets[index + 2], scans, index)
    )


def _is_column(target: Expr, rels: set[int], index: int) -> bool:
    return isinstance(target, Column) and target.rel in rels and target.index == index


def _scans(source: object) -> list[Scan]:
    if isinstance(source, Scan):
        return [source]
    sides = (getattr(source, "left", None), getattr(source, "right", None))
    return [scan for side in sides if side is not None for scan in _scans(side)]


def compute_returning(context: Context, bound: DataChange, rows: Batches, frames: Frames) -> pa.Table:
    """Evaluates RETURNING over the rows that a change wrote or deleted; columns c1, c2, …"""
    assert bound.returning is not None
    assert isinstance(bound.returning.source, FrameScan)
    columns = bound.returning.source.columns
    names = [column.name for column in columns]
    schema = pa.schema([pa.field(column.name, column.type.arrow) for column in columns])
    changed = pa.Table.from_batches([batch.rename_columns(names) for batch in rows], schema=schema)
    return fetch_query(context, bound.returning, {**frames, CHANGED: changed})

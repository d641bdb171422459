"""INSERT, UPDATE, DELETE and MERGE computed: their queries run, and what is to be written told from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.on_conflict import resolved
from gpudb.session.dml.outcomes import Batches, Outcome, left_alone
from gpudb.session.execution import execution
from gpudb.sql.bound import CHANGED, Column, DataChange, Delete, Expr, FrameScan, Insert, Merge, Scan, Select, Update

Frames = Mapping[str, pa.Table]
_INSERT, _UPDATE, _DELETE = 1, 2, 3


def computed(context: Context, bound: DataChange, frames: Frames, earlier: Sequence[Outcome]) -> Outcome:
    """What a change comes to, over `frames`; `earlier` parts of the statement have changed the table already."""
    gone = [each.gone for each in earlier if each.gone is not None]
    match bound:
        case Insert():
            rows = execution.gathered(context, bound.query, frames).to_batches()
            if bound.on_conflict is not None:
                return resolved(context, bound, rows, frames, earlier)
            return Outcome(sum(batch.num_rows for batch in rows), rows, added=rows)
        case Update() | Delete():
            found = left_alone(execution.gathered(context, bound.query, frames), 0, gone)
            rows, places = _rows(found, 2), _places(found, 0)
            if isinstance(bound, Delete):
                return Outcome(found.num_rows, rows, places, removed=places)
            fresh = _rows(found, 2, len(bound.table.columns))
            return Outcome(found.num_rows, rows, places, fresh, assigned=_assigned(bound), changed=places)
        case Merge():
            return _merged(bound, left_alone(execution.gathered(context, bound.query, frames), 1, gone))


def _merged(bound: Merge, found: pa.Table) -> Outcome:
    action = found.column(0)
    there = found.filter(pc.not_equal(action, _INSERT))
    places = _places(there, 1)
    if places.group_by(["file", "row"]).aggregate([]).num_rows < places.num_rows:
        message = "MERGE command cannot affect row a second time"
        hint = "Ensure that not more than one source row matches any one target row."
        raise SqlError.of("cardinality_violation", message, hint=hint)
    changed, added = (_rows(found.filter(pc.equal(action, what)), 3) for what in (_UPDATE, _INSERT))
    removed = _places(found.filter(pc.equal(action, _DELETE)), 1)
    updated = _places(found.filter(pc.equal(action, _UPDATE)), 1)
    return Outcome(found.num_rows, _rows(found, 3), places, changed, added, removed, bound.assigned, updated)


def _places(found: pa.Table, file: int) -> pa.Table:
    return pa.table({"file": found.column(file), "row": found.column(file + 1)})


def _rows(found: pa.Table, first: int, width: int | None = None) -> Batches:
    """The columns from `first` on, all or `width` of them: the table's."""
    last = found.num_columns if width is None else first + width
    batches: Batches = found.select(range(first, last)).combine_chunks().to_batches()
    return batches


def _assigned(bound: Update) -> frozenset[str] | None:
    """The columns that an UPDATE may change; None where the query does not tell."""
    query = bound.query
    if not isinstance(query, Select):
        return None
    scans = {scan.rel for scan in _scans(query.source) if scan.row_ids}
    return frozenset(
        column.name
        for place, column in enumerate(bound.table.columns)
        if not _is_column(query.targets[place + 2], scans, place)
    )


def _is_column(target: Expr, rels: set[int], place: int) -> bool:
    return isinstance(target, Column) and target.rel in rels and target.index == place


def _scans(source: object) -> list[Scan]:
    if isinstance(source, Scan):
        return [source]
    sides = (getattr(source, "left", None), getattr(source, "right", None))
    return [scan for side in sides if side is not None for scan in _scans(side)]


def returned(context: Context, bound: DataChange, rows: Batches, frames: Frames) -> pa.Table:
    """What RETURNING makes of the rows that a change wrote or removed, as columns c1, c2, …"""
    assert bound.returning is not None
    assert isinstance(bound.returning.source, FrameScan)
    columns = bound.returning.source.columns
    names = [column.name for column in columns]
    schema = pa.schema([pa.field(column.name, column.type.arrow) for column in columns])
    changed = pa.Table.from_batches([batch.rename_columns(names) for batch in rows], schema=schema)
    return execution.gathered(context, bound.returning, {**frames, CHANGED: changed})

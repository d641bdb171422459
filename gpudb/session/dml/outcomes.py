"""Computed changes of a table, complete before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.sql.bound import RowCheck

Batches = list[pa.RecordBatch]


@dataclass(slots=True)
class TableChange:
    """A computed change that affects `count` rows, which RETURNING sees as `rows`. Batches have the table's columns.

    Positions are a table of `file` and `row`. `removed` are the positions of all rows that leave their files, and
    `deleted` of those that are not replaced; `old` are these rows, if known. `updated` are the new versions of rows, in
    the order of their old `updated_positions`; `inserted` are new rows. `assigned` are the columns in which a new
    version may differ from the old one; None means all. `events` are those for which the statement-level triggers fire,
    in order, and `named` the columns that an UPDATE names; None means all. `view_check` is about the written rows.
    """

    count: int
    rows: Batches
    removed: pa.Table | None = None
    updated: Batches = field(default_factory=list)
    inserted: Batches = field(default_factory=list)
    deleted: pa.Table | None = None
    assigned: frozenset[str] | None = None
    updated_positions: pa.Table | None = None
    events: tuple[str, ...] = ()
    named: frozenset[str] | None = None
    view_check: RowCheck | None = None
    old: Batches | None = None

    def may_update(self, columns: Iterable[str]) -> bool:
        """Whether a new version may have another value in one of the columns."""
        return bool(self.updated) and (self.assigned is None or not self.assigned.isdisjoint(columns))


def exclude_removed(rows: pa.Table, file: int, removed: Sequence[pa.Table]) -> pa.Table:
    """Removes the rows whose positions, two columns from `file` on, are in one of the tables `removed`.

    If two parts of a statement change a row, the first one does.
    """
    for positions in removed:
        for path in pc.unique(positions["file"]).to_pylist():
            numbers = positions.filter(pc.equal(positions["file"], path))["row"]
            same_file = pc.equal(rows.column(file), path)
            same = pc.and_(same_file, pc.is_in(rows.column(file + 1), numbers.combine_chunks()))
            rows = rows.filter(pc.invert(pc.fill_null(same, False)))
    return rows

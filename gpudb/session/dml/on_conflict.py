"""INSERT … ON CONFLICT: which of the proposed rows are written, which change a row that is there, and which neither."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.outcomes import Outcome, left_alone
from gpudb.session.dml.row_checks import checked
from gpudb.session.execution.execution import gathered
from gpudb.sql.bound import NEW_ROWS, ROW_NUMBER, FrameScan, Insert, OnConflict
from gpudb.sql.traverse import walk

Numbers = npt.NDArray[np.int64]


def resolved(
    context: Context,
    bound: Insert,
    rows: Sequence[pa.RecordBatch],
    given: Mapping[str, pa.Table],
    earlier: Sequence[Outcome],
) -> Outcome:
    """What becomes of an INSERT's rows, all of them checked first, as if they were all to be written.

    `earlier` parts of the statement have changed the table already. 23502, 23514; 21000 for a row that DO UPDATE would
    change twice, or insert and then change.
    """
    conflict = bound.on_conflict
    assert conflict is not None
    names = [column.name for column in bound.table.columns]
    schema = pa.schema([pa.field(c.name, c.type.arrow) for c in bound.table.columns])

    def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches([batch.rename_columns(names) for batch in batches], schema=schema)

    proposed = table(checked(context, bound.table, rows, nulls=True))
    written = table(batch for each in earlier for batch in (*each.fresh, *each.added))
    gone = [each.gone for each in earlier if each.gone is not None]
    met = left_alone(gathered(context, conflict.conflicts, {**given, NEW_ROWS: _numbered(proposed)}), 1, gone)
    groups, again = _groups(context, conflict, given, written, proposed)
    blocked = again.copy()
    blocked[met.column(0).to_numpy()] = True
    if not conflict.update:
        kept = proposed.filter(pa.array(_first_of_each(groups, blocked)))
        return Outcome(kept.num_rows, kept.to_batches(), added=kept.to_batches())
    if again.any() and not _reads_parts(conflict):
        raise _twice()
    _check_once(groups[0], blocked, met)
    allowed = met.filter(met.column(3))
    changed = allowed.select(range(4, allowed.num_columns)).rename_columns(names).cast(schema)
    inserted = proposed.filter(pa.array(~blocked))
    rows_now = pa.concat_tables([inserted, changed])
    numbers = np.concatenate([np.flatnonzero(~blocked), allowed.column(0).to_numpy()])
    rows_now = rows_now.take(pa.array(np.argsort(numbers, kind="stable")))
    gone = pa.table({"file": allowed.column(1), "row": allowed.column(2)})
    return Outcome(
        rows_now.num_rows,
        rows_now.combine_chunks().to_batches(),
        gone,
        changed.to_batches(),
        inserted.to_batches(),
        assigned=conflict.assigned,
        changed=gone,
    )


def _numbered(rows: pa.Table) -> pa.Table:
    return rows.append_column(ROW_NUMBER, pa.array(np.arange(rows.num_rows, dtype=np.int64)))


def _groups(
    context: Context, conflict: OnConflict, given: Mapping[str, pa.Table], written: pa.Table, proposed: pa.Table
) -> tuple[list[Numbers], npt.NDArray[np.bool_]]:
    """For each key the first proposed row that has it, by rows; and which rows have a key of those `written`."""
    before, count = written.num_rows, proposed.num_rows
    every = pa.concat_tables([written, proposed])
    firsts = gathered(context, conflict.same_keys, {**given, NEW_ROWS: _numbered(every)}).sort_by("c1")
    held = [column.to_numpy()[before:] - before for column in firsts.columns[1:]]
    again = np.zeros(count, dtype=bool)
    for first in held:
        again |= first < 0
    return [np.where(first < 0, np.arange(count), first) for first in held], again


def _reads_parts(conflict: OnConflict) -> bool:
    """Whether SET reads another part of the statement: PostgreSQL carries that one out while it has the row in hand,
    and then finds the row changed and lets it be."""
    return any(isinstance(node, FrameScan) and node.name != NEW_ROWS for node in walk(conflict.conflicts))


def _first_of_each(groups: Sequence[Numbers], blocked: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The rows that are written: not blocked, and no earlier one that is written has a key in common."""
    own = np.arange(len(blocked))
    if len(groups) == 1:
        kept: npt.NDArray[np.bool_] = ~blocked & (groups[0] == own)
        return kept
    kept = ~blocked
    shared = np.zeros(len(blocked), dtype=bool)
    for first in groups:
        shared |= np.bincount(first, minlength=len(blocked))[first] > 1
    taken: list[set[Any]] = [set() for _ in groups]
    # A row that is left out takes no key: so they are gone through in order, those alone that share one.
    for row in np.flatnonzero(shared & kept):
        keys = [first[row] for first in groups]
        if any(key in seen for key, seen in zip(keys, taken, strict=True)):
            kept[row] = False
        else:
            for key, seen in zip(keys, taken, strict=True):
                seen.add(key)
    return kept


def _check_once(first: Numbers, blocked: npt.NDArray[np.bool_], met: pa.Table) -> None:
    """21000 if a row that this command has written or changed would be changed by a later one."""
    count = len(first)
    last = np.zeros(count, dtype=np.int64)
    np.maximum.at(last, first, np.arange(count))
    earlier = last[first] > np.arange(count)
    writes = ~blocked
    allowed = met.filter(met.column(3)).column(0).to_numpy()
    writes[allowed] = True
    if (earlier & writes).any():
        raise _twice()


def _twice() -> SqlError:
    hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
    message = "ON CONFLICT DO UPDATE command cannot affect row a second time"
    return SqlError.of("cardinality_violation", message, hint=hint)

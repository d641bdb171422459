"""INSERT … ON CONFLICT: which of the proposed rows are written, which change a row that is there, and which neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.execution import gathered
from gpudb.session.outcomes import Outcome
from gpudb.session.row_checks import checked
from gpudb.sql.bound import NEW_ROWS, ROW_NUMBER, Insert

Numbers = npt.NDArray[np.int64]


def resolved(context: Context, bound: Insert, rows: Sequence[pa.RecordBatch], given: Mapping[str, pa.Table]) -> Outcome:
    """What becomes of an INSERT's rows, all of them checked first, as if they were all to be written.

    23502, 23514; 21000 for a row that DO UPDATE would change twice, or insert and then change.
    """
    assert bound.on_conflict is not None
    names = [column.name for column in bound.table.columns]
    schema = pa.schema([pa.field(c.name, c.type.arrow) for c in bound.table.columns])
    passed = checked(context, bound.table, rows, nulls=True)
    proposed = pa.Table.from_batches([batch.rename_columns(names) for batch in passed], schema=schema)
    count = proposed.num_rows
    frame = proposed.append_column(ROW_NUMBER, pa.array(np.arange(count, dtype=np.int64)))
    frames = {**given, NEW_ROWS: frame}
    met = gathered(context, bound.on_conflict.conflicts, frames)
    firsts = gathered(context, bound.on_conflict.same_keys, frames).sort_by("c1")
    groups = [column.to_numpy() for column in firsts.columns[1:]]
    blocked = np.zeros(count, dtype=bool)
    blocked[met.column(0).to_numpy()] = True
    if not bound.on_conflict.update:
        kept = proposed.filter(pa.array(_first_of_each(groups, blocked)))
        return Outcome(kept.num_rows, kept.to_batches(), added=kept.to_batches())
    _check_once(groups[0], blocked, met)
    allowed = met.filter(met.column(1))
    changed = allowed.select(range(4, allowed.num_columns)).rename_columns(names).cast(schema)
    inserted = proposed.filter(pa.array(~blocked))
    rows_now = pa.concat_tables([inserted, changed])
    numbers = np.concatenate([np.flatnonzero(~blocked), allowed.column(0).to_numpy()])
    rows_now = rows_now.take(pa.array(np.argsort(numbers, kind="stable")))
    gone = pa.table({"file": allowed.column(2), "row": allowed.column(3)})
    return Outcome(
        rows_now.num_rows,
        rows_now.combine_chunks().to_batches(),
        gone,
        changed.to_batches(),
        inserted.to_batches(),
        assigned=bound.on_conflict.assigned,
        changed=gone,
    )


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
    allowed = met.filter(met.column(1)).column(0).to_numpy()
    writes[allowed] = True
    if (earlier & writes).any():
        hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
        message = "ON CONFLICT DO UPDATE command cannot affect row a second time"
        raise SqlError.of("cardinality_violation", message, hint=hint)

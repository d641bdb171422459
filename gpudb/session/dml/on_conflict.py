"""INSERT … ON CONFLICT: decides which rows are inserted, which update an existing row, and which are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.triggers import UPDATE
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.key_waits import reserve_keys
from gpudb.session.dml.outcomes import TableChange, exclude_removed
from gpudb.session.dml.policy_checks import check_new_rows, check_old_rows
from gpudb.session.dml.row_checks import check_batches
from gpudb.session.execution.locks_and_snapshots.row_waits import lock_rows
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.triggers.firing import fire_before_update, has_before_rows
from gpudb.sql.bound import NEW_ROWS, ROW_NUMBER, FrameScan, Insert, OnConflict
from gpudb.sql.traverse import walk

Numbers = npt.NDArray[np.int64]


def resolve_conflicts(
    context: Context,
    bound: Insert,
    rows: Sequence[pa.RecordBatch],
    frames: Mapping[str, pa.Table],
    earlier: Sequence[TableChange],
) -> TableChange:
    """Computes the change of an INSERT with ON CONFLICT, after checks of all proposed rows as if all were inserted.

    `earlier` are the changes of the table by other parts of the statement. 23502, 23514; 21000 for a row that DO UPDATE
    would update twice, or insert and then update.
    """
    conflict = bound.on_conflict
    assert conflict is not None
    names = [column.name for column in bound.table.columns]
    schema = pa.schema([pa.field(c.name, c.type.arrow) for c in bound.table.columns])

    def table(batches: Iterable[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches([batch.rename_columns(names) for batch in batches], schema=schema)

    proposed = table(check_batches(context, bound.table, rows, nulls=True))
    reserve_keys(context, bound.table, proposed.to_batches())
    written = table(batch for each in earlier for batch in (*each.updated, *each.inserted))
    removed = [each.removed for each in earlier if each.removed is not None]
    conflicts = fetch_query(context, conflict.conflicts, {**frames, NEW_ROWS: _number_rows(proposed)})
    conflicts = exclude_removed(conflicts, 1, removed)
    firsts, repeats_written = _first_rows_of_keys(context, conflict, frames, written, proposed)
    blocked = repeats_written.copy()
    blocked[conflicts.column(0).to_numpy()] = True
    if not conflict.update:
        pairs = _list_pairs(context, conflict, frames, written, proposed)
        inserted = proposed.filter(pa.array(_first_of_each_key(firsts, blocked, pairs)))
        return TableChange(inserted.num_rows, inserted.to_batches(), inserted=inserted.to_batches())
    if repeats_written.any() and not _reads_other_parts(conflict):
        raise _second_time()
    _check_updated_once(firsts[0], blocked, conflicts)
    # PostgreSQL locks the rows that WHERE rejects too
    lock_rows(context, bound.table, conflicts.select([1, 2]))
    allowed = conflicts.filter(conflicts.column(3))
    check_old_rows(context, conflict.old_check, bound.table, allowed.select([1, 2]))
    assigned: frozenset[str] | None = conflict.assigned
    updated = allowed.select(range(4, allowed.num_columns)).rename_columns(names).cast(schema)
    if has_before_rows(context, bound.table, UPDATE, conflict.assigned):
        found = pa.concat_tables([allowed.select([1, 2])]).rename_columns(["file", "row"])
        for name in names:
            found = found.append_column(f"new {name}", updated.column(name))
        found, kept = fire_before_update(context, bound.table, found, 0, None, conflict.assigned)
        allowed, assigned = allowed.filter(pa.array(kept)), None
        updated = found.select(range(2, found.num_columns)).rename_columns(names)
    list(check_new_rows(context, conflict.new_check, bound.table, updated.to_batches()))
    inserted = proposed.filter(pa.array(~blocked))
    affected = pa.concat_tables([inserted, updated])
    numbers = np.concatenate([np.flatnonzero(~blocked), allowed.column(0).to_numpy()])
    affected = affected.take(pa.array(np.argsort(numbers, kind="stable")))
    positions = pa.table({"file": allowed.column(1), "row": allowed.column(2)})
    return TableChange(
        affected.num_rows,
        affected.combine_chunks().to_batches(),
        positions,
        updated.to_batches(),
        inserted.to_batches(),
        assigned=assigned,
        updated_positions=positions,
        named=conflict.assigned,
    )


def _number_rows(rows: pa.Table) -> pa.Table:
    return rows.append_column(ROW_NUMBER, pa.array(np.arange(rows.num_rows, dtype=np.int64)))


def _first_rows_of_keys(
    context: Context, conflict: OnConflict, frames: Mapping[str, pa.Table], written: pa.Table, proposed: pa.Table
) -> tuple[list[Numbers], npt.NDArray[np.bool_]]:
    """For each key, the number of the first proposed row with the same key; and the rows with a key in `written`."""
    before, count = written.num_rows, proposed.num_rows
    rows = pa.concat_tables([written, proposed])
    table = fetch_query(context, conflict.same_keys, {**frames, NEW_ROWS: _number_rows(rows)}).sort_by("c1")
    firsts = [column.to_numpy()[before:] - before for column in table.columns[1:]]
    repeats_written = np.zeros(count, dtype=bool)
    for first in firsts:
        repeats_written |= first < 0
    return [np.where(first < 0, np.arange(count), first) for first in firsts], repeats_written


def _list_pairs(
    context: Context, conflict: OnConflict, frames: Mapping[str, pa.Table], written: pa.Table, proposed: pa.Table
) -> Mapping[int, list[int]]:
    """The earlier rows, by the number of each proposed row, that exclude it; of `written` they are negative."""
    found: dict[int, list[int]] = {}
    if conflict.pairs is not None:
        rows = _number_rows(pa.concat_tables([written, proposed]))
        pairs = fetch_query(context, conflict.pairs, {**frames, NEW_ROWS: rows})
        before = written.num_rows
        for later, earlier in zip(pairs.column(0).to_pylist(), pairs.column(1).to_pylist(), strict=True):
            if later >= before:
                found.setdefault(later - before, []).append(earlier - before)
    return found


def _reads_other_parts(conflict: OnConflict) -> bool:
    """Whether SET reads another part of the statement.

    PostgreSQL runs that part while it updates the row, then finds the row changed and skips the update.
    """
    return any(isinstance(node, FrameScan) and node.name != NEW_ROWS for node in walk(conflict.conflicts))


def _first_of_each_key(
    firsts: Sequence[Numbers], blocked: npt.NDArray[np.bool_], pairs: Mapping[int, list[int]]
) -> npt.NDArray[np.bool_]:
    """The rows to insert: not blocked, and no earlier inserted row has one of their keys, or excludes them."""
    numbers = np.arange(len(blocked))
    if len(firsts) == 1 and not pairs:
        inserted: npt.NDArray[np.bool_] = ~blocked & (firsts[0] == numbers)
        return inserted
    inserted = ~blocked
    shared = np.zeros(len(blocked), dtype=bool)
    for first in firsts:
        shared |= np.bincount(first, minlength=len(blocked))[first] > 1
    shared[list(pairs)] = True
    taken: list[set[Any]] = [set() for _ in firsts]
    # A skipped row takes no key, so rows that share a key are decided in order.
    for row in np.flatnonzero(shared & inserted):
        keys = [first[row] for first in firsts]
        excluded = any(other < 0 or inserted[other] for other in pairs.get(int(row), ()))
        if excluded or any(key in seen for key, seen in zip(keys, taken, strict=True)):
            inserted[row] = False
        else:
            for key, seen in zip(keys, taken, strict=True):
                seen.add(key)
    return inserted


def _check_updated_once(first: Numbers, blocked: npt.NDArray[np.bool_], conflicts: pa.Table) -> None:
    """21000 if a row that this command inserted or updated would be updated by a later row."""
    count = len(first)
    last = np.zeros(count, dtype=np.int64)
    np.maximum.at(last, first, np.arange(count))
    has_later = last[first] > np.arange(count)
    writes = ~blocked
    writes[conflicts.filter(conflicts.column(3)).column(0).to_numpy()] = True
    if (has_later & writes).any():
        raise _second_time()


def _second_time() -> SqlError:
    hint = "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
    message = "ON CONFLICT DO UPDATE command cannot affect row a second time"
    return SqlError.of("cardinality_violation", message, hint=hint)

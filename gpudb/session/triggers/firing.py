"""The triggers of one statement: before it, for each row before that is written, and after all rows are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, BEFORE, DELETE, INSERT, INSTEAD, UPDATE, Trigger
from gpudb.plpgsql.records import Record
from gpudb.session.context import Context
from gpudb.session.execution.requests.requests import fetch_from_engine
from gpudb.session.triggers.calls import Firing, Transition, check_condition, find_triggers
from gpudb.session.triggers.partitions import fire_in_partitions, split_rows, to_partition
from gpudb.session.triggers.rows import as_records, fetch_rows, from_records, put_rows, rename_rows
from gpudb.session.triggers.set_based import Append, run_for_rows
from gpudb.sql.bind.dml.generated_columns import compute_columns
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bound import NEW_ROWS, FrameScan, Select

Mask = npt.NDArray[np.bool_]


# ---- statements


def fire_for_statement(
    context: Context,
    table: Table,
    event: str,
    timing: str,
    assigned: frozenset[str] | None = None,
    transition: Transition = (None, None),
) -> None:
    """Fires the statement-level triggers of an event."""
    for trigger in find_triggers(context, table, event, timing, for_each_row=False, assigned=assigned):
        holds = check_condition(context, table, trigger, None, None)
        if holds is None or holds[0]:
            Firing(context, table, trigger, event, transition if timing == AFTER else None).run()


# ---- rows, before they are written


def has_before_rows(context: Context, table: Table, event: str, assigned: frozenset[str] | None = None) -> bool:
    """Whether row-level triggers fire before, or instead of, an event."""
    return bool(_before_triggers(context, table, event, assigned))


def _before_triggers(context: Context, table: Table, event: str, assigned: frozenset[str] | None) -> list[Trigger]:
    timing = INSTEAD if table.kind == "v" else BEFORE
    return find_triggers(context, table, event, timing, for_each_row=True, assigned=assigned)


def fire_before_rows(
    context: Context,
    table: Table,
    event: str,
    new: pa.Table | None,
    old: pa.Table | None,
    assigned: frozenset[str] | None = None,
    append: Append | None = None,
) -> tuple[pa.Table, Mask]:
    """Fires the row-level triggers before an event, or instead of it, for rows of the table's columns.

    Returns the rows to write, or of a DELETE those to delete, and for each given row whether it is among them.
    """
    triggers = _before_triggers(context, table, event, assigned)
    rows = old if new is None else new
    assert rows is not None
    count, zone = rows.num_rows, context.session.settings["timezone"]
    if not triggers or not count:
        return rows, np.ones(count, dtype=bool)
    if table.partitioned_by is not None:

        def fire(leaf: Table, part: pa.Table | None, before: pa.Table | None) -> tuple[pa.Table, Mask]:
            return fire_before_rows(context, leaf, event, part, before, assigned, append)

        return fire_in_partitions(context, table, event, new, old, fire)
    if append is not None:
        done = _fire_set_based(context, table, event, new, old, triggers, append)
        if done is not None:
            return done
    generated = [place for place, column in enumerate(table.columns) if column.generated is not None]
    if new is not None and table.kind != "v":
        for place in generated:  # they are computed after the triggers
            field_ = pa.field(table.columns[place].name, table.columns[place].type.arrow)
            new = new.set_column(place, field_, pa.nulls(count, field_.type))
    news, olds = as_records(table, new, count, zone), as_records(table, old, count, zone)
    given = news if new is not None else olds
    firings = [Firing(context, table, trigger, event, assigned=assigned) for trigger in triggers]
    conditions = [check_condition(context, table, trigger, new, old) for trigger in triggers]
    results: list[Record | None] = []
    for place, first in enumerate(given):
        context.cancel.check()
        current = first
        for firing, holds in zip(firings, conditions, strict=True):
            fires = holds is None or holds[place]
            if holds is not None and current is not first and current is not None:
                fires = _check_again(context, table, firing.trigger, current, old, place)
            if not fires:
                continue
            found = firing.run(current if new is not None else None, olds[place])
            if found is not None and generated and new is not None and table.kind != "v":
                found = _without_values(found, generated)
            current = found if found is None or new is not None else current
            if current is None:
                break
        results.append(current)
    kept = np.array([each is not None for each in results], dtype=bool)
    if new is None:
        return rows.filter(pa.array(kept)), kept
    before = [each for each, keep in zip(given, kept, strict=True) if keep]
    changed = from_records(table, [each for each in results if each is not None], new.filter(pa.array(kept)), before)
    if generated and table.kind != "v":
        changed = _compute_generated(context, table, changed)
    return changed, kept


def _fire_set_based(
    context: Context,
    table: Table,
    event: str,
    new: pa.Table | None,
    old: pa.Table | None,
    triggers: Sequence[Trigger],
    append: Append,
) -> tuple[pa.Table, Mask] | None:
    """Fires triggers for all rows at once, one trigger after the other; None if one has to run row by row.

    Several triggers may insert into the same table, where the order of their rows would be seen.
    """
    rows = old if new is None else new
    assert rows is not None
    generated = any(column.generated is not None for column in table.columns)
    if table.kind == "v" or len(triggers) > 1 or generated or triggers[0].condition is not None:
        return None
    found = run_for_rows(context, table, triggers[0], event, new, old, append)
    if found is None:
        return None
    changed, kept = found
    return changed.filter(kept), np.array(kept.to_pylist(), dtype=bool)


def fire_before_update(
    context: Context,
    table: Table,
    found: pa.Table,
    first: int,
    old: pa.Table | None = None,
    named: frozenset[str] | None = None,
    append: Append | None = None,
) -> tuple[pa.Table, Mask]:
    """Fires the row-level triggers before an UPDATE, or instead of it.

    `found` has the file and the number of each row in columns `first` and `first + 1`, then the table's new columns.
    Without `old` the old rows are read. Returns what is to be written of `found`, and for each row whether it is.
    """
    if not has_before_rows(context, table, UPDATE, named) or not found.num_rows:
        return found, np.ones(found.num_rows, dtype=bool)
    new = rename_rows(table, found.select(range(first + 2, first + 2 + len(table.columns))))
    if old is None:
        positions = pa.table({"file": found.column(first), "row": found.column(first + 1)})
        old = fetch_rows(context, table, positions)
    changed, kept = fire_before_rows(context, table, UPDATE, new, rename_rows(table, old), named, append)
    return put_rows(found.filter(pa.array(kept)), first + 2, changed), kept


def _without_values(row: Record, places: Sequence[int]) -> Record:
    """Returns a row with NULL at these places."""
    if all(row.values[place] is None for place in places):
        return row
    values = [None if place in places else value for place, value in enumerate(row.values)]
    return Record(row.names, row.types, values)


def _check_again(
    context: Context, table: Table, trigger: Trigger, current: Record, old: pa.Table | None, place: int
) -> bool:
    """Whether the condition of a trigger holds for a row that an earlier trigger has changed."""
    rows = old.slice(place, 1) if old is not None else None
    found = check_condition(context, table, trigger, from_records(table, [current]), rows)
    return found is None or found[0]


def _compute_generated(context: Context, table: Table, rows: pa.Table) -> pa.Table:
    binder = context.binder()
    columns, rel = table_columns(table), binder.new_rel()
    query = Select(columns, compute_columns(binder, table.name, table.columns, rel), FrameScan(rel, NEW_ROWS, columns))
    return fetch_from_engine(context, query, {NEW_ROWS: rows}).rename_columns([column.name for column in columns])


# ---- after the statement


@dataclass(slots=True)
class RowEvents:
    """Rows of a table for which one event has happened: their old and new versions."""

    event: str
    new: pa.Table | None = None
    old: pa.Table | None = None

    @property
    def count(self) -> int:
        """The number of rows."""
        rows = self.new if self.new is not None else self.old
        return 0 if rows is None else rows.num_rows


@dataclass(slots=True)
class AfterEvents:
    """What a change of a table leaves to its AFTER triggers: `events` of the statement, and those of rows."""

    table: Table
    events: tuple[str, ...]
    named: frozenset[str] | None
    rows: list[RowEvents] = field(default_factory=list)


def needs_rows_after(context: Context, table: Table, event: str) -> bool:
    """Whether AFTER triggers of an event need the rows: row-level ones, and those with transition tables."""
    if not table.triggers:
        return False
    if find_triggers(context, table, event, AFTER, for_each_row=True):
        return True
    found = find_triggers(context, table, event, AFTER, for_each_row=False)
    return any(each.old_table or each.new_table for each in found)


def collect_row_events(
    context: Context,
    table: Table,
    inserted: Callable[[], pa.Table],
    updated: Callable[[], pa.Table],
    updated_positions: pa.Table | None,
    deleted_positions: pa.Table | None,
) -> list[RowEvents]:
    """Returns the rows of each event that AFTER triggers need; call it before the rows are written."""
    found = []
    if needs_rows_after(context, table, UPDATE) and updated_positions is not None:
        found.append(RowEvents(UPDATE, updated(), fetch_rows(context, table, updated_positions)))
    if needs_rows_after(context, table, INSERT):
        found.append(RowEvents(INSERT, inserted()))
    if needs_rows_after(context, table, DELETE) and deleted_positions is not None:
        found.append(RowEvents(DELETE, None, fetch_rows(context, table, deleted_positions)))
    return found


def fire_after(context: Context, pending: Sequence[AfterEvents], append: Append) -> None:
    """Fires AFTER triggers once everything is written: of each change those of rows first, then of the statement."""
    for each in _merge(pending):
        for rows in each.rows:
            _fire_after_rows(context, each, rows, append)
        for event in each.events:
            fire_for_statement(context, each.table, event, AFTER, each.named, _transition(each, event))


def _merge(pending: Sequence[AfterEvents]) -> list[AfterEvents]:
    """Returns one element a table: changes of a table by one statement have one transition table an event."""
    found: dict[int, AfterEvents] = {}
    for each in pending:
        known = found.setdefault(each.table.oid, AfterEvents(each.table, (), frozenset()))
        known.events += tuple(event for event in each.events if event not in known.events)
        if UPDATE in each.events:
            known.named = None if known.named is None or each.named is None else known.named | each.named
        for rows in each.rows:
            same = next((other for other in known.rows if other.event == rows.event), None)
            if same is None:
                known.rows.append(RowEvents(rows.event, rows.new, rows.old))
                continue
            same.new = rows.new if same.new is None or rows.new is None else pa.concat_tables([same.new, rows.new])
            same.old = rows.old if same.old is None or rows.old is None else pa.concat_tables([same.old, rows.old])
    return list(found.values())


def _transition(after: AfterEvents, event: str) -> Transition:
    found = next((each for each in after.rows if each.event == event), None)
    if found is None:
        return None, None
    return found.old, found.new


def _fire_after_rows(context: Context, after: AfterEvents, rows: RowEvents, append: Append) -> None:
    table, zone = after.table, context.session.settings["timezone"]
    triggers = find_triggers(context, table, rows.event, AFTER, for_each_row=True, assigned=after.named)
    if not triggers or not rows.count:
        return
    if table.partitioned_by is not None:
        given = rows.old if rows.old is not None else rows.new
        assert given is not None
        for leaf, places in list(split_rows(context, table, given)):
            taken = pa.array(places)
            new, old = (
                None if side is None else to_partition(table, leaf, side.take(taken)) for side in (rows.new, rows.old)
            )
            part = RowEvents(rows.event, new, old)
            _fire_after_rows(context, AfterEvents(leaf, after.events, after.named, [part]), part, append)
        return
    transition = _transition(after, rows.event)
    firings = [Firing(context, table, trigger, rows.event, transition) for trigger in triggers]
    conditions = [check_condition(context, table, trigger, rows.new, rows.old) for trigger in triggers]
    if len(triggers) == 1:
        new, old = (None if side is None else _choose(side, conditions[0]) for side in (rows.new, rows.old))
        if run_for_rows(context, table, triggers[0], rows.event, new, old, append) is not None:
            return
    news, olds = (as_records(table, side, rows.count, zone) for side in (rows.new, rows.old))
    for place in range(rows.count):
        context.cancel.check()
        for firing, holds in zip(firings, conditions, strict=True):
            if holds is None or holds[place]:
                firing.run(news[place], olds[place])


def _choose(rows: pa.Table, holds: Sequence[bool] | None) -> pa.Table:
    return rows if holds is None else rows.filter(pa.array(holds, pa.bool_()))

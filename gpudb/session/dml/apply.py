"""Application of computed changes: writes each table once, then enforces the foreign keys that the changes affect.

ON DELETE applies to deleted rows of a referenced table, ON UPDATE to changed keys: no action, restrict, cascade, set
null, set default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.model import Catalog
from gpudb.catalog.partition_trees import list_partitions
from gpudb.catalog.tables import DataFile, Table
from gpudb.catalog.triggers import BEFORE, DELETE, UPDATE
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.key_waits import reserve_ahead, reserve_keys, reserve_removed
from gpudb.session.dml.outcomes import Batches, TableChange
from gpudb.session.dml.policy_checks import check_new_rows
from gpudb.session.dml.references import (
    find_key_changes,
    find_missing_keys,
    find_referencing_rows,
    rows_with_new_keys,
    rows_without_reference,
)
from gpudb.session.dml.row_checks import check_batches
from gpudb.session.execution.locks_and_snapshots.row_waits import group_rows, holds_rows_alone, lock_rows
from gpudb.session.state.deferral import Change, ExclusionChange, ReferencedChange, ReferencingChange
from gpudb.session.triggers.firing import (
    AfterEvents,
    collect_row_events,
    fire_after,
    fire_before_rows,
    fire_for_statement,
)
from gpudb.session.triggers.partitions import check_not_moved
from gpudb.session.triggers.rows import as_rows, fetch_rows, rename_rows
from gpudb.storage.compaction import is_rewritten
from gpudb.storage.constraints.references import still_referenced_error
from gpudb.storage.constraints.reservations import MAX_KEYS


def apply_changes(context: Context, changes: Sequence[tuple[Table, TableChange]]) -> None:
    """Writes computed changes. 23502, 23503, 23505, 23514.

    Then it fires the AFTER triggers of the changes, and of those that foreign keys cause.
    """
    after: list[AfterEvents] = []
    _apply(context, changes, after)
    fire_after(context, after, append_rows)


def _apply(context: Context, changes: Sequence[tuple[Table, TableChange]], after: list[AfterEvents]) -> None:
    """Writes changes, and adds what they leave to AFTER triggers."""
    after += [_collect_events(context, table, change) for table, change in changes if table.triggers]
    changes = [(table, change) for table, change in changes if table.kind != "v"]
    for table, change in changes:
        _reserve_keys(context, table, change)
    key_changes = find_key_changes(context, changes)
    for each in key_changes:
        reserve_removed(context, each.referenced, each.foreign, each.keys)
    before = context.transaction.catalog
    for oid in dict.fromkeys(table.oid for table, _ in changes):
        _write_table(context, oid, [change for table, change in changes if table.oid == oid])
    for table, change in changes:
        list(check_new_rows(context, change.view_check, table, (*change.inserted, *change.updated)))
    _enforce_references(context, before, changes, key_changes, after)


def _reserve_keys(context: Context, table: Table, change: TableChange) -> None:
    """Waits for those who write the keys that a change adds to a table or takes from it."""
    reserve_keys(context, table, change.inserted)
    anew = [key for key in table.keys if change.may_update(key.columns)]
    foreign = [each for each in table.foreign_keys if change.may_update(each.columns)]
    excluding = [each for each in table.exclusions if change.may_update(each.columns)]
    reserve_keys(context, table, change.updated, anew, foreign, excluding, adds_rows=False)
    for positions, keys, exclusions, old in (
        (change.deleted, table.keys, table.exclusions, change.old),
        (change.updated_positions, anew, excluding, None),
    ):
        if not (keys or exclusions) or positions is None or table.temporary:
            continue
        if 0 < positions.num_rows <= MAX_KEYS:
            known = fetch_rows(context, table, positions).to_batches() if old is None else old
            reserve_keys(context, table, known, keys, (), exclusions, adds_rows=False)


def append_rows(context: Context, table: Table, batches: Sequence[pa.RecordBatch]) -> None:
    """Appends rows to a table without triggers. 23502, 23503, 23505, 23514."""
    before = context.transaction.table(table.oid)
    context.transaction.append(table.oid, reserve_ahead(context, table, check_batches(context, table, batches)))
    check_inserted(context, before)


def _collect_events(context: Context, table: Table, change: TableChange) -> AfterEvents:
    """Returns what a change leaves to the AFTER triggers of its table."""
    after = AfterEvents(table, change.events, change.named)
    if table.partitioned_by is not None:
        check_not_moved(context, table, change.updated, change.updated_positions)
    if table.kind != "v":
        after.rows = collect_row_events(
            context,
            table,
            lambda: as_rows(table, change.inserted),
            lambda: as_rows(table, change.updated),
            change.updated_positions,
            change.deleted,
        )
    return after


def _write_table(context: Context, oid: int, changes: Sequence[TableChange]) -> None:
    removed = [change.removed for change in changes if change.removed is not None and change.removed.num_rows]
    if removed:
        _replace_rows(context, context.transaction.table(oid), pa.concat_tables(removed), changes)
        context.session.database.store.activity.add_changes(
            oid,
            updated=sum(each.updated_positions.num_rows for each in changes if each.updated_positions is not None),
            deleted=sum(each.deleted.num_rows for each in changes if each.deleted is not None),
        )
    inserted = [batch for change in changes for batch in change.inserted]
    if inserted:
        # In separate files, so that only their keys are checked.
        context.transaction.append(oid, check_batches(context, context.transaction.table(oid), inserted))


def _replace_rows(context: Context, table: Table, removed: pa.Table, changes: Sequence[TableChange]) -> None:
    """Removes rows from their files and appends their new versions.

    A file of which many rows go is written anew without them, if no other transaction can have locked rows of it; of
    any other, the rows are listed as deleted.
    """
    updated = list(check_batches(context, table, [batch for change in changes for batch in change.updated]))
    table = context.transaction.table(table.oid)
    known = {file.path: file for file in table.files}
    deleted: dict[str, DeletedRows] = {}
    rewritten: list[DataFile] = []
    for path, rows in group_rows(removed):
        file = known.get(path)
        gone = DeletedRows.of(rows)
        if file is None or (file.deleted is not None and np.isin(rows, file.deleted.rows).any()):
            verb = "updated" if any(change.updated for change in changes) else "deleted"
            message = f"tuple to be {verb} was already modified by an operation triggered by the current command"
            hint = "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows."
            raise SqlError.of("triggered_data_change_violation", message, hint=hint)
        if file.deleted is not None:
            gone = DeletedRows.of(np.concatenate([file.deleted.rows, gone.rows]))
        stays = context.transaction.keeps_places or not is_rewritten(file, gone)
        if not stays and holds_rows_alone(context, table, file):
            rewritten.append(file)
        else:
            deleted[path] = gone
    ruled = [*(key.columns for key in table.keys), *(each.columns for each in table.exclusions)]
    check_keys = any(change.may_update(columns) for change in changes for columns in ruled)
    if not rewritten:
        context.transaction.replace(table.oid, (), updated, deleted=deleted, check_keys=check_keys)
        return
    survivors = context.session.database.cpu.remaining_rows(table, rewritten, removed, context.cancel)
    try:
        batches = _chain(survivors, updated)
        context.transaction.replace(table.oid, rewritten, batches, deleted=deleted, check_keys=check_keys)
    finally:
        survivors.close()


def _chain(*parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from part


# ---- foreign keys


def check_inserted(context: Context, before: Table) -> None:
    """23503 if a row added to a table since it was `before` references no row; notes what is checked at the end."""
    if before.exclusions:
        _defer_exclusions(context, context.transaction.table(before.oid))
    for foreign in context.transaction.table(before.oid).foreign_keys if before.foreign_keys else ():
        _check_or_defer(context, ReferencingChange(before.oid, foreign, before.files), [])


def check_deferred(context: Context, changes: Iterable[Change]) -> None:
    """23503, 23505 or 23P01 for deferred checks, of tables and constraints that still exist."""
    after: list[AfterEvents] = []
    for change in changes:
        owner = context.transaction.catalog.find_relation_by_oid(change.owner)
        if isinstance(change, ExclusionChange):
            rules = owner.exclusions if isinstance(owner, Table) else ()
            for rule in (each for each in rules if each.oid == change.exclusion.oid):
                context.transaction.check_exclusion(change.owner, rule)
            continue
        known = owner.foreign_keys if isinstance(owner, Table) else ()
        foreign = next((each for each in known if each.oid == change.foreign.oid), None)
        if foreign is not None and isinstance(change, ReferencingChange):
            context.transaction.check_references(change.owner, change.files, foreign)
        elif foreign is not None and isinstance(change, ReferencedChange):
            _run_action(context, replace(change, foreign=foreign), after)
    fire_after(context, after, append_rows)


def _defer_exclusions(context: Context, table: Table) -> None:
    """Notes the exclusions of a table, to which rows were added, that are checked at the end of the transaction."""
    deferred = context.session.deferred_checks
    for each in (table, *list_partitions(context.transaction.catalog, table)):
        for exclusion in each.exclusions if each.partitioned_by is None else ():
            if deferred.is_deferred(exclusion):
                deferred.add(ExclusionChange(each.oid, exclusion))


def _check_or_defer(context: Context, change: ReferencingChange | ReferencedChange, after: list[AfterEvents]) -> None:
    """Checks a change against its foreign key, or defers the check to the end of the transaction."""
    deferred = context.session.deferred_checks
    if deferred.is_deferred(change.foreign):
        deferred.add(change)
    elif isinstance(change, ReferencingChange):
        context.transaction.check_references(change.owner, change.files, change.foreign)
    else:
        _run_action(context, change, after)


def _enforce_references(
    context: Context,
    before: Catalog,
    changes: Sequence[tuple[Table, TableChange]],
    key_changes: Iterable[ReferencedChange],
    after: list[AfterEvents],
) -> None:
    """Runs the actions of ON DELETE and ON UPDATE, then the checks: 23503."""
    for each in sorted(key_changes, key=lambda each: each.action not in "cnd"):
        if each.action == "a":
            _check_or_defer(context, each, after)
        else:
            _run_action(context, each, after)
    for oid in dict.fromkeys(table.oid for table, _ in changes):
        known = before.find_relation_by_oid(oid)
        files: tuple[DataFile, ...] = known.files if isinstance(known, Table) else ()
        own = [change for table, change in changes if table.oid == oid]
        table = context.transaction.table(oid)
        if table.exclusions and any(change.inserted or change.updated for change in own):
            _defer_exclusions(context, table)
        for foreign in table.foreign_keys:
            if any(change.inserted or change.may_update(foreign.columns) for change in own):
                _check_or_defer(context, ReferencingChange(oid, foreign, files), after)


def _run_action(context: Context, change: ReferencedChange, after: list[AfterEvents]) -> None:
    """Runs the action of a foreign key for rows that reference changed keys: refuses, deletes or updates them."""
    action = change.action
    referenced = context.transaction.table(change.referenced)
    follows_update = not change.deleted and action in "cnd"
    keys = change.keys if action == "r" or follows_update else find_missing_keys(context, referenced, change)
    if not keys.num_rows:
        return
    owner = context.transaction.table(change.owner)
    found = find_referencing_rows(context, owner, change.foreign, referenced, keys, updated=follows_update)
    if not found.num_rows:
        return
    if action in "ar":
        width = 2 + len(owner.columns)
        row = found.select(range(width, found.num_columns)).combine_chunks().to_batches()[0]
        raise still_referenced_error(owner, change.foreign, referenced, row)
    lock_rows(context, owner, _positions(found))
    if action == "c" and change.deleted:
        _delete_referencing(context, owner, found, after)
        return
    columns = (change.deleted and change.foreign.delete_columns) or change.foreign.columns
    if action == "c":
        updated = rows_with_new_keys(owner, columns, found)
    else:
        updated = rows_without_reference(context, owner, columns, found, default=action == "d")
    _update_referencing(context, owner, found, updated, frozenset(columns), after)


def _delete_referencing(context: Context, owner: Table, found: pa.Table, after: list[AfterEvents]) -> None:
    if owner.triggers:
        fire_for_statement(context, owner, DELETE, BEFORE)
        old = rename_rows(owner, found.select(range(2, 2 + len(owner.columns))))
        _, kept = fire_before_rows(context, owner, DELETE, None, old, None, append_rows)
        found = found.filter(pa.array(kept))
    positions = _positions(found)
    change = TableChange(found.num_rows, [], positions, deleted=positions, events=(DELETE,))
    _apply(context, [(owner, change)], after)


def _update_referencing(
    context: Context,
    owner: Table,
    found: pa.Table,
    updated: Batches,
    columns: frozenset[str],
    after: list[AfterEvents],
) -> None:
    assigned: frozenset[str] | None = columns
    positions = _positions(found)
    if owner.triggers:
        fire_for_statement(context, owner, UPDATE, BEFORE, columns)
        old = rename_rows(owner, found.select(range(2, 2 + len(owner.columns))))
        rows, kept = fire_before_rows(context, owner, UPDATE, as_rows(owner, updated), old, columns, append_rows)
        positions, updated, assigned = positions.filter(pa.array(kept)), rows.combine_chunks().to_batches(), None
    change = TableChange(
        positions.num_rows,
        updated,
        positions,
        updated,
        assigned=assigned,
        updated_positions=positions,
        events=(UPDATE,),
        named=columns,
    )
    _apply(context, [(owner, change)], after)


def _positions(found: pa.Table) -> pa.Table:
    return pa.table({"file": found.column(0), "row": found.column(1)})

"""INSERT, UPDATE, DELETE and MERGE: an engine computes the rows, storage writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from gpudb.catalog.model_contents import make_content_error
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.relations import View
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, DELETE, INSERT, UPDATE, has_event
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.apply import apply_changes, check_inserted
from gpudb.session.dml.compute import Frames, compute_change, compute_returning
from gpudb.session.dml.outcomes import TableChange
from gpudb.session.dml.policy_checks import check_new_rows, note_violations
from gpudb.session.dml.row_checks import check_batches
from gpudb.session.execution.queries.queries import fetch_query, run_query
from gpudb.session.objects.relations import lock_table
from gpudb.session.results import Result, result_columns
from gpudb.session.triggers.firing import fire_for_statement
from gpudb.session.triggers.locks import list_changes, list_events, lock_trigger_targets, locks_target
from gpudb.sql.bind.dml.view_targets import find_base_table
from gpudb.sql.bound import DataChange, Delete, Insert, Merge, Part, Query, Scan, Statement, Update, WithChanges
from gpudb.sql.traverse import walk


def insert(context: Context) -> Result:
    """INSERT: rows stream from the engine into files.

    They are computed first if there is ON CONFLICT or WITH, or if RETURNING reads tables as they were before.
    """
    _lock_targets(context)
    bound = context.session.plan(context).bound
    if not isinstance(bound, Insert) or bound.on_conflict is not None or _reads_tables(bound.returning):
        return _run_change(context, bound)
    if has_event(bound.table.triggers, INSERT):
        return _run_change(context, bound)
    stream = run_query(context, bound.query)
    rows: list[pa.RecordBatch] = []
    batches: Iterable[pa.RecordBatch] = iter(stream)
    if bound.returning is not None:
        batches = _record(batches, rows)
    violations: list[SqlError] = []
    allowed = check_batches(context, bound.table, check_new_rows(context, bound.check, bound.table, batches))
    noted = note_violations(context, bound.view_check, bound.table, allowed, violations)
    try:
        count = context.transaction.append(bound.table.oid, noted)
    finally:
        stream.close()
    if violations:
        raise violations[0]
    check_inserted(context, bound.table)
    return _result(context, bound, count, rows, {})


def _reads_tables(query: Query | None) -> bool:
    return query is not None and any(isinstance(each, Scan) for each in walk(query))


def update_delete_or_merge(context: Context) -> Result:
    """UPDATE, DELETE and MERGE: the rows that change leave their files, and their new versions are appended."""
    _lock_targets(context)
    return _run_change(context, context.session.plan(context).bound)


def select_with_changes(context: Context) -> Result:
    """A SELECT whose WITH changes data."""
    _lock_targets(context)
    return _run_change(context, context.session.plan(context).bound)


def _run_change(context: Context, bound: Statement) -> Result:
    """Runs a change and those in its WITH: all are computed before anything is written."""
    whole = bound if isinstance(bound, WithChanges) else WithChanges((), bound)
    frames: dict[str, pa.Table] = {}
    changes: list[tuple[Table, TableChange]] = []
    _compute_parts(context, whole.parts, frames, changes)
    statement = whole.statement
    if isinstance(statement, DataChange):
        change = _compute(context, statement, frames, changes)
        result = _result(context, statement, change.count, change.rows, frames)
        _compute_parts(context, whole.after, frames, changes)
        apply_changes(context, changes)
        return result
    _compute_parts(context, whole.after, frames, changes)
    # The query reads the files from before the change, which exist until the transaction ends.
    stream = run_query(context, statement, frames)
    try:
        apply_changes(context, changes)
    except BaseException:
        stream.close()
        raise
    return Result("SELECT", result_columns(statement.columns), iter(stream), stream.close)


def _compute_parts(
    context: Context, parts: Iterable[Part], frames: dict[str, pa.Table], changes: list[tuple[Table, TableChange]]
) -> None:
    """Computes parts of a WITH and adds their rows to `frames`."""
    for name, part in parts:
        if not isinstance(part, DataChange):
            frames[name] = fetch_query(context, part, frames)
            continue
        change = _compute(context, part, frames, changes)
        if part.returning is not None:
            frames[name] = compute_returning(context, part, change.rows, frames)


def _compute(
    context: Context, bound: DataChange, frames: Frames, changes: list[tuple[Table, TableChange]]
) -> TableChange:
    earlier = [change for table, change in changes if table.oid == bound.table.oid]
    fire_before_statement(context, bound)
    change = compute_change(context, bound, frames, earlier)
    change.view_check = bound.view_check if isinstance(bound, Insert | Update) else None
    changes.append((bound.table, change))
    return change


def fire_before_statement(context: Context, bound: DataChange) -> None:
    """Fires the statement-level triggers before a change."""
    table = bound.table
    if not table.triggers:
        return
    match bound:
        case Insert():
            fire_for_statement(context, table, INSERT, BEFORE)
            if bound.on_conflict is not None and bound.on_conflict.update:
                fire_for_statement(context, table, UPDATE, BEFORE, bound.on_conflict.assigned)
        case Update():
            fire_for_statement(context, table, UPDATE, BEFORE, bound.named)
        case Delete():
            fire_for_statement(context, table, DELETE, BEFORE)
        case Merge():
            for event in bound.events:
                fire_for_statement(context, table, event, BEFORE, bound.assigned)


_TAGS = {Insert: "INSERT 0", Update: "UPDATE", Delete: "DELETE", Merge: "MERGE"}


def _result(context: Context, bound: DataChange, count: int, rows: list[pa.RecordBatch], frames: Frames) -> Result:
    """The result of a change: its command tag, or the rows of RETURNING."""
    tag = _TAGS[type(bound)]
    if bound.returning is None:
        return Result(f"{tag} {count}")
    returned = compute_returning(context, bound, rows, frames)
    return Result(tag, result_columns(bound.returning.columns), iter(returned.to_batches()))


def _lock_targets(context: Context) -> None:
    """Locks the tables whose rows may change, also by triggers; 25006 if a table may not be written.

    A transaction without changes then continues from what the writers before it committed.
    """
    session = context.session
    command = context.statement.kind.removesuffix("Stmt").upper()
    for node in list_changes(context.statement.node):
        relation = context.transaction.catalog.find(
            node.relation.relname,
            (node.relation.schemaname,) if node.relation.schemaname else session.search_path(),
        )
        if isinstance(relation, View) and relation.triggers:
            context.check_writable(command)
            lock_trigger_targets(context, relation, list_events(node))
        relation = find_base_table(context.transaction.catalog, relation)
        if relation is None:
            continue
        if relation.schema == CONTENT_SCHEMA:
            raise make_content_error(relation.name)
        if not relation.temporary:
            context.check_writable(command)
        if locks_target(node):
            lock_table(context, relation)
        lock_trigger_targets(context, relation, list_events(node))


def _record(batches: Iterable[pa.RecordBatch], record: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        record.append(batch)
        yield batch

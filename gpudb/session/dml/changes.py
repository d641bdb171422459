"""INSERT, UPDATE, DELETE and MERGE: an engine computes the rows, storage writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from gpudb.catalog.model_contents import make_content_error
from gpudb.catalog.models import CONTENT_SCHEMA
from gpudb.catalog.relations import View
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import BEFORE, DELETE, INSERT, UPDATE, has_event
from gpudb.engine.cpu.values_tables import make_plain_rows, values_table
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context
from gpudb.session.cursors.current_row import run_at_cursor
from gpudb.session.dml.apply import apply_changes, check_inserted
from gpudb.session.dml.compute import Frames, compute_change, compute_returning
from gpudb.session.dml.key_waits import reserve_ahead, reserve_keys
from gpudb.session.dml.outcomes import TableChange
from gpudb.session.dml.policy_checks import check_new_rows, note_violations
from gpudb.session.dml.row_checks import check_batches
from gpudb.session.dml.wide_columns import run_change
from gpudb.session.execution.binding.literal_rows import find_frame, is_over_literal_rows, make_literal_rows
from gpudb.session.execution.queries.queries import fetch_query, run_query
from gpudb.session.results import Result, result_columns
from gpudb.session.triggers.firing import fire_for_statement
from gpudb.sql.bind.dml.view_targets import find_base_table
from gpudb.sql.bound import (
    DataChange,
    Delete,
    Insert,
    Merge,
    Part,
    Query,
    Scan,
    Select,
    Statement,
    Update,
    Values,
    WithChanges,
)
from gpudb.sql.parse.parser import inner
from gpudb.sql.traverse import walk
from gpudb.storage.plain_rows import PlainRows, table_schema


def insert(context: Context) -> Result:
    """INSERT: rows stream from the engine into files.

    They are computed first if there is ON CONFLICT or WITH, or if RETURNING reads tables as they were before.
    """
    _check_targets(context)
    return run_change(context, lambda: _insert(context))


def _insert(context: Context) -> Result:
    bound = context.session.plan(context).bound
    if context.parameter_rows and not (isinstance(bound, Insert) and _is_stored_as_it_comes(bound)):
        raise FeatureNotSupported("several executions of this statement cannot run together")
    if not isinstance(bound, Insert) or bound.on_conflict is not None or _reads_tables(bound.returning):
        return _run_change(context, bound)
    if has_event(bound.table.triggers, INSERT):
        return _run_change(context, bound)
    made = _make_rows(context, bound.query)
    if context.parameter_rows and not isinstance(made, PlainRows):
        raise FeatureNotSupported("several executions of this statement cannot run together")
    if isinstance(made, PlainRows):
        if _is_stored_as_it_comes(bound):
            before = context.transaction.table(bound.table.oid)
            reserve_keys(context, before, [made])
            count = context.transaction.append_plain(before.oid, made)
            check_inserted(context, before)
            return Result(f"INSERT 0 {count}")
        made = [made.to_batch(table_schema(bound.table))]
    stream = run_query(context, bound.query) if made is None else None
    rows: list[pa.RecordBatch] = []
    batches: Iterable[pa.RecordBatch] = iter(stream if made is None else made)  # type: ignore[arg-type]
    if bound.returning is not None:
        batches = _record(batches, rows)
    violations: list[SqlError] = []
    allowed = check_batches(context, bound.table, check_new_rows(context, bound.check, bound.table, batches))
    noted = note_violations(context, bound.view_check, bound.table, allowed, violations)
    before = context.transaction.table(bound.table.oid)  # the plan's may be older
    try:
        reserved = reserve_ahead(context, bound.table, noted)
        count = context.transaction.append(bound.table.oid, reserved)
    finally:
        if stream is not None:
            stream.close()
    if violations:
        raise violations[0]
    check_inserted(context, before)
    return _result(context, bound, count, rows, {})


def _is_stored_as_it_comes(bound: Insert) -> bool:
    """Returns whether nothing is asked of the rows of an INSERT but what storage checks."""
    table = bound.table
    if bound.returning is not None or bound.on_conflict is not None or has_event(table.triggers, INSERT):
        return False
    return bound.check is None and bound.view_check is None and not table.has_checks and table.kind != "v"


def _make_rows(context: Context, query: Query) -> list[pa.RecordBatch] | PlainRows | None:
    """Returns the rows of VALUES with literals and parameters alone, which need no engine; None for other queries."""
    if isinstance(query, Select):
        rows = context.statement.rows
        made = make_literal_rows(rows, query) if rows is not None and is_over_literal_rows(query) else None
        return [made] if isinstance(made, pa.RecordBatch) else made
    if not isinstance(query, Values) or query.ctes:
        return None
    plain = make_plain_rows(query, context.parameter_rows or (context.parameters,))
    if plain is not None:
        return plain
    table = values_table(query, context.parameters, least=1)
    return None if table is None else table.to_batches()


def _reads_tables(query: Query | None) -> bool:
    return query is not None and any(isinstance(each, Scan) for each in walk(query))


def update_delete_or_merge(context: Context) -> Result:
    """UPDATE, DELETE and MERGE: the rows that change leave their files, and their new versions are appended."""
    _check_targets(context)

    def run() -> Result:
        return run_change(context, lambda: _run_change(context, context.session.plan(context).bound))

    return run() if context.statement.kind == "MergeStmt" else run_at_cursor(context, run)


def select_with_changes(context: Context) -> Result:
    """A SELECT whose WITH changes data."""
    _check_targets(context)
    return run_change(context, lambda: _run_change(context, context.session.plan(context).bound))


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


def _list_changes(node: Any) -> list[Any]:
    """Returns the INSERT, UPDATE, DELETE and MERGE nodes of a statement and its WITH."""
    found = []
    if node.HasField("with_clause"):
        bodies = (inner(inner(cte).ctequery) for cte in node.with_clause.ctes)
        found += [body for body in bodies if body.DESCRIPTOR.name != "SelectStmt"]
    return found if node.DESCRIPTOR.name == "SelectStmt" else [*found, node]


def _check_targets(context: Context) -> None:
    """25006 for a change of a table that may not be written, and an error for one of a model's content."""
    session, plan = context.session, context.plan
    if plan is not None and isinstance(plan.bound, Insert) and find_frame(plan.bound) is not None:
        if not plan.bound.table.temporary:
            context.check_writable("INSERT")
        return
    command = context.statement.kind.removesuffix("Stmt").upper()
    for node in _list_changes(context.statement.node):
        relation = context.transaction.catalog.find(
            node.relation.relname,
            (node.relation.schemaname,) if node.relation.schemaname else session.search_path(),
        )
        if isinstance(relation, View) and relation.triggers:
            context.check_writable(command)
        relation = find_base_table(context.transaction.catalog, relation)
        if relation is None:
            continue
        if relation.schema == CONTENT_SCHEMA:
            raise make_content_error(relation.name)
        if not relation.temporary:
            context.check_writable(command)


def _record(batches: Iterable[pa.RecordBatch], record: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        record.append(batch)
        yield batch

"""INSERT, UPDATE, DELETE and MERGE: what an engine computes is written by storage, whole files at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from gpudb.catalog.model import Table
from gpudb.session.context import Context, command, handles, result_columns
from gpudb.session.dml.apply import write
from gpudb.session.dml.compute import Frames, computed, returned
from gpudb.session.dml.outcomes import Outcome
from gpudb.session.dml.references import check_added
from gpudb.session.dml.row_checks import checked
from gpudb.session.execution import execution
from gpudb.session.results import Result
from gpudb.sql.bind.dml.view_targets import base_table
from gpudb.sql.bound import DataChange, Delete, Insert, Merge, Part, Query, Scan, Statement, Update, WithChanges
from gpudb.sql.parse.parser import inner
from gpudb.sql.traverse import walk


@handles("InsertStmt")
def insert(context: Context) -> Result:
    """INSERT: rows stream from the engine into files, unless ON CONFLICT or WITH has them looked at first, or RETURNING
    the tables as they were."""
    _lock_targets(context)
    bound = context.session.bind(context)
    if not isinstance(bound, Insert) or bound.on_conflict is not None or _reads_tables(bound.returning):
        return _changed(context, bound)
    stream = execution.run(context, bound.query)
    kept: list[pa.RecordBatch] = []
    batches: Iterable[pa.RecordBatch] = iter(stream)
    if bound.returning is not None:
        batches = _kept(batches, kept)
    try:
        count = context.transaction.append(bound.table.oid, checked(context, bound.table, batches))
    finally:
        stream.close()
    check_added(context, bound.table)
    return _told(context, bound, count, kept, {})


def _reads_tables(query: Query | None) -> bool:
    return query is not None and any(isinstance(each, Scan) for each in walk(query))


@handles("UpdateStmt", "DeleteStmt", "MergeStmt")
def update_delete_or_merge(context: Context) -> Result:
    """UPDATE, DELETE and MERGE: files with rows that they change are written anew."""
    _lock_targets(context)
    return _changed(context, context.session.bind(context))


def select_with_changes(context: Context) -> Result:
    """A SELECT whose WITH changes data."""
    _lock_targets(context)
    return _changed(context, context.session.bind(context))


def _changed(context: Context, bound: Statement) -> Result:
    """A change and those in its WITH: all are computed before anything is written."""
    whole = bound if isinstance(bound, WithChanges) else WithChanges((), bound)
    frames: dict[str, pa.Table] = {}
    outcomes: list[tuple[Table, Outcome]] = []
    _carry_out(context, whole.parts, frames, outcomes)
    statement = whole.statement
    if isinstance(statement, DataChange):
        outcome = _computed(context, statement, frames, outcomes)
        result = _told(context, statement, outcome.count, outcome.rows, frames)
        _carry_out(context, whole.after, frames, outcomes)
        write(context, outcomes)
        return result
    _carry_out(context, whole.after, frames, outcomes)
    # It reads the files of before, which stay until the transaction ends.
    stream = execution.run(context, statement, frames)
    try:
        write(context, outcomes)
    except BaseException:
        stream.close()
        raise
    return Result("SELECT", result_columns(statement.columns), iter(stream), stream.close)


def _carry_out(
    context: Context, parts: Iterable[Part], frames: dict[str, pa.Table], outcomes: list[tuple[Table, Outcome]]
) -> None:
    """Computes parts of a WITH; their rows become frames."""
    for name, part in parts:
        if not isinstance(part, DataChange):
            frames[name] = execution.gathered(context, part, frames)
            continue
        outcome = _computed(context, part, frames, outcomes)
        if part.returning is not None:
            frames[name] = returned(context, part, outcome.rows, frames)


def _computed(context: Context, bound: DataChange, frames: Frames, outcomes: list[tuple[Table, Outcome]]) -> Outcome:
    outcome = computed(context, bound, frames, [each for table, each in outcomes if table.oid == bound.table.oid])
    outcomes.append((bound.table, outcome))
    return outcome


_TAGS = {Insert: "INSERT 0", Update: "UPDATE", Delete: "DELETE", Merge: "MERGE"}


def _told(context: Context, bound: DataChange, count: int, rows: list[pa.RecordBatch], frames: Frames) -> Result:
    """The result: a tag, or what RETURNING makes of the rows."""
    tag = _TAGS[type(bound)]
    if bound.returning is None:
        return command(f"{tag} {count}")
    made = returned(context, bound, rows, frames)
    return Result(tag, result_columns(bound.returning.columns), iter(made.to_batches()))


def _lock_targets(context: Context) -> None:
    """Waits for other writers of the tables that are rewritten; a transaction without changes then goes on from what
    they left. 25006 where nothing may be written."""
    session = context.session
    for node in _changes(context.statement.node):
        verb = node.DESCRIPTOR.name.removesuffix("Stmt").upper()
        relation = session.binder(context).catalog.find(
            node.relation.relname,
            (node.relation.schemaname,) if node.relation.schemaname else session.search_path(),
        )
        relation = base_table(session.binder(context).catalog, relation)
        if relation is None:
            continue
        if not relation.temporary:
            session.check_writable(verb)
        if verb != "INSERT" or node.HasField("on_conflict_clause"):
            lock_table(context, relation)


def _changes(node: Any) -> Iterator[Any]:
    """The INSERT, UPDATE, DELETE and MERGE that a statement is or has in its WITH."""
    if node.HasField("with_clause"):
        yield from (each for each in map(_body, node.with_clause.ctes) if each.DESCRIPTOR.name != "SelectStmt")
    if node.DESCRIPTOR.name != "SelectStmt":
        yield node


def _body(node: Any) -> Any:
    return inner(inner(node).ctequery)


def lock_table(context: Context, table: Table) -> None:
    """Holds a table's lock to the transaction's end."""
    timeout = context.session.milliseconds("lock_timeout") / 1000 or None
    waited = context.transaction.lock(table.oid, timeout, context.cancel.check)
    if waited and not context.session.explicit and not context.transaction.changed:
        context.transaction.refresh()


def _kept(batches: Iterable[pa.RecordBatch], kept: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept.append(batch)
        yield batch

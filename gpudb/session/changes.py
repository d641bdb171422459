"""INSERT, UPDATE, DELETE and TRUNCATE: the rows an engine computes are written by storage, whole files at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.model import Table
from gpudb.errors import SqlError
from gpudb.session import execution
from gpudb.session.context import Context, command, handles, result_columns
from gpudb.session.results import Result
from gpudb.session.row_checks import checked
from gpudb.session.sequences import owned_sequences, restarted
from gpudb.sql.bind.from_clause import find_relation
from gpudb.sql.bound import CHANGED, DataChange, Delete, Insert, Update
from gpudb.sql.parse import inner


@handles("InsertStmt")
def insert(context: Context) -> Result:
    """INSERT."""
    bound = context.session.bind(context)
    assert isinstance(bound, Insert)
    if not bound.table.temporary:
        context.session.check_writable("INSERT")
    stream = execution.run(context, bound.query)
    kept: list[pa.RecordBatch] = []
    batches: Iterable[pa.RecordBatch] = iter(stream)
    if bound.returning is not None:
        batches = _kept(batches, kept)
    try:
        count = context.transaction.append(bound.table.oid, checked(context, bound.table, batches))
    finally:
        stream.close()
    return _done(context, bound, f"INSERT 0 {count}", kept, "INSERT 0")


@handles("UpdateStmt", "DeleteStmt")
def update_or_delete(context: Context) -> Result:
    """UPDATE and DELETE: files with matching rows are written anew."""
    verb = "UPDATE" if context.statement.kind == "UpdateStmt" else "DELETE"
    _lock(context, verb)
    bound = context.session.bind(context)
    assert isinstance(bound, Update | Delete)
    table = context.transaction.table(bound.table.oid)
    stream = execution.run(context, bound.query)
    found = pa.Table.from_batches(list(stream), schema=stream.schema)
    if found.num_rows:
        _rewrite(context, bound, table, found)
    rows = found.drop_columns(["c1", "c2"]).combine_chunks().to_batches()
    return _done(context, bound, f"{verb} {found.num_rows}", rows, verb)


def _lock(context: Context, verb: str) -> None:
    """Waits for other writers of the table; a transaction without changes then goes on from what they left."""
    node: Any = context.statement.node
    session = context.session
    relation = session.binder(context).catalog.find(
        node.relation.relname,
        (node.relation.schemaname,) if node.relation.schemaname else session.search_path(),
    )
    if isinstance(relation, Table):
        if not relation.temporary:
            session.check_writable(verb)
        lock_table(context, relation)


def lock_table(context: Context, table: Table) -> None:
    """Holds a table's lock to the transaction's end."""
    timeout = context.session.milliseconds("lock_timeout") / 1000 or None
    waited = context.transaction.lock(table.oid, timeout, context.cancel.check)
    if waited and not context.session.explicit and not context.transaction.changed:
        context.transaction.refresh()


def _rewrite(context: Context, bound: Update | Delete, table: Table, found: pa.Table) -> None:
    gone = pa.table({"file": found.column(0), "row": found.column(1)})
    paths = set(pc.unique(gone["file"]).to_pylist())
    files = [file for file in table.files if file.path in paths]
    survivors = context.session.database.cpu.survivors(table, files, gone, context.cancel)
    fresh: Iterable[pa.RecordBatch] = ()
    check_keys = False
    if isinstance(bound, Update):
        fresh = checked(context, table, found.drop_columns(["c1", "c2"]).to_batches())
        check_keys = bool(table.keys)
    try:
        context.transaction.replace(table.oid, files, _chain(survivors, fresh), check_keys=check_keys)
    finally:
        survivors.close()


def _chain(*parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from part


def _kept(batches: Iterable[pa.RecordBatch], kept: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept.append(batch)
        yield batch


def _done(context: Context, bound: DataChange, tag: str, rows: list[pa.RecordBatch], prefix: str) -> Result:
    """The result: a tag, or what RETURNING makes of the rows."""
    if bound.returning is None:
        return command(tag)
    names = [column.name for column in bound.table.columns]
    schema = pa.schema([pa.field(c.name, c.type.arrow) for c in bound.table.columns])
    changed = pa.Table.from_batches([batch.rename_columns(names) for batch in rows], schema=schema)
    stream = execution.run(context, bound.returning, {CHANGED: changed})
    try:
        made = list(stream)
    finally:
        stream.close()
    return Result(prefix, result_columns(bound.returning.columns), iter(made))


@handles("TruncateStmt")
def truncate(context: Context) -> Result:
    """TRUNCATE of one or more tables."""
    node: Any = context.statement.node
    context.session.check_writable("TRUNCATE TABLE")
    binder = context.session.binder(context)
    for each in node.relations:
        relation = find_relation(binder, inner(each).schemaname, inner(each).relname)
        if not isinstance(relation, Table) or relation.query is not None:
            raise SqlError.of("wrong_object_type", f'"{relation.name}" is not a table')
        lock_table(context, relation)
        context.transaction.truncate(relation.oid)
        if node.restart_seqs:
            for sequence in owned_sequences(context, relation.oid):
                restarted(context, sequence)
    return command("TRUNCATE TABLE")

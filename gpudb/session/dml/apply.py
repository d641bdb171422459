"""Computed changes carried out: each table is written once, then references between tables are settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.model import Table
from gpudb.errors import SqlError
from gpudb.session.context import Context
from gpudb.session.dml.outcomes import Outcome
from gpudb.session.dml.references import leaving_keys, settle_references
from gpudb.session.dml.row_checks import checked


def write(context: Context, outcomes: Sequence[tuple[Table, Outcome]]) -> None:
    """Carries computed changes out: files with rows that leave are written anew. 23502, 23505, 23514."""
    before = context.transaction.catalog
    leaving = leaving_keys(context, outcomes)
    for oid in dict.fromkeys(table.oid for table, _ in outcomes):
        _write_table(context, oid, [outcome for table, outcome in outcomes if table.oid == oid])
    settle_references(context, before, outcomes, leaving)


def _write_table(context: Context, oid: int, outcomes: Sequence[Outcome]) -> None:
    left = [outcome.gone for outcome in outcomes if outcome.gone is not None and outcome.gone.num_rows]
    if left:
        _rewrite(context, context.transaction.table(oid), pa.concat_tables(left), outcomes)
    added = [batch for outcome in outcomes for batch in outcome.added]
    if added:
        # In files of their own: their keys alone are new.
        context.transaction.append(oid, checked(context, context.transaction.table(oid), added))


def _rewrite(context: Context, table: Table, gone: pa.Table, outcomes: Sequence[Outcome]) -> None:
    paths = set(pc.unique(gone["file"]).to_pylist())
    files = [file for file in table.files if file.path in paths]
    if len(files) != len(paths):
        message = "tuple to be updated was already modified by an operation triggered by the current command"
        raise SqlError.of("triggered_data_change_violation", message)
    fresh = checked(context, table, [batch for outcome in outcomes for batch in outcome.fresh])
    new_keys = any(outcome.changes(key.columns) for outcome in outcomes for key in table.keys)
    survivors = context.session.database.cpu.survivors(table, files, gone, context.cancel)
    try:
        context.transaction.replace(table.oid, files, _chain(survivors, fresh), check_keys=new_keys)
    finally:
        survivors.close()


def _chain(*parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from part

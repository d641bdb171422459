"""What changes of tables come to, known before anything is written; and the writing, once a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.catalog.model import Table
from gpudb.session.context import Context
from gpudb.session.row_checks import checked

Batches = list[pa.RecordBatch]


@dataclass(slots=True)
class Outcome:
    """A change computed: `count` rows, which RETURNING sees as `rows`.

    `gone` names the rows that leave (file, row), `fresh` are those that come in; `new_keys` is off where none of them
    has a key that its old row had not. Rows are batches of the table's columns.
    """

    count: int
    rows: Batches
    gone: pa.Table | None = None
    fresh: Batches = field(default_factory=list)
    new_keys: bool = True


def write(context: Context, outcomes: Sequence[tuple[Table, Outcome]]) -> None:
    """Carries computed changes out: files with rows that leave are written anew. 23502, 23505, 23514."""
    for oid in dict.fromkeys(table.oid for table, _ in outcomes):
        _write_table(context, oid, [outcome for table, outcome in outcomes if table.oid == oid])


def _write_table(context: Context, oid: int, outcomes: Sequence[Outcome]) -> None:
    table = context.transaction.table(oid)
    left = [outcome.gone for outcome in outcomes if outcome.gone is not None and outcome.gone.num_rows]
    fresh = checked(context, table, [batch for outcome in outcomes for batch in outcome.fresh])
    if not left:
        if any(outcome.fresh for outcome in outcomes):
            context.transaction.append(oid, fresh)
        return
    gone = pa.concat_tables(left)
    paths = set(pc.unique(gone["file"]).to_pylist())
    files = [file for file in table.files if file.path in paths]
    new_keys = bool(table.keys) and any(outcome.fresh and outcome.new_keys for outcome in outcomes)
    survivors = context.session.database.cpu.survivors(table, files, gone, context.cancel)
    try:
        context.transaction.replace(oid, files, _chain(survivors, fresh), check_keys=new_keys)
    finally:
        survivors.close()


def _chain(*parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        yield from part


def left_alone(found: pa.Table, file: int, gone: Sequence[pa.Table]) -> pa.Table:
    """The rows of `found`, whose file and row number are two columns from `file` on, that none of `gone` has named.

    A row that two parts of a statement change is changed by the first.
    """
    for earlier in gone:
        for path in pc.unique(earlier["file"]).to_pylist():
            rows = earlier.filter(pc.equal(earlier["file"], path))["row"]
            same = pc.and_(pc.equal(found.column(file), path), pc.is_in(found.column(file + 1), rows.combine_chunks()))
            found = found.filter(pc.invert(pc.fill_null(same, False)))
    return found

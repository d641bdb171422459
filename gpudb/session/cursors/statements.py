"""DECLARE, FETCH, MOVE and CLOSE: cursors over a running query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session.context import Context, command, handles, result_columns
from gpudb.session.cursors.open_cursors import Cursor, cursors_of
from gpudb.session.execution import execution
from gpudb.session.execution.binding import bind_statement
from gpudb.session.results import Result, ResultColumn
from gpudb.session.state.scrolling import ScrolledRows
from gpudb.sql.bound import Query, Scan
from gpudb.sql.parse.parser import RawStatement, changes_data, deparse, inner
from gpudb.sql.traverse import walk

if TYPE_CHECKING:
    from gpudb.session.session import Session

# PostgreSQL's CURSOR_OPT_* bits.
_BINARY, _SCROLL, _NO_SCROLL, _HOLD = 0x1, 0x2, 0x4, 0x20


@handles("DeclareCursorStmt")
def declare(context: Context) -> Result:
    """DECLARE name [[NO] SCROLL] CURSOR [WITH HOLD] FOR query."""
    node: Any = context.statement.node
    session = context.session
    hold = bool(node.options & _HOLD)
    if not session.explicit and not hold:
        raise SqlError.of("no_active_sql_transaction", "DECLARE CURSOR can only be used in transaction blocks")
    if node.portalname in cursors_of(session):
        raise SqlError.of("duplicate_cursor", f'cursor "{node.portalname}" already exists')
    body = inner(node.query)
    if changes_data(body):
        raise FeatureNotSupported("DECLARE CURSOR must not contain data-modifying statements in WITH")
    query = bind_statement(session.binder(context), RawStatement(body, deparse(body)))
    assert isinstance(query, Query)
    stream = execution.run(context, query)
    columns = result_columns(query.columns)
    batches: Iterator[pa.RecordBatch] = iter(stream)
    if hold:
        # A held cursor outlives its transaction, and so the files that it reads: its rows are taken now.
        batches = iter(list(batches))
    result = Result("SELECT", columns, batches, stream.close)
    scroll = True if node.options & _SCROLL else False if node.options & _NO_SCROLL else None
    rows = ScrolledRows(batches, scroll)
    tables = frozenset(each.table.oid for each in walk(query) if isinstance(each, Scan))
    cursors_of(session)[node.portalname] = Cursor(columns, result, rows, context.statement.text, tables, hold=hold)
    return command("DECLARE CURSOR")


def _cursor(session: Session, name: str) -> Cursor:
    if name not in cursors_of(session):
        raise SqlError.of("invalid_cursor_name", f'cursor "{name}" does not exist')
    return cursors_of(session)[name]


def columns(session: Session, node: Any) -> tuple[ResultColumn, ...] | None:
    """The columns of a FETCH."""
    return None if node.ismove else _cursor(session, node.portalname).columns


@handles("FetchStmt")
def fetch(context: Context) -> Result:
    """FETCH and MOVE, in every direction."""
    node: Any = context.statement.node
    cursor = _cursor(context.session, node.portalname)
    batches = _taken(cursor.rows, pg.FetchDirection.Name(node.direction), node.how_many)
    if node.ismove:
        return command(f"MOVE {sum(batch.num_rows for batch in batches)}")
    return Result("FETCH", cursor.columns, batches)


def _taken(rows: ScrolledRows, direction: str, count: int) -> Iterator[pa.RecordBatch]:
    match direction:
        case "FETCH_ABSOLUTE":
            return rows.absolute(count)
        case "FETCH_RELATIVE" if count:
            return rows.relative(count)
        case "FETCH_BACKWARD":
            count = -count
    return rows.forward(count) if count > 0 else rows.backward(-count) if count else rows.current()


@handles("ClosePortalStmt")
def close(context: Context) -> Result:
    """CLOSE name | ALL."""
    node: Any = context.statement.node
    cursors = cursors_of(context.session)
    if not node.portalname:
        close_all(context.session)
        return command("CLOSE CURSOR ALL")
    _cursor(context.session, node.portalname).result.close()
    del cursors[node.portalname]
    return command("CLOSE CURSOR")


def close_all(session: Session) -> None:
    """Ends all cursors, those WITH HOLD too."""
    cursors = cursors_of(session)
    for cursor in cursors.values():
        cursor.result.close()
    cursors.clear()


def transaction_ended(session: Session, committed: bool) -> None:
    """Cursors end with their transaction, but those WITH HOLD of one that commits."""
    cursors = cursors_of(session)
    for name, cursor in list(cursors.items()):
        cursor.kept = cursor.kept or (cursor.hold and committed)
        if not cursor.kept:
            cursors.pop(name).result.close()

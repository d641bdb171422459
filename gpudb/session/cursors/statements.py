"""DECLARE, FETCH, MOVE and CLOSE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.engine.protocol import Stream
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.carried import LAYOUT
from gpudb.session.context import Context, SessionState
from gpudb.session.cursors.open_cursors import close_all
from gpudb.session.execution.binding.binding import bind_authorized, bind_statement
from gpudb.session.execution.locks_and_snapshots.restarts import run_with_restarts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.execution.requests.layouts import read_ahead
from gpudb.session.results import Result, ResultColumn, result_columns
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.scrolling import ScrolledRows
from gpudb.sql.bound import Query, RowLock, Scan, Select
from gpudb.sql.parse.parser import RawStatement, changes_data, deparse, inner
from gpudb.sql.traverse import walk
from gpudb.types import SqlType

# PostgreSQL's CURSOR_OPT_* bits.
_BINARY, _SCROLL, _NO_SCROLL, _INSENSITIVE, _HOLD = 0x1, 0x2, 0x4, 0x8, 0x20


def describe_declare(context: Context) -> tuple[tuple[SqlType, ...], None]:
    """The types of the parameters `$n` of a cursor's query, and no columns."""
    node: Any = context.statement.node
    body = inner(node.query)
    binder = context.binder(describing=True)
    binder.declare_parameters(context.parameter_oids)
    binder.row_locks = []
    bind_statement(binder, RawStatement(body, deparse(body)))
    return binder.get_parameter_types(), None


def declare(context: Context) -> Result:
    """DECLARE name [[NO] SCROLL] CURSOR [WITH HOLD] FOR query."""
    node: Any = context.statement.node
    session = context.session
    hold = bool(node.options & _HOLD)
    if not session.transactions.explicit and not hold:
        raise SqlError.of("no_active_sql_transaction", "DECLARE CURSOR can only be used in transaction blocks")
    if node.portalname in session.cursors:
        raise SqlError.of("duplicate_cursor", f'cursor "{node.portalname}" already exists')
    body = inner(node.query)
    if changes_data(body):
        raise FeatureNotSupported("DECLARE CURSOR must not contain data-modifying statements in WITH")
    query, stream = run_with_restarts(context, lambda: _run(context, node, body))
    columns = result_columns(query.columns)
    result = Result("SELECT", columns, iter(stream), stream.close)
    if (layout := LAYOUT.get()) is not None and layout.used:
        result = read_ahead(result)
    batches = result.batches
    if hold:
        # Such a cursor outlives its transaction and the files that it reads: its rows are fetched now.
        result.batches = batches = iter(list(batches))
    scroll = True if node.options & _SCROLL else False if node.options & _NO_SCROLL else None
    rows = ScrolledRows(batches, scroll)
    tables = frozenset(each.table.oid for each in walk(query) if isinstance(each, Scan))
    catalog, parameters = context.transaction.catalog, context.parameters
    cursor = Cursor(columns, result, rows, context.statement.text, tables, query, catalog, parameters, hold=hold)
    session.cursors[node.portalname] = cursor
    context.transaction.keeps_places |= isinstance(query, Select) and isinstance(query.source, Scan)
    return Result("DECLARE CURSOR")


def _run(context: Context, node: Any, body: Any) -> tuple[Query, Stream]:
    """Runs the query of a cursor, and locks the rows that it locks."""
    query, locks = _bind(context, body)
    if locks:
        _check_locks(node, locks)
        context.check_writable(f"SELECT {locks[0].clause}")
    return query, run_query(context, query)


def _bind(context: Context, body: Any) -> tuple[Query, list[RowLock]]:
    """The query of a cursor, and what it locks."""
    binder = context.binder()
    binder.declare_parameters(context.parameter_oids)
    binder.row_locks = []
    query = bind_authorized(context, binder, RawStatement(body, deparse(body)))
    assert isinstance(query, Query)
    return query, binder.row_locks


def _check_locks(node: Any, locks: Sequence[RowLock]) -> None:
    """0A000 for a cursor that is held or scrolled, 34000 for one that is insensitive."""
    clause = locks[0].clause
    for option, what, detail in (
        (_HOLD, "CURSOR WITH HOLD", "Holdable cursors must be READ ONLY."),
        (_SCROLL, "SCROLL CURSOR", "Scrollable cursors must be READ ONLY."),
    ):
        if node.options & option:
            raise FeatureNotSupported(f"DECLARE {what} ... {clause} is not supported", detail=detail)
    if node.options & _INSENSITIVE:
        detail = "Insensitive cursors must be READ ONLY."
        raise SqlError.of(
            "invalid_cursor_definition", f"DECLARE INSENSITIVE CURSOR ... {clause} is not valid", detail=detail
        )


def _find_cursor(session: SessionState, name: str) -> Cursor:
    if name not in session.cursors:
        raise SqlError.of("invalid_cursor_name", f'cursor "{name}" does not exist')
    return session.cursors[name]


def fetch_columns(session: SessionState, node: Any) -> tuple[ResultColumn, ...] | None:
    """The columns of a FETCH; None for MOVE."""
    return None if node.ismove else _find_cursor(session, node.portalname).columns


def fetch(context: Context) -> Result:
    """FETCH and MOVE, in every direction."""
    node: Any = context.statement.node
    cursor = _find_cursor(context.session, node.portalname)
    batches = _fetch_rows(cursor.rows, pg.FetchDirection.Name(node.direction), node.how_many)
    if node.ismove:
        return Result(f"MOVE {sum(batch.num_rows for batch in batches)}")
    return Result("FETCH", cursor.columns, batches)


def _fetch_rows(rows: ScrolledRows, direction: str, count: int) -> Iterator[pa.RecordBatch]:
    match direction:
        case "FETCH_ABSOLUTE":
            return rows.absolute(count)
        case "FETCH_RELATIVE" if count:
            return rows.relative(count)
        case "FETCH_BACKWARD":
            count = -count
    return rows.forward(count) if count > 0 else rows.backward(-count) if count else rows.current()


def close(context: Context) -> Result:
    """CLOSE name | ALL."""
    node: Any = context.statement.node
    cursors = context.session.cursors
    if not node.portalname:
        close_all(context.session)
        return Result("CLOSE CURSOR ALL")
    _find_cursor(context.session, node.portalname).result.close()
    del cursors[node.portalname]
    return Result("CLOSE CURSOR")

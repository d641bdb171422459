"""DECLARE, FETCH, MOVE and CLOSE: cursors that go forward over a running query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.session import execution
from gpudb.session.binding import bind_statement
from gpudb.session.context import Context, command, handles, result_columns
from gpudb.session.results import Result, ResultColumn
from gpudb.sql.bind.with_changes import changes_data
from gpudb.sql.bound import Query
from gpudb.sql.parse import RawStatement, deparse, inner

if TYPE_CHECKING:
    from gpudb.session.session import Session

# PostgreSQL's CURSOR_OPT_* bits.
_SCROLL, _HOLD = 0x2, 0x20


@dataclass(slots=True)
class Cursor:
    """A query that is read piece by piece; `rest` is what of the last batch was not fetched yet.

    One with HOLD is `kept` once the transaction that declared it has committed.
    """

    columns: tuple[ResultColumn, ...]
    result: Result
    batches: Iterator[pa.RecordBatch]
    rest: pa.RecordBatch | None = None
    hold: bool = False
    kept: bool = False
    done: bool = field(default=False)

    def take(self, count: int) -> Iterator[pa.RecordBatch]:
        """The next `count` rows."""
        while count > 0 and not self.done:
            batch, self.rest = self.rest, None
            if batch is None:
                batch = next(self.batches, None)
                if batch is None:
                    self.done = True
                    return
            if batch.num_rows > count:
                self.rest = batch.slice(count)
                batch = batch.slice(0, count)
            count -= batch.num_rows
            yield batch


_CURSORS: WeakKeyDictionary[Session, dict[str, Cursor]] = WeakKeyDictionary()


def _cursors(session: Session) -> dict[str, Cursor]:
    return _CURSORS.setdefault(session, {})


@handles("DeclareCursorStmt")
def declare(context: Context) -> Result:
    """DECLARE name [NO SCROLL] CURSOR [WITH HOLD] FOR query."""
    node: Any = context.statement.node
    session = context.session
    hold = bool(node.options & _HOLD)
    if node.options & _SCROLL:
        raise FeatureNotSupported("SCROLL cursors are not supported")
    if not session.explicit and not hold:
        raise SqlError.of("no_active_sql_transaction", "DECLARE CURSOR can only be used in transaction blocks")
    if node.portalname in _cursors(session):
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
    _cursors(session)[node.portalname] = Cursor(columns, result, batches, hold=hold)
    return command("DECLARE CURSOR")


def _cursor(session: Session, name: str) -> Cursor:
    if name not in _cursors(session):
        raise SqlError.of("invalid_cursor_name", f'cursor "{name}" does not exist')
    return _cursors(session)[name]


def columns(session: Session, node: Any) -> tuple[ResultColumn, ...] | None:
    """The columns of a FETCH."""
    return None if node.ismove else _cursor(session, node.portalname).columns


@handles("FetchStmt")
def fetch(context: Context) -> Result:
    """FETCH and MOVE [FORWARD] n | ALL | NEXT."""
    node: Any = context.statement.node
    cursor = _cursor(context.session, node.portalname)
    if node.direction != pg.FETCH_FORWARD or node.how_many < 0:
        hint = "Declare it with SCROLL option to enable backward scan."
        raise SqlError.of("object_not_in_prerequisite_state", "cursor can only scan forward", hint=hint)
    batches = cursor.take(node.how_many if node.how_many else 0)
    if node.ismove:
        return command(f"MOVE {sum(batch.num_rows for batch in batches)}")
    return Result("FETCH", cursor.columns, batches)


@handles("ClosePortalStmt")
def close(context: Context) -> Result:
    """CLOSE name | ALL."""
    node: Any = context.statement.node
    cursors = _cursors(context.session)
    if not node.portalname:
        for cursor in cursors.values():
            cursor.result.close()
        cursors.clear()
        return command("CLOSE CURSOR ALL")
    _cursor(context.session, node.portalname).result.close()
    del cursors[node.portalname]
    return command("CLOSE CURSOR")


def transaction_ended(session: Session, committed: bool) -> None:
    """Cursors end with their transaction, but those WITH HOLD of one that commits."""
    cursors = _cursors(session)
    for name, cursor in list(cursors.items()):
        cursor.kept = cursor.kept or (cursor.hold and committed)
        if not cursor.kept:
            cursors.pop(name).result.close()

"""A connection: one session with a database in this process or with a server."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from gpudb.api.backend import Backend
from gpudb.api.frames import convert_frame
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.api.rows import Row, Rows, iterate_tuples
from gpudb.errors import GpudbError, SqlError, UndefinedTable
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.sql.parse.parser import RawStatement, parse

_COMPOSABLE = "SelectStmt"
_T = TypeVar("_T")
_LAZY = frozenset({_COMPOSABLE, "VariableShowStmt", "ExplainStmt"})


class Connection:
    """Created by `gpudb.connect`. A context manager: leaving it closes it.

    Threads may share it; their statements are serialised. Only `cancel` does not wait.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = threading.RLock()
        self._reading: weakref.ref[_Reading] | None = None
        self._savepoints = 0
        self._closed = False
        self.notices: list[Notice] = []
        """The notices of the last statement."""

    # ---- queries

    def sql(self, query: str, params: Sequence[object] = ()) -> Relation:
        """Returns a lazy relation of one query (SELECT, VALUES, TABLE, WITH, SHOW, EXPLAIN) with `params` for `$1` ….

        42601, with a hint, if it is not a single query; its names are resolved when it is used.
        """
        statements = parse(query)
        if len(statements) != 1 or not _is_query(statements[0]):
            problem = "one query is expected" if len(statements) != 1 else "this statement is no query"
            hint = "Statements that change something are run by Connection.execute."
            raise SqlError.of("syntax_error", problem, hint=hint)
        text = statements[0].text
        return Relation(self, text, tuple(params), composable=statements[0].kind == _COMPOSABLE)

    def table(self, name: str) -> Relation:
        """Returns a table, view or registered frame as a relation; `name` as in SQL (`schema.table`)."""
        return self.sql(f"SELECT * FROM {name}")

    def execute(self, sql: str, params: Sequence[object] = ()) -> Rows:
        """Runs a statement now, with `params` for `$1` …; or a text of several, as one transaction, without parameters.

        Returns the rows (of the last one).
        """
        with self._take_turn():
            if not params and len(parse(sql)) > 1:
                result = self._run_and_take_notices(lambda: self._backend.script(sql))
                return self._collect(result)
            reading = self._start(sql, params)
            with reading:
                return self._collect(reading.result, list(reading))

    def head(self, query: str, params: Sequence[object], rows: int) -> Rows:
        """Returns at least the first `rows` rows of a query, which is then abandoned."""
        with self._take_turn():
            reading = self._start(query, params)
            batches: list[pa.RecordBatch] = []
            with reading:
                for batch in reading:
                    batches.append(batch)
                    if sum(collected.num_rows for collected in batches) >= rows:
                        break
            return self._collect(reading.result, batches)

    def describe(self, query: str, params: Sequence[object] = ()) -> tuple[ResultColumn, ...]:
        """Returns the columns of a query: names and types."""
        with self._take_turn():
            return self._backend.describe(query, params)

    def stream(self, query: str, params: Sequence[object] = ()) -> Iterator[Row]:
        """Yields the rows of a query as tuples, while it runs (see `Relation.__iter__`)."""
        with self._take_turn():
            reading = self._start(query, params)
        with reading:
            for batch in reading:
                yield from iterate_tuples(reading.result.columns or (), batch)

    # ---- tables from elsewhere

    def register(self, name: str, frame: object) -> Relation:
        """Registers an Arrow table, a Polars frame or a pandas DataFrame as a table of this connection.

        `name` is matched as a quoted name: unquoted names in SQL are lower case. It hides a table of that name and
        replaces a frame of that name. A lazy frame is collected here. Errors: 42804, 0A000 for a column without a
        matching SQL type or no column at all, 42701 for duplicate names.
        """
        table, types = convert_frame(frame)
        with self._take_turn():
            self._backend.register(name, table, types)
        return self.table(quote_identifier(name))

    def unregister(self, name: str) -> None:
        """Unregisters a frame; 42P01 if there is none of that name."""
        with self._take_turn():
            if not self._backend.unregister(name):
                raise UndefinedTable(f'no frame is registered as "{name}"')

    def copy_from(self, sql: str, chunks: Iterable[bytes]) -> int:
        """Runs `COPY … FROM STDIN` over chunks of data, cut anywhere, all or nothing; returns the number of rows."""
        with self._take_turn():
            tag = self._run_and_take_notices(lambda: self._backend.copy_in(sql, chunks))
        return int(tag.rpartition(" ")[2])

    def append(self, table: str, frame: object) -> int:
        """Adds the rows of an Arrow table, Polars or pandas frame to a table, columns matched by name; returns their
        number.

        `table` is a name as in SQL. 42703 for a column that the table lacks; columns that the frame lacks get their
        defaults. Other errors are those of `register` and of INSERT.
        """
        rows, types = convert_frame(frame)
        with self._take_turn():
            return self._run_and_take_notices(lambda: self._backend.append(table, rows, types))

    # ---- transactions

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A block that commits at its end and rolls back if it raises. Inside another block it is a savepoint."""
        if self._backend.status == "I":
            begin, commit, rollback = "BEGIN", "COMMIT", "ROLLBACK"
        else:
            self._savepoints += 1
            name = f"gpudb_{self._savepoints}"
            begin, commit = f"SAVEPOINT {name}", f"RELEASE SAVEPOINT {name}"
            rollback = f"ROLLBACK TO SAVEPOINT {name}"
        self.execute(begin)
        try:
            yield self
        except BaseException:
            if not self._closed and self._backend.status != "I":
                self.execute(rollback)
            raise
        if self._backend.status == "E":
            self.execute(rollback)
            message = "the transaction was rolled back, since a statement in it had failed"
            raise SqlError.of("in_failed_sql_transaction", message)
        self.execute(commit)

    @property
    def status(self) -> str:
        """I outside a transaction, T in one, E in a failed one, which accepts only its end."""
        return self._backend.status

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction block is open."""
        return self._backend.status != "I"

    # ---- ends

    def cancel(self) -> None:
        """Cancels the running statement, with 57014; from any thread."""
        self._backend.cancel()

    def close(self) -> None:
        """Rolls back and ends the session; idempotent."""
        if self._closed:
            return
        self._backend.cancel()
        with self._lock:
            self._closed = True
            self._backend.close()

    def __enter__(self) -> Connection:
        """Returns the connection."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connection."""
        self.close()

    # ---- taking turns

    @contextmanager
    def _take_turn(self) -> Iterator[None]:
        """Serialises statements; a result that is being read is first read into memory."""
        with self._lock:
            if self._closed:
                raise SqlError.of("connection_does_not_exist", "the connection is closed")
            reading = self._reading() if self._reading is not None else None
            if reading is not None:
                reading.drain()
            self._reading = None
            yield

    def _start(self, sql: str, params: Sequence[object]) -> _Reading:
        self.notices = []
        try:
            reading = _Reading(self, self._backend.run(sql, tuple(params)))
        finally:
            self.notices = self._backend.take_notices()
        self._reading = weakref.ref(reading)
        return reading

    def _run_and_take_notices(self, run: Callable[[], _T]) -> _T:
        try:
            return run()
        finally:
            self.notices = self._backend.take_notices()

    def _collect(self, result: Result, batches: list[pa.RecordBatch] | None = None) -> Rows:
        rows = list(result.batches) if batches is None else batches
        return Rows(result.tag, result.columns, rows, self._backend.timezone)


def _is_query(statement: RawStatement) -> bool:
    if statement.kind not in _LAZY:
        return False
    node = statement.node
    return statement.kind != _COMPOSABLE or not node.HasField("into_clause")


class _Reading:
    """A result that is being read batch by batch, under the connection's lock."""

    def __init__(self, connection: Connection, result: Result) -> None:
        self._connection = connection
        self.result = result
        self._batches = iter(result.batches)
        self._buffer: deque[pa.RecordBatch] = deque()
        self._done = False
        self._error: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        with self._connection._lock:
            if self._buffer:
                return self._buffer.popleft()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._done:
                raise StopIteration
            try:
                return next(self._batches)
            except StopIteration:
                self._end(failed=False)
                raise
            except BaseException:
                self._end(failed=True)
                raise

    def drain(self) -> None:
        """Reads the rest into memory; an error is raised to the reader later."""
        while not self._done:
            try:
                self._buffer.append(next(self._batches))
            except StopIteration:
                self._end(failed=False)
            except GpudbError as error:
                self._error = error
                self._end(failed=True)

    def _end(self, *, failed: bool) -> None:
        if not self._done:
            self._done = True
            self.result.close()
            self._connection._backend.finish(failed=failed)

    def close(self) -> None:
        """Abandons the unread rest."""
        with self._connection._lock:
            self._buffer.clear()
            if not self._connection._closed:
                self._end(failed=False)

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

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
from gpudb.api.frames import as_relation
from gpudb.api.names import quoted
from gpudb.api.relation import Relation
from gpudb.api.rows import Row, Rows, tuples
from gpudb.errors import GpudbError, SqlError, UndefinedTable
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.sql.parse.parser import RawStatement, parse

_COMPOSABLE = "SelectStmt"
_T = TypeVar("_T")
_LAZY = frozenset({_COMPOSABLE, "VariableShowStmt", "ExplainStmt"})


class Connection:
    """Made by `gpudb.connect`. A context manager: leaving it closes it.

    May be shared by threads; statements take turns. `cancel` alone does not wait for its turn.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = threading.RLock()
        self._reading: weakref.ref[_Reading] | None = None
        self._savepoints = 0
        self._closed = False
        self.notices: list[Notice] = []
        """What the last statement told beside its result."""

    # ---- queries

    def sql(self, query: str, params: Sequence[object] = ()) -> Relation:
        """A lazy relation of one query (SELECT, VALUES, TABLE, WITH, SHOW, EXPLAIN), `$1` … being `params`.

        42601 if it is no single query, with a hint; what its names mean is looked up when it is used.
        """
        statements = parse(query)
        if len(statements) != 1 or not _is_query(statements[0]):
            kinds = "one query is expected" if len(statements) != 1 else "this statement is no query"
            hint = "Statements that change something are run by Connection.execute."
            raise SqlError.of("syntax_error", kinds, hint=hint)
        text = statements[0].text
        return Relation(self, text, tuple(params), composable=statements[0].kind == _COMPOSABLE)

    def table(self, name: str) -> Relation:
        """A table, view or registered frame as a relation; `name` as SQL has it (`schema.table`)."""
        return self.sql(f"SELECT * FROM {name}")

    def execute(self, sql: str, params: Sequence[object] = ()) -> Rows:
        """Runs a statement now, `$1` … being `params`; or a text of several, as one transaction, without
        parameters. The rows (of the last one).
        """
        with self._turn():
            if not params and len(parse(sql)) > 1:
                result = self._told(lambda: self._backend.script(sql))
                return self._collected(result)
            reading = self._start(sql, params)
            with reading:
                return self._collected(reading.result, list(reading))

    def head(self, query: str, params: Sequence[object], rows: int) -> Rows:
        """At least the first `rows` rows of a query, which is then given up."""
        with self._turn():
            reading = self._start(query, params)
            batches: list[pa.RecordBatch] = []
            with reading:
                for batch in reading:
                    batches.append(batch)
                    if sum(each.num_rows for each in batches) >= rows:
                        break
            return self._collected(reading.result, batches)

    def describe(self, query: str, params: Sequence[object] = ()) -> tuple[ResultColumn, ...]:
        """The columns that a query would give: names and types."""
        with self._turn():
            return self._backend.describe(query, params)

    def stream(self, query: str, params: Sequence[object] = ()) -> Iterator[Row]:
        """The rows of a query as tuples, while it runs (see `Relation.__iter__`)."""
        with self._turn():
            reading = self._start(query, params)
        with reading:
            for batch in reading:
                yield from tuples(reading.result.columns or (), batch)

    # ---- tables from elsewhere

    def register(self, name: str, frame: object) -> Relation:
        """Makes an Arrow table, a Polars frame or a pandas DataFrame a table of this connection.

        `name` is the name as quoted in SQL would have it: unquoted names in SQL are lower case. It hides a
        table of that name, and takes the place of a frame of that name. A lazy frame is collected here.
        Errors: 42804, 0A000 for a column that no SQL type holds or no column at all, 42701 for two of one name.
        """
        table, types = as_relation(frame)
        with self._turn():
            self._backend.register(name, table, types)
        return self.table(quoted(name))

    def unregister(self, name: str) -> None:
        """Forgets a registered frame; 42P01 if there is none of that name."""
        with self._turn():
            if not self._backend.unregister(name):
                raise UndefinedTable(f'no frame is registered as "{name}"')

    def copy_from(self, sql: str, chunks: Iterable[bytes]) -> int:
        """Runs `COPY … FROM STDIN` over chunks of data, cut anywhere; the number of rows. All or nothing."""
        with self._turn():
            tag = self._told(lambda: self._backend.copy_in(sql, chunks))
        return int(tag.rpartition(" ")[2])

    def append(self, table: str, frame: object) -> int:
        """Adds the rows of an Arrow table, Polars or pandas frame to a table, columns matched by name; how many.

        `table` is a name as SQL has it. 42703 for a column that the table lacks; columns that the frame lacks
        get their defaults. Errors of `register` and of INSERT.
        """
        rows, types = as_relation(frame)
        with self._turn():
            return self._told(lambda: self._backend.append(table, rows, types))

    # ---- transactions

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A block that commits at its end, and rolls back if it raises. Within another one, a savepoint."""
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
        """I outside a transaction, T in one, E in one that failed and takes only its end."""
        return self._backend.status

    @property
    def in_transaction(self) -> bool:
        """Whether BEGIN was run and its end was not."""
        return self._backend.status != "I"

    # ---- ends

    def cancel(self) -> None:
        """Ends the statement that runs, with 57014; from any thread."""
        self._backend.cancel()

    def close(self) -> None:
        """Rolls back what is open and ends the session; idempotent."""
        if self._closed:
            return
        self._backend.cancel()
        with self._lock:
            self._closed = True
            self._backend.close()

    def __enter__(self) -> Connection:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()

    # ---- taking turns

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One statement at a time; a result that is being read is read into memory first."""
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

    def _told(self, run: Callable[[], _T]) -> _T:
        try:
            return run()
        finally:
            self.notices = self._backend.take_notices()

    def _collected(self, result: Result, batches: list[pa.RecordBatch] | None = None) -> Rows:
        found = list(result.batches) if batches is None else batches
        return Rows(result.tag, result.columns, found, self._backend.timezone)


def _is_query(statement: RawStatement) -> bool:
    if statement.kind not in _LAZY:
        return False
    node = statement.node
    return statement.kind != _COMPOSABLE or not node.HasField("into_clause")


class _Reading:
    """A result that is being read: batch after batch under the connection's lock."""

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
        """Reads the rest into memory; an error waits for whoever reads on."""
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
        """Gives up what was not read."""
        with self._connection._lock:
            self._buffer.clear()
            if not self._connection._closed:
                self._end(failed=False)

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

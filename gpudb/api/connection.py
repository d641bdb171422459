"""A connection: one session with a database in this process or with a server."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import TypeVar

import pyarrow as pa

from gpudb.api.backend import Backend
from gpudb.api.boundary import get_caller, is_shortened, public
from gpudb.api.console import find_console, open_browser
from gpudb.api.finished import FinishedStatement
from gpudb.api.frames import convert_frame
from gpudb.api.interrupts import check_interrupt
from gpudb.api.names import quote_identifier
from gpudb.api.relation import Relation
from gpudb.api.rows import Row, Rows
from gpudb.api.scope_frames import OtherVariable, find_scope_frames
from gpudb.api.statement_watch import StatementWatch, is_interactive
from gpudb.engine.sharing import SharePlace
from gpudb.errors import GpudbError, SqlError, UndefinedTable
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.sql.parse.literal_rows import shorten
from gpudb.sql.parse.parser import RawStatement, kind, parse
from gpudb.storage.load.progress import Progress

_COMPOSABLE = "SelectStmt"
_T = TypeVar("_T")
_LAZY = frozenset({_COMPOSABLE, "VariableShowStmt", "ExplainStmt"})


class Connection:
    """Created by `gpudb.connect`. A context manager: leaving it closes it.

    Threads may share it; their statements are serialised. Only `cancel` and `progress` do not wait.
    """

    def __init__(self, backend: Backend, *, local_frames: bool = True) -> None:
        self._backend = backend
        self.local_frames = local_frames
        """Whether names of frames in the calling code's variables are tables of its statements."""
        self._lock = threading.RLock()
        self._reading: weakref.ref[_Reading] | None = None
        self.progress_bar = is_interactive()
        """Whether a statement of over a second shows a bar; at first in notebooks and at prompts alone."""
        self._watch = StatementWatch(self)
        self._savepoints = 0
        self._rows_read = 0
        self._closed = False
        self.notices: list[Notice] = []
        """The notices of the last statement."""

    # ---- queries

    @public
    def sql(self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None) -> Relation:
        """Returns a lazy relation of one query (SELECT, VALUES, TABLE, WITH, SHOW, EXPLAIN) with `params` for `$1` ….

        A name that is no table here may be a variable of the calling code that holds a frame (see `register`), local
        or global; it is read whenever the relation runs. `frames` are such tables by name, instead of variables. A
        query's names are resolved when it is used.
        Any other statement, or a text of several, runs now, as `execute` runs it: the relation has its rows, if it
        returns some, and prints its command tag.
        """
        statements = self._parse(query)
        if len(statements) != 1 or not _is_query(statements[0]):
            done = FinishedStatement(self, self.execute(query, params, frames=frames))
            return Relation(done, query, tuple(params), composable=False)
        text = statements[0].text
        found = self._find_frames(text, frames)
        return Relation(self, text, tuple(params), composable=statements[0].kind == _COMPOSABLE, frames=found)

    @public
    def table(self, name: str) -> Relation:
        """Returns a table, view or registered frame as a relation; `name` as in SQL (`schema.table`)."""
        return self.sql(f"SELECT * FROM {name}")

    @public
    def execute(self, sql: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None) -> Rows:
        """Runs a statement now, with `params` for `$1` …; or a text of several, as one transaction, without parameters.

        Returns the rows (of the last one). Variables and `frames` are tables as for `sql`.
        """
        found = self._find_frames(sql, frames)
        with self._take_turn(sql):
            if not params and len(self._parse(shorten(sql))) > 1:
                with self._register_for_now(found):
                    result = self._run_and_take_notices(lambda: self._backend.script(sql))
                    return self._collect(result)
            reading = self._start(sql, params, frames=found)
            with reading:
                return self._collect(reading.result, list(reading))

    @public
    def fetch(self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None) -> Rows:
        """Returns all rows of one query; a gpudb server sends them as Arrow batches."""
        found = self._find_frames(query, frames)
        with self._take_turn(query):
            reading = self._start(query, params, frames=found)
            with reading:
                return self._collect(reading.result, list(reading))

    def share(
        self,
        query: str,
        params: Sequence[object],
        read: Callable[[str], _T],
        place: SharePlace = SharePlace.HOST,
        *,
        frames: Mapping[str, object] | None = None,
    ) -> _T | None:
        """Returns what `read` makes of rows in workers' memory (see `Backend.share`); None if they cannot be shared."""
        if self._find_frames(query, frames):
            return None
        with self._take_turn(query):
            return self._backend.share(query, params, read, place)

    @public
    def head(
        self, query: str, params: Sequence[object], rows: int, *, frames: Mapping[str, object] | None = None
    ) -> Rows:
        """Returns at least the first `rows` rows of a query, which is then abandoned."""
        found = self._find_frames(query, frames)
        with self._take_turn(query):
            reading = self._start(query, params, rows, found)
            batches: list[pa.RecordBatch] = []
            with reading:
                for batch in reading:
                    batches.append(batch)
                    if sum(collected.num_rows for collected in batches) >= rows:
                        break
            return self._collect(reading.result, batches)

    @public
    def describe(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> tuple[ResultColumn, ...]:
        """Returns the columns of a query: names and types."""
        found = self._find_frames(query, frames)
        with self._take_turn(query), self._register_for_now(found, rows=False):
            return self._backend.describe(query, params)

    def stream(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> Iterator[Row]:
        """Yields the rows of a query as tuples, while it runs (see `Relation.__iter__`)."""
        return self._iterate_rows(query, params, self._find_frames(query, frames))

    def _iterate_rows(self, query: str, params: Sequence[object], frames: Mapping[str, object]) -> Iterator[Row]:
        try:
            for rows in self.stream_batches(query, params, frames=frames):
                yield from rows
        except GpudbError as error:
            if not is_shortened(error):
                raise
            raise error.with_traceback(None) from None

    def stream_batches(
        self, query: str, params: Sequence[object] = (), *, frames: Mapping[str, object] | None = None
    ) -> Iterator[Rows]:
        """Yields the rows of a query batch by batch, while it runs."""
        return self._iterate_batches(query, params, self._find_frames(query, frames))

    def _iterate_batches(self, query: str, params: Sequence[object], frames: Mapping[str, object]) -> Iterator[Rows]:
        reading: _Reading | None = None
        try:
            with self._take_turn(query):
                reading = self._start(query, params, frames=frames)
        except KeyboardInterrupt:
            if reading is not None:  # it came when the statement had begun
                reading.close()
            raise
        with reading:
            for batch in reading:
                yield self._collect(reading.result, [batch])

    # ---- tables from elsewhere

    @public
    def register(self, name: str, frame: object) -> Relation:
        """Registers a frame as a table of this connection: an Arrow table, a Polars, pandas or cuDF frame, a dict of
        columns, or any Arrow stream (an object with `__arrow_c_stream__`).

        `name` is matched as a quoted name: unquoted names in SQL are lower case. It hides a table of that name and
        replaces a frame of that name. A lazy frame is collected here. Errors name the column: 42804 for values
        without a common type, 0A000 for a column without a matching SQL type or no column at all, 42701 for duplicate
        names.
        """
        table, types = convert_frame(frame)
        with self._take_turn():
            self._backend.register(name, table, types)
        return self.table(quote_identifier(name))

    @public
    def unregister(self, name: str) -> None:
        """Unregisters a frame; 42P01 if there is none of that name."""
        with self._take_turn():
            if not self._backend.unregister(name):
                raise UndefinedTable(f'no frame is registered as "{name}"')

    @public
    def copy_from(self, sql: str, chunks: Iterable[bytes]) -> int:
        """Runs `COPY … FROM STDIN` over chunks of data, cut anywhere, all or nothing; returns the number of rows."""
        with self._take_turn(sql, interruptible=False):  # Ctrl-C ends the source of the chunks
            tag = self._run_and_take_notices(lambda: self._backend.copy_in(sql, chunks))
        return int(tag.rpartition(" ")[2])

    @public
    def copy_to(self, sql: str, write: Callable[[bytes], object]) -> int:
        """Runs `COPY … TO STDOUT` and hands its data to `write`, cut anywhere; returns the number of rows."""
        with self._take_turn(sql):
            tag = self._run_and_take_notices(lambda: self._backend.copy_out(sql, write))
        return int(tag.rpartition(" ")[2])

    @public
    def append(self, table: str, frame: object) -> int:
        """Adds the rows of a frame (see `register`) to a table, columns matched by name; returns their number.

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

    # ---- the running statement

    def progress(self) -> Progress:
        """How far the running statement is: bytes of a load and rows stored, or the fraction of a query that is done.

        A query has the rows of its result that were read. From any thread; a total of 0 bytes and a fraction of None
        are unknown.
        """
        found = self._backend.progress()
        if found is None or found.fraction is not None:
            return Progress(0, 0, self._rows_read, fraction=None if found is None else found.fraction)
        return found

    def cancel(self) -> None:
        """Cancels the running statement, with 57014; from any thread."""
        self._backend.cancel()

    @public
    def console(self, *, browse: bool = True) -> str:
        """Opens the server's console in a browser, if there is one and `browse`; returns its address.

        0A000 for a database in this process and for a server without HTTP; 08001 if the console cannot be reached from
        here, with how it can.
        """
        row = self.execute("SHOW gpudb.console_url").fetchone() if self._backend.host else None
        address = find_console("" if row is None else str(row[0]), self._backend.host)
        if browse:
            open_browser(address)
        return address

    # ---- ends

    @public
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
    def _take_turn(self, sql: str = "", *, interruptible: bool = True) -> Iterator[None]:
        """Serialises statements; a result that is being read is first read into memory.

        Ctrl-C cancels what runs in the block. Errors are told with the text of the statement.
        """
        watch = self._watch if self.progress_bar else nullcontext()
        with self._lock, watch, self._backend.interruptible() if interruptible else nullcontext():
            if self._closed:
                raise SqlError.of("connection_does_not_exist", "the connection is closed")
            reading = self._reading() if self._reading is not None else None
            if reading is not None:
                reading.drain()
            self._reading = None
            try:
                yield
            except GpudbError as error:
                if error.statement is None:
                    error.statement = sql
                raise

    def _parse(self, sql: str) -> list[RawStatement]:
        try:
            return parse(sql)
        except GpudbError as error:
            error.statement = sql
            raise

    def _find_frames(self, sql: str, frames: Mapping[str, object] | None) -> Mapping[str, object]:
        """Returns frames that a statement may read: those given, else variables of the calling code."""
        if frames is not None:
            return frames
        caller = get_caller() if self.local_frames else None
        return {} if caller is None else find_scope_frames(sql, caller)

    @contextmanager
    def _register_for_now(self, frames: Mapping[str, object], *, rows: bool = True) -> Iterator[None]:
        """Registers frames whose names are no tables here for the duration of the block."""
        missing = self._backend.find_missing(list(frames)) if frames else ()
        registered = []
        try:
            for name in missing:
                frame = frames[name]
                if not isinstance(frame, OtherVariable):
                    table, types = convert_frame(frame, rows=rows)
                    check_interrupt()
                    self._backend.register(name, table, types)
                    registered.append(name)
            yield
        except UndefinedTable as error:
            for other in (frames[name] for name in missing):
                if isinstance(other, OtherVariable) and f'"{other.name.lower()}"' in error.message.lower():
                    error.hint = f'The Python variable "{other.name}" is of type {other.type_name}, which is no frame.'
            raise
        finally:
            for name in registered:
                self._backend.unregister(name)

    def _start(
        self,
        sql: str,
        params: Sequence[object],
        rows: int | None = None,
        frames: Mapping[str, object] | None = None,
    ) -> _Reading:
        if frames:
            with self._register_for_now(frames):
                return self._start(sql, params, rows)
        self.notices = []
        self._rows_read = 0
        try:
            reading = _Reading(self, self._backend.run(sql, tuple(params), rows))
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
    if statement.kind != _COMPOSABLE:
        return True
    node = statement.node
    changes = any(kind(each.common_table_expr.ctequery) != "select_stmt" for each in node.with_clause.ctes)
    return not changes and not node.HasField("into_clause")


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
        with self._connection._lock, self._connection._backend.interruptible():
            if self._buffer:
                return self._buffer.popleft()
            if self._error is not None:
                error, self._error = self._error, None
                raise error
            if self._done:
                raise StopIteration
            try:
                batch = next(self._batches)
                self._connection._rows_read += batch.num_rows
                return batch
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
        with self._connection._lock, self._connection._backend.interruptible():
            self._buffer.clear()
            if not self._connection._closed:
                self._end(failed=False)

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""A session of a server, through psycopg: gpudb's own server, or any PostgreSQL."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.csv

from gpudb import errors
from gpudb.api.arrow_stream import decode_stream
from gpudb.api.backend import T, make_copy_error
from gpudb.api.names import format_column_definitions, quote_identifier
from gpudb.api.placeholders import insert_parameters, restore_position
from gpudb.api.statement_facts import find_query
from gpudb.api.text_columns import parse_column
from gpudb.api.wire_types import get_wire_type
from gpudb.engine.sharing import SharePlace
from gpudb.errors import FeatureNotSupported, GpudbError, OutOfMemory, SqlError, sqlstates
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.storage.load.progress import Progress
from gpudb.types import SqlType
from gpudb.values import Interval
from gpudb.values.text_columns import format_text_column

CONNECT_TIMEOUT_S = 10
CHUNK_ROWS = 8192
SIGNAL_INTERVAL_S = 0.02
_PROGRESS = """
SELECT bytes_processed, bytes_total, tuples_processed, tuples_excluded
FROM pg_catalog.pg_stat_progress_copy WHERE pid = %s AND tuples_processed IS NOT NULL
"""
_QUERY_PROGRESS = "SELECT fraction FROM pg_catalog.gpudb_progress WHERE pid = %s"


def _import_psycopg() -> Any:
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        message = "connecting to a server needs psycopg, which is not installed"
        hint = "Run: pip install 'psycopg[binary]'"
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from error


@cache
def _prompt_class(connection_class: Any) -> Any:
    """psycopg's connection, which looks for signals as often as a user expects of Ctrl-C."""

    class PromptConnection(connection_class):  # type: ignore[misc]
        def wait(self, gen: Any, interval: float = SIGNAL_INTERVAL_S) -> Any:
            return super().wait(gen, interval)

    return PromptConnection


class _MatrixText(str):
    """The text of a matrix, which is sent with its type."""


@cache
def _matrix_dumper(psycopg: Any) -> Any:
    class MatrixDumper(psycopg.adapt.Dumper):  # type: ignore[misc]
        oid = SqlType("matrix").oid

        def dump(self, obj: str) -> bytes:
            return obj.encode()

    return MatrixDumper


class RemoteBackend:
    """See `backend.Backend`."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self._psycopg = psycopg = _import_psycopg()
        self._notices: list[Notice] = []
        self._registered: set[str] = set()
        self._url = url
        self._observer: Any = None
        self._is_gpudb: bool | None = None
        self._has_no_workers = False
        self._tells_progress = True
        self._connection: Any = None
        with self._translate_errors():
            self._connection = _prompt_class(psycopg.Connection).connect(
                url, autocommit=True, cursor_factory=psycopg.RawCursor, connect_timeout=CONNECT_TIMEOUT_S
            )
        self._connection.add_notice_handler(self._add_notice)
        # Every value is received as the server's text.
        adapters = psycopg.adapt.AdaptersMap(self._connection.adapters)
        loader = psycopg.types.string.TextLoader
        for kind in psycopg.adapters.types:
            for oid in (kind.oid, kind.array_oid):
                if oid:
                    adapters.register_loader(oid, loader)
        adapters.register_loader(0, loader)
        adapters.register_dumper(_MatrixText, _matrix_dumper(psycopg))
        self._connection._adapters = adapters
        with self._translate_errors():
            self._connection.execute("SET DateStyle TO 'ISO, MDY'")
            self._connection.execute("SET IntervalStyle TO 'postgres'")
            for name, value in settings.items():
                self._connection.execute("SELECT set_config($1, $2, false)", (name, value))

    @property
    def status(self) -> str:
        status = self._connection.info.transaction_status.name
        return {"IDLE": "I", "INERROR": "E"}.get(status, "T" if status == "INTRANS" else "I")

    @property
    def timezone(self) -> str:
        return self._connection.info.parameter_status("TimeZone") or "UTC"

    @property
    def host(self) -> str:
        return str(self._connection.info.host)

    def describe(self, sql: str, parameters: Sequence[object]) -> tuple[ResultColumn, ...]:
        from gpudb.api.parameters import get_parameter_type

        oids = [0 if (kind := get_parameter_type(value)) is None else kind.oid for value in parameters]
        with self._translate_errors():
            pgconn = self._connection.pgconn
            for result in (
                pgconn.prepare(b"", sql.encode(), oids),
                result_ := pgconn.describe_prepared(b""),
            ):
                if result.status == self._psycopg.pq.ExecStatus.FATAL_ERROR:
                    raise self._psycopg.errors.error_from_result(result, encoding="utf-8")
        return _get_columns(result_)

    def run(self, sql: str, parameters: Sequence[object], rows: int | None = None) -> Result:
        query = find_query(sql)
        if query is not None and rows is not None:
            # A result is received whole
            with _shift_positions(query.start - len(_BEFORE)):
                return self.run(f"{_BEFORE}{query.text}\n) AS first_rows LIMIT {rows}", parameters)
        if query is not None and query.is_bulk and self._sends_arrow:
            with _shift_positions(query.start):
                sent = self._copy_out(query.text, parameters, "arrow")
            if sent is not None:
                columns, batches = decode_stream(sent)
                return Result("SELECT", columns, iter(batches))
        cursor = self._connection.cursor()
        with self._translate_errors():
            if parameters:
                cursor.execute(sql, [self._adapt_parameter(value) for value in parameters])
            else:
                cursor.execute(sql)
            return self._collect(cursor)

    @property
    def _sends_arrow(self) -> bool:
        """Whether the server is gpudb's, which knows COPY's format arrow."""
        if self._is_gpudb is None and self.status != "E":
            with self._translate_errors():
                ((version,),) = self._connection.execute("SELECT pg_catalog.version()").fetchall()
            self._is_gpudb = "(gpudb)" in version
        return bool(self._is_gpudb)

    def _copy_out(self, sql: str, parameters: Sequence[object], form: str) -> bytes | None:
        """Returns what COPY makes of a query in a format; None if the parameters cannot be literals."""
        text = insert_parameters(sql, parameters)
        if text is None:
            return None
        statement = f"{_COPY_BEFORE}{text}\n) TO STDOUT (FORMAT {form})"
        try:
            with (
                _shift_positions(-len(_COPY_BEFORE)),
                self._translate_errors(),
                self._connection.cursor().copy(statement) as copy,
            ):
                return b"".join(copy)
        except GpudbError as error:
            if error.position:
                error.position = restore_position(sql, parameters, error.position)
            raise

    def share(self, sql: str, parameters: Sequence[object], read: Callable[[str], T], place: SharePlace) -> T | None:
        query = find_query(sql)
        if query is None or not query.is_bulk or self._has_no_workers or not self._is_near or not self._sends_arrow:
            return None
        try:
            # A savepoint within a transaction: the server may decline.
            with self._translate_errors(), self._connection.transaction():
                sent = self._copy_out(query.text, parameters, place)
                return None if sent is None else read(sent.decode())
        except FeatureNotSupported as error:
            self._has_no_workers = "there are none" in error.message
            return None
        except (OSError, OutOfMemory):  # not this host's memory, another user's, or too small
            return None

    @property
    def _is_near(self) -> bool:
        """Whether the server may be on this host."""
        address = self._connection.info.hostaddr or "local"
        return address in {"127.0.0.1", "::1", "local"}

    def _collect(self, cursor: Any) -> Result:
        """Returns the last result in columns, whole: a numeric column's digits are known only when all values are."""
        status = cursor.statusmessage or ""
        if cursor.description is None:
            return Result(status)
        columns_ = _get_columns(cursor.pgresult)
        rows = cursor.fetchall()
        tag = status.rstrip("0123456789").rstrip() or "SELECT"
        if not columns_:
            batch_ = pa.RecordBatch.from_pylist([{}] * len(rows), pa.schema([]))
            return Result(tag, (), iter([batch_] if rows else []))
        texts = zip(*rows, strict=True) if rows else [()] * len(columns_)
        parsed = [parse_column(column.type, list(values)) for column, values in zip(columns_, texts, strict=True)]
        columns = tuple(replace(column, type=kind) for column, (kind, _) in zip(columns_, parsed, strict=True))
        arrays = [array for _, array in parsed]
        batch = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(1, len(arrays) + 1)])
        return Result(tag, columns, iter([batch] if rows else []))

    def finish(self, *, failed: bool) -> None:
        """No-op: the server ends its implicit transactions."""

    def script(self, sql: str) -> Result:
        cursor = self._connection.cursor()
        with self._translate_errors():
            cursor.execute(sql)
            while cursor.nextset():
                pass
            return self._collect(cursor)

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> str:
        cursor = self._connection.cursor()
        with self._translate_errors(), cursor.copy(sql) as copy:
            for chunk in chunks:
                copy.write(chunk)
        return cursor.statusmessage or ""

    def copy_out(self, sql: str, write: Callable[[bytes], object]) -> str:
        cursor = self._connection.cursor()
        with self._translate_errors(), cursor.copy(sql) as copy:
            for chunk in copy:
                write(bytes(chunk))
        return f"COPY {cursor.rowcount}"

    def register(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> None:
        with self._translate_errors(), self._connection.transaction():
            if name in self._registered:
                self._connection.execute(f"DROP TABLE {quote_identifier(name)}")
            columns = format_column_definitions(table.column_names, types)
            self._connection.execute(f"CREATE TEMPORARY TABLE {quote_identifier(name)} ({columns})")
            self.copy_in(f"COPY {quote_identifier(name)} FROM STDIN (FORMAT csv)", iterate_csv(table, types))
        self._registered.add(name)

    def append(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> int:
        columns = ", ".join(quote_identifier(column) for column in table.column_names)
        tag = self.copy_in(f"COPY {name} ({columns}) FROM STDIN (FORMAT csv)", iterate_csv(table, types))
        return int(tag.rpartition(" ")[2])

    def find_missing(self, names: Sequence[str]) -> list[str]:
        if self.status == "E":
            return []
        query = "SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(quote_ident(name)) IS NULL"
        with self._translate_errors():
            return [name for (name,) in self._connection.execute(query, [list(names)]).fetchall()]

    def unregister(self, name: str) -> bool:
        if name not in self._registered:
            return False
        if self.status == "E":  # the transaction, which cannot go on, takes the table with it
            self._registered.discard(name)
            return True
        with self._translate_errors():
            self._connection.execute(f"DROP TABLE {quote_identifier(name)}")
        self._registered.discard(name)
        return True

    def take_notices(self) -> list[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def interruptible(self) -> AbstractContextManager[object]:
        return nullcontext()  # psycopg cancels the statement itself

    def progress(self) -> Progress | None:
        """Asked on a second connection, which `close` ends; None if the server has none left."""
        info = self._connection.info
        if info.transaction_status.name != "ACTIVE":
            return None
        try:
            if self._observer is None:
                self._observer = self._psycopg.connect(self._url, autocommit=True, connect_timeout=CONNECT_TIMEOUT_S)
            row = self._observer.execute(_PROGRESS, (info.backend_pid,)).fetchone()
            if row is not None and any(row):  # a COPY of a query sends nothing until the query has rows
                return Progress(*row)
            found = (
                self._observer.execute(_QUERY_PROGRESS, (info.backend_pid,)).fetchone()
                if self._tells_progress
                else None
            )
        except self._psycopg.errors.UndefinedTable:
            self._tells_progress = False
            return None
        except self._psycopg.Error:
            return None
        return None if found is None else Progress(0, 0, 0, fraction=found[0])

    def cancel(self) -> None:
        if not self._connection.closed and self._connection.info.transaction_status.name == "ACTIVE":
            self._connection.cancel_safe(timeout=CONNECT_TIMEOUT_S)

    def close(self) -> None:
        if self._observer is not None:
            self._observer.close()
        self._connection.close()

    # ---- psycopg's values and errors

    def _adapt_parameter(self, value: object) -> object:
        if isinstance(value, dict):
            return self._psycopg.types.json.Jsonb(value)
        from gpudb.api.parameters import format_parameter, is_matrix

        if is_matrix(value):
            return _MatrixText(format_parameter(value))
        return str(value) if isinstance(value, Interval) else value

    def _add_notice(self, diagnostic: Any) -> None:
        self._notices.append(
            Notice(
                diagnostic.message_primary or "",
                diagnostic.severity_nonlocalized or diagnostic.severity or "NOTICE",
                diagnostic.sqlstate or "00000",
                diagnostic.message_detail,
                diagnostic.message_hint,
            )
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Converts psycopg's errors to gpudb's, with the server's SQLSTATE."""
        try:
            yield
        except self._psycopg.Error as error:
            copying = self._end_copy() if isinstance(error, self._psycopg.ProgrammingError) else None
            raise _translate_error(error) if copying is None else copying from error

    def _end_copy(self) -> SqlError | None:
        """Ends a COPY that psycopg began and left open; returns the error for it, None if there was none."""
        if self._connection is None:
            return None
        pgconn, status = self._connection.pgconn, self._psycopg.pq.ExecStatus
        error = None
        if pgconn.transaction_status == self._psycopg.pq.TransactionStatus.ACTIVE:
            while (result := pgconn.get_result()) is not None:
                if result.status == status.COPY_IN:
                    error = make_copy_error(is_copy_from=True)
                    pgconn.put_copy_end(b"no data was given")
                elif result.status == status.COPY_OUT:
                    error = make_copy_error(is_copy_from=False)
                    while pgconn.get_copy_data(0)[0] > 0:
                        pass
        return error


_BEFORE = "SELECT * FROM (\n"
_COPY_BEFORE = "COPY (\n"


@contextmanager
def _shift_positions(by: int) -> Iterator[None]:
    """A block whose errors are told at their position in another text, where it is greater by so many characters."""
    try:
        yield
    except GpudbError as error:
        if error.position:
            error.position += by
        raise


def iterate_csv(table: pa.Table, types: Sequence[SqlType]) -> Iterator[bytes]:
    """Returns a table as CSV for COPY: every value in quotes, NULL an empty field."""
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="all_valid")
    for batch in table.to_batches(CHUNK_ROWS * 4):
        texts = [format_text_column(kind, column) for kind, column in zip(types, batch.columns, strict=True)]
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(pa.table(texts, names=table.column_names), sink, options)
        yield sink.getvalue().to_pybytes()


def _get_columns(result: Any) -> tuple[ResultColumn, ...]:
    columns = []
    for index in range(result.nfields):
        name = (result.fname(index) or b"").decode()
        kind = get_wire_type(result.ftype(index), result.fmod(index))
        columns.append(ResultColumn(name, kind, result.ftable(index), result.ftablecol(index)))
    return tuple(columns)


def _translate_error(error: Any) -> GpudbError:
    state = error.sqlstate or "08006"
    conditions = {value: key for key, value in reversed(sqlstates().items())}
    condition = conditions.get(state, "internal_error")
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GpudbError)]
    error_class = next((kind for kind in classes if kind.condition == condition), SqlError)
    diagnostic = error.diag
    position = diagnostic.statement_position
    translated: GpudbError = error_class(
        diagnostic.message_primary or str(error).strip() or "the connection failed",
        detail=diagnostic.message_detail,
        hint=diagnostic.message_hint,
        position=int(position) if position else None,
        condition=condition,
        where=diagnostic.context,
    )
    translated.sqlstate = state
    return translated

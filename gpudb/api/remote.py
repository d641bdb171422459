"""A session of a server, through psycopg: gpudb's own server, or any PostgreSQL."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.csv

from gpudb import errors
from gpudb.api.backend import make_copy_error
from gpudb.api.names import format_column_definitions, quote_identifier
from gpudb.api.text_columns import parse_column
from gpudb.errors import GpudbError, SqlError, UndefinedObject, sqlstates
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.types import TEXT, SqlType, type_by_oid
from gpudb.values import Interval
from gpudb.values.text_columns import format_text_column

CONNECT_TIMEOUT_S = 10
CHUNK_ROWS = 8192


def _import_psycopg() -> Any:
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        message = "connecting to a server needs psycopg, which is not installed"
        hint = "Run: pip install 'psycopg[binary]'"
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from error


class RemoteBackend:
    """See `backend.Backend`."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        self._psycopg = psycopg = _import_psycopg()
        self._notices: list[Notice] = []
        self._registered: set[str] = set()
        self._connection: Any = None
        with self._translate_errors():
            self._connection = psycopg.connect(
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

    def run(self, sql: str, parameters: Sequence[object]) -> Result:
        cursor = self._connection.cursor()
        with self._translate_errors():
            if parameters:
                cursor.execute(sql, [self._adapt_parameter(value) for value in parameters])
            else:
                cursor.execute(sql)
            return self._collect(cursor)

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

    def unregister(self, name: str) -> bool:
        if name not in self._registered:
            return False
        with self._translate_errors():
            self._connection.execute(f"DROP TABLE {quote_identifier(name)}")
        self._registered.discard(name)
        return True

    def take_notices(self) -> list[Notice]:
        notices, self._notices = self._notices, []
        return notices

    def cancel(self) -> None:
        if not self._connection.closed and self._connection.info.transaction_status.name == "ACTIVE":
            self._connection.cancel_safe(timeout=CONNECT_TIMEOUT_S)

    def close(self) -> None:
        self._connection.close()

    # ---- psycopg's values and errors

    def _adapt_parameter(self, value: object) -> object:
        if isinstance(value, dict):
            return self._psycopg.types.json.Jsonb(value)
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
        kind = _get_type(result.ftype(index), result.fmod(index))
        columns.append(ResultColumn(name, kind, result.ftable(index), result.ftablecol(index)))
    return tuple(columns)


def _get_type(oid: int, modifier: int) -> SqlType:
    try:
        kind = type_by_oid(oid)
        type_ = SqlType(kind.name, modifier if kind.name.lstrip("_") in _MODIFIED else -1)
        _ = type_.arrow  # KeyError for unsupported types
        return type_
    except (UndefinedObject, KeyError):
        return TEXT


_MODIFIED = frozenset({"numeric", "varchar", "bpchar", "bit", "varbit", "time", "timetz", "timestamp", "timestamptz"})


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

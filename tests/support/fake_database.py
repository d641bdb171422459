"""Minimal database behind the session interface: DuckDB, without rollback.

Besides DuckDB's SQL it has statements that misbehave deliberately: `FAULT` (an exception of no known kind),
`WAIT n` (n seconds, may be cancelled), `NOTICE text`, `REPORT name value`, `LOST` (57P01),
`WORKERLOST` (57P01 too).
"""

from __future__ import annotations

import contextlib
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import duckdb
import pyarrow as pa

from gpudb.catalog.roles import Role
from gpudb.errors import InFailedTransaction, QueryCanceled, SqlError, WorkerLost
from gpudb.session.mailbox import Mailbox
from gpudb.session.results import CopyIn, CopyOut, Notice, Prepared, Result, ResultColumn
from gpudb.session.state.prepared_statements import PreparedStatements
from gpudb.types import BOOL, DATE, FLOAT8, INT4, INT8, NUMERIC, TEXT, TIMESTAMP, SqlType, exact_numeric, type_by_oid

REPORTS = {
    "server_version": "16.4",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "application_name": "",
}

_TYPES = {
    pa.bool_(): BOOL,
    pa.int32(): INT4,
    pa.int64(): INT8,
    pa.float64(): FLOAT8,
    pa.date32(): DATE,
    pa.timestamp("us"): TIMESTAMP,
}


def sql_type(arrow: pa.DataType) -> SqlType:
    if pa.types.is_decimal(arrow):
        return exact_numeric(arrow.precision, arrow.scale) if arrow.scale else NUMERIC
    if pa.types.is_list(arrow):
        return sql_type(arrow.value_type).array
    return _TYPES.get(arrow, TEXT)


class FakeDatabase:
    """Fake database. `lines` holds the data of each successful COPY FROM STDIN."""

    def __init__(self, *roles: Role) -> None:
        self._roles = {role.name: role for role in roles or (Role(10, "gpudb", superuser=True),)}
        self._pids = itertools.count(1)
        self.connection = duckdb.connect()
        self.sessions: dict[int, FakeSession] = {}
        self.lines: list[bytes] = []

    def session(
        self, user: str, settings: Mapping[str, str] | None = None, client: str = "", database: str = "gpudb"
    ) -> FakeSession:
        if database != "gpudb":
            raise SqlError.of("invalid_catalog_name", f'database "{database}" does not exist')
        for name in settings or {}:
            if name not in REPORTS and name not in ("search_path", "extra_float_digits", "statement_timeout"):
                raise SqlError.of("undefined_object", f'unrecognized configuration parameter "{name}"')
        made = FakeSession(self, next(self._pids), dict(settings or {}))
        self.sessions[made.process_id] = made
        return made

    def role(self, name: str, database: str = "gpudb") -> Role | None:
        return self._roles.get(name)

    def roles(self) -> Mapping[str, Role]:
        return self._roles

    def is_member(self, role: str, group: str) -> bool:
        return role == group

    def password(self, name: str, verifier: str) -> None:
        self._roles[name] = replace(self._roles[name], verifier=verifier)

    def cancel(self, process_id: int) -> bool:
        found = self.sessions.get(process_id)
        if found is not None:
            found.cancel()
        return found is not None

    def close(self) -> None:
        self.connection.close()


class FakeSession:
    """Fake session. It tracks transaction status but does not roll back."""

    def __init__(self, database: FakeDatabase, process_id: int, settings: dict[str, str]) -> None:
        self.process_id = process_id
        self.database_oid = 5
        self.mailbox = Mailbox()
        self.on_terminate: Callable[[], None] | None = None
        self.system_user: str | None = None
        self.settings = settings
        self.closed = False
        self._database = database
        self._connection = database.connection.cursor()
        self._explicit = self._failed = False
        self.prepared = PreparedStatements()
        self._notices: list[Notice] = []
        self._reports: list[tuple[str, str]] = []
        self._canceled = threading.Event()
        self.is_waiting = False
        self.open_results = 0

    @property
    def status(self) -> str:
        return ("E" if self._failed else "T") if self._explicit else "I"

    def run(self, sql: str) -> Iterator[Result]:
        parts = [part for part in (piece.strip() for piece in sql.split(";")) if part]
        ended = False
        try:
            if not parts:
                yield Result("")
            for part in parts:
                yield self._start(part, ())
            ended = True
        finally:
            if not ended:
                self._failed = True
            self.sync()

    def prepare(self, sql: str, parameter_oids: Sequence[int] = ()) -> Prepared:
        if ";" in sql.rstrip().rstrip(";"):
            raise SqlError.of("syntax_error", "cannot insert multiple commands into a prepared statement")
        text = sql.strip().rstrip(";")
        count = max((int(number) for number in re.findall(r"\$(\d+)", text)), default=0)
        oids = [*parameter_oids, *[0] * count][: max(count, len(parameter_oids))]
        types = tuple(type_by_oid(oid) if oid else TEXT for oid in oids)
        columns = None
        if self._is_query(text):
            self._check_failed(text)
            nulls = re.sub(r"\$(\d+)", lambda found: f"NULL::{types[int(found[1]) - 1].duckdb}", text)
            columns = self._columns(self._duckdb(f"SELECT * FROM ({nulls}) LIMIT 0", ()).schema)
        return Prepared(sql, types, columns, text)

    def execute(self, prepared: Prepared, parameters: Sequence[object] = ()) -> Result:
        return self._start(str(prepared.statement), tuple(parameters), prepared.parameters)

    def fail(self) -> None:
        self._failed = True

    def sync(self) -> None:
        if not self._explicit:
            self._failed = False

    @property
    def has_idle_limits(self) -> bool:
        return any(name.startswith("idle_") for name in self.settings)

    def milliseconds(self, name: str) -> int:
        return int(self.settings.get(name, 0))

    def take_notices(self) -> list[Notice]:
        taken, self._notices = self._notices, []
        return taken

    def take_reports(self) -> list[tuple[str, str]]:
        taken, self._reports = self._reports, []
        return taken

    def reports(self) -> dict[str, str]:
        return {**REPORTS, **{name: value for name, value in self.settings.items() if name in REPORTS}}

    def cancel(self) -> None:
        self._canceled.set()
        with contextlib.suppress(duckdb.ConnectionException):  # closed by its own thread meanwhile
            self._connection.interrupt()

    def close(self) -> None:
        self.closed = True
        self._connection.close()

    # ---- statements

    def _is_query(self, text: str) -> bool:
        return text.split(maxsplit=1)[:1] != [] and text.split()[0].lower() in ("select", "values", "with")

    def _check_failed(self, text: str) -> None:
        if self._failed and text.split()[:1] and text.split()[0].upper() not in ("ROLLBACK", "COMMIT"):
            raise InFailedTransaction("current transaction is aborted")

    def _start(self, text: str, parameters: tuple[object, ...], types: tuple[SqlType, ...] = ()) -> Result:
        self._check_failed(text)
        self._canceled.clear()
        words = text.split()
        match [word.upper() for word in words[:2]]:
            case []:
                return Result("")
            case ["BEGIN", *_]:
                self._explicit = True
                return Result("BEGIN")
            case ["COMMIT", *_]:
                tag = "ROLLBACK" if self._failed else "COMMIT"
                self._explicit = self._failed = False
                return Result(tag)
            case ["ROLLBACK", *_]:
                self._explicit = self._failed = False
                return Result("ROLLBACK")
            case ["FAULT", *_]:
                raise ValueError("secret of the inside")
            case ["LOST", *_]:
                raise SqlError.of("admin_shutdown", "terminating connection due to administrator command")
            case ["WORKERLOST", *_]:
                raise WorkerLost("a worker of the cluster was lost while the statement ran")
            case ["WAIT", seconds]:
                self.is_waiting = True
                if self._canceled.wait(float(seconds)):
                    raise QueryCanceled("canceling statement due to user request")
                return Result("WAIT")
            case ["NOTICE", *_]:
                self._notices.append(Notice(" ".join(words[1:]), hint="look closely"))
                return Result("NOTICE")
            case ["REPORT", *_]:
                self.settings[words[1]] = words[2]
                self._reports.append((words[1], words[2]))
                return Result("SET")
            case ["SET" | "DEALLOCATE" | "CREATE", *_] if words[0].upper() != "CREATE":
                return Result(words[0].upper())
            case ["COPY", *_]:
                return self._copy(text)
        table = self._duckdb(text, parameters, types)
        if not self._is_query(text):
            return Result(f"{words[0].upper()} {words[1].upper()}" if words[0].upper() == "CREATE" else "DONE")
        self.open_results += 1

        def close() -> None:
            self.open_results -= 1

        return Result("SELECT", self._columns(table.schema), iter(table.to_batches()), close)

    def _duckdb(self, text: str, parameters: tuple[object, ...], types: tuple[SqlType, ...] = ()) -> pa.Table:
        for number, type_ in enumerate(types, 1):
            text = re.sub(rf"\${number}\b", f"(${number}::{type_.duckdb})", text)
        try:
            relation = self._connection.sql(text, params=list(parameters))
            return pa.table({}) if relation is None else relation.to_arrow_table()
        except duckdb.ParserException as error:
            raise SqlError.of("syntax_error", str(error), position=1) from error
        except duckdb.InterruptException:
            raise QueryCanceled("canceling statement due to user request") from None
        except duckdb.Error as error:
            raise SqlError.of("undefined_table", str(error)) from error

    def _columns(self, schema: pa.Schema) -> tuple[ResultColumn, ...]:
        return tuple(
            ResultColumn(field.name, sql_type(field.type), 16384, number) for number, field in enumerate(schema, 1)
        )

    def _copy(self, text: str) -> Result:
        if "TO STDOUT" in text.upper():
            out = CopyOut("", width=1)

            def chunks() -> Iterator[bytes]:
                for number in range(3):
                    yield b"%d\n" % number
                if "FAIL" in text.upper():
                    raise SqlError.of("data_exception", "COPY failed half way")
                out.tag = "COPY 3"

            out.chunks = chunks()
            return out
        received: list[bytes] = []

        def feed(data: bytes) -> None:
            if b"bad" in data:
                raise SqlError.of("bad_copy_file_format", "bad line", where="COPY t, line 1")
            received.append(data)

        def finish() -> str:
            if any(b"worse" in data for data in received):
                raise SqlError.of("not_null_violation", "worse line")
            self._database.lines.append(b"".join(received))
            return f"COPY {b''.join(received).count(b'%c' % 10)}"

        return CopyIn("", feed=feed, finish=finish, abort=lambda reason: received.clear(), width=1)

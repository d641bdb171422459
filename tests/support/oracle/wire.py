"""libpq client for oracle and gpudb that returns everything a client can see of a statement."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from psycopg import pq
from psycopg.pq.abc import PGconn, PGresult

CONNECTION_LOST = "08006"
"""SQLSTATE reported if the server closes the connection or does not answer in time."""

_ROWS = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.SINGLE_TUPLE)
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE, pq.ExecStatus.PIPELINE_ABORTED)
_STATUS = {
    pq.TransactionStatus.IDLE: "I",
    pq.TransactionStatus.INTRANS: "T",
    pq.TransactionStatus.INERROR: "E",
}
_NOTICE_FIELDS = (
    pq.DiagnosticField.SEVERITY_NONLOCALIZED,
    pq.DiagnosticField.SQLSTATE,
    pq.DiagnosticField.MESSAGE_PRIMARY,
    pq.DiagnosticField.MESSAGE_DETAIL,
    pq.DiagnosticField.MESSAGE_HINT,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one statement: rows in text format, or an error with its SQLSTATE."""

    rows: tuple[tuple[str | None, ...], ...] = ()
    columns: tuple[str, ...] = ()
    oids: tuple[int, ...] = ()
    typmods: tuple[int, ...] = ()
    tag: str = ""
    sqlstate: str | None = None
    message: str = ""
    status: str = "I"
    detail: str | None = None
    hint: str | None = None
    position: int | None = None

    @property
    def failed(self) -> bool:
        """Whether the statement failed."""
        return self.sqlstate is not None


class ServerSilent(Exception):
    """The server did not answer within the time limit."""


class WireClient:
    """One session over the PostgreSQL protocol; every wait ends after `timeout_s` seconds.

    `notices` has severity, SQLSTATE, message, detail and hint of each notice of the last call.
    """

    def __init__(self, dsn: str, timeout_s: float = 30.0) -> None:
        self.dsn = dsn
        self.timeout_s = timeout_s
        self.notices: list[tuple[str | None, ...]] = []
        self._pgconn = self._connect()

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the session."""
        self._pgconn.finish()

    @property
    def alive(self) -> bool:
        """Whether the connection is usable."""
        return self._pgconn.status == pq.ConnStatus.OK

    @property
    def status(self) -> str:
        """Transaction status as the server reports it: I, T or E; ? if the connection is closed."""
        return _STATUS.get(pq.TransactionStatus(self._pgconn.transaction_status), "?")

    def parameter(self, name: str) -> str | None:
        """Returns a parameter's value as the server reported it (ParameterStatus)."""
        value = self._pgconn.parameter_status(name.encode())
        return None if value is None else value.decode()

    def execute(self, sql: str) -> Outcome:
        """Runs `sql` by the simple protocol; of several statements, the first error or the last result is returned."""

        def ask() -> Outcome:
            self._pgconn.send_query(sql.encode())
            return self._outcome(self._results())

        return self._guarded(ask)

    def execute_extended(self, sql: str, params: Iterable[str | None] = ()) -> Outcome:
        """Runs one statement by the extended protocol, with untyped text parameters and text results."""

        def ask() -> Outcome:
            values = [None if value is None else value.encode() for value in params]
            self._pgconn.send_query_params(sql.encode(), values)
            return self._outcome(self._results())

        return self._guarded(ask)

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> Outcome:
        """Runs a COPY ... FROM STDIN and feeds it `chunks`."""

        def ask() -> Outcome:
            self._pgconn.send_query(sql.encode())
            first = self._next_result(self._deadline())
            if first is None or first.status != pq.ExecStatus.COPY_IN:
                return self._outcome([*([first] if first is not None else []), *self._results()])
            for chunk in chunks:
                while self._pgconn.put_copy_data(chunk) == 0:
                    self._flush(self._deadline())
            while self._pgconn.put_copy_end() == 0:
                self._flush(self._deadline())
            return self._outcome(self._results())

        return self._guarded(ask)

    def copy_out(self, sql: str) -> tuple[bytes, Outcome]:
        """Runs a COPY ... TO STDOUT; returns its bytes and its outcome."""
        parts: list[bytes] = []

        def ask() -> Outcome:
            self._pgconn.send_query(sql.encode())
            return self._outcome(self._results(parts))

        outcome = self._guarded(ask)
        return b"".join(parts), outcome

    # libpq, with a limit on every wait

    def _connect(self) -> PGconn:
        """Connects step by step: in one call, libpq would hold the interpreter, and so a server in this process."""
        pgconn, deadline = pq.PGconn.connect_start(self.dsn.encode()), self._deadline()
        while pgconn.status != pq.ConnStatus.BAD and (state := pgconn.connect_poll()) != pq.PollingStatus.OK:
            left = deadline - time.monotonic()
            ways = ([pgconn.socket], []) if state == pq.PollingStatus.READING else ([], [pgconn.socket])
            if state == pq.PollingStatus.FAILED or left <= 0 or not any(select.select(*ways, [], left)):
                break
        if pgconn.status != pq.ConnStatus.OK:
            raise ConnectionError(pgconn.get_error_message())
        pgconn.nonblocking = 1
        pgconn.notice_handler = self._hear
        return pgconn

    def _hear(self, notice: PGresult) -> None:
        self.notices.append(tuple(_text(notice.error_field(field)) for field in _NOTICE_FIELDS))

    def _deadline(self) -> float:
        return time.monotonic() + self.timeout_s

    def _wait(self, deadline: float, write: bool = False) -> None:
        left = deadline - time.monotonic()
        socket = self._pgconn.socket
        if left <= 0 or not any(select.select([socket], [socket] if write else [], [], left)):
            raise ServerSilent(f"no answer within {self.timeout_s:g} s")

    def _flush(self, deadline: float) -> None:
        while self._pgconn.flush() == 1:
            self._wait(deadline, write=True)
            self._pgconn.consume_input()

    def _next_result(self, deadline: float) -> PGresult | None:
        self._flush(deadline)
        while self._pgconn.is_busy():
            self._wait(deadline)
            self._pgconn.consume_input()
        return self._pgconn.get_result()

    def _results(self, copied: list[bytes] | None = None) -> Iterator[PGresult]:
        deadline = self._deadline()
        while (result := self._next_result(deadline)) is not None:
            if result.status == pq.ExecStatus.COPY_IN:
                self._pgconn.put_copy_end(b"no data: this client did not expect COPY FROM STDIN")
            elif result.status == pq.ExecStatus.COPY_OUT:
                self._drain_copy(deadline, copied if copied is not None else [])
            else:
                yield result

    def _drain_copy(self, deadline: float, copied: list[bytes]) -> None:
        while True:
            length, data = self._pgconn.get_copy_data(1)
            if length == -1:
                return
            if length == 0:
                self._wait(deadline)
                self._pgconn.consume_input()
            else:
                copied.append(bytes(data))

    def _outcome(self, results: Iterable[PGresult]) -> Outcome:
        last: PGresult | None = None
        for result in results:
            if last is None or last.status not in _FAILED:
                last = result
        if last is None:
            return Outcome(status=self.status)
        if last.status in _FAILED:
            state = last.error_field(pq.DiagnosticField.SQLSTATE)
            message = last.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or last.error_message
            code = state.decode() if state else CONNECTION_LOST
            position = last.error_field(pq.DiagnosticField.STATEMENT_POSITION)
            return Outcome(
                sqlstate=code,
                message=message.decode(errors="replace").strip(),
                status=self.status,
                detail=_text(last.error_field(pq.DiagnosticField.MESSAGE_DETAIL)),
                hint=_text(last.error_field(pq.DiagnosticField.MESSAGE_HINT)),
                position=int(position) if position else None,
            )
        columns = range(last.nfields)
        tag = (last.command_status or b"").decode()
        if last.status not in _ROWS:
            return Outcome(tag=tag, status=self.status)
        return Outcome(
            rows=tuple(tuple(_text(last.get_value(row, column)) for column in columns) for row in range(last.ntuples)),
            columns=tuple((last.fname(column) or b"").decode() for column in columns),
            oids=tuple(last.ftype(column) for column in columns),
            typmods=tuple(last.fmod(column) for column in columns),
            tag=tag,
            status=self.status,
        )

    def _guarded(self, ask: Callable[[], Outcome]) -> Outcome:
        self.notices.clear()
        try:
            return ask()
        except (ServerSilent, OSError) as error:
            lost = str(error)
            self._pgconn.finish()  # a late answer would be taken for the next statement's
        except Exception as error:
            if self.alive:
                raise
            lost = str(error)
        return Outcome(sqlstate=CONNECTION_LOST, message=lost.strip(), status="?")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()

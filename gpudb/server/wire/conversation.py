"""The protocol's state machine after start-up, without sockets: messages in, messages out.

             Parse, Bind, Describe, Execute, Close, Flush
                 ┌──┐
    Query     ┌──┴──▼──┐ error in one of those ┌──────────┐
    ┌─────────│ READY  │──────────────────────►│ SKIPPING │ drops all but Sync
    │         └─▲──▲──┬┘◄──────────────────────└──────────┘
    │ end, error│  │  │ COPY … FROM STDIN   Sync
    └───────────┘  │  ▼
                ┌──┴──────┐  CopyData (Flush and Sync are dropped)
                │ COPYING │──┐
                └─────────┘◄─┘  ends by CopyDone, CopyFail, an error, a message out of place

ReadyForQuery answers Query and Sync. After COPY from a Query the Query's other statements follow; after COPY from an
Execute reading continues, or skips to Sync after an error. Copy messages in READY are leftovers of a failed COPY and
are dropped. A portal lives until Close, another unnamed one, an error, or its transaction's end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpudb.errors import GpudbError, QueryCanceled, SqlError, WorkerLost
from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement import RepeatedStatement, Run
from gpudb.server.wire import messages, replies
from gpudb.server.wire.messages import ClientDisconnected, ProtocolViolation
from gpudb.server.wire.portals import Portals
from gpudb.server.wire.results import ResultRows, Send, send_copy
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn, CopyOut, Prepared, Result
from gpudb.values.binary import decode_utf8

CANCELED = "57014"
CONNECTION_LOST = "08006"
TERMINATING = "57P01"
"""SQLSTATE that ends the connection: pg_terminate_backend or shutdown. A lost worker's 57P01 does not."""

_SYNC, _FLUSH, _COPY_MESSAGES = ord("S"), ord("H"), frozenset(b"dcf")


@dataclass(frozen=True, slots=True)
class ExecutedStatement:
    """A statement that has ended, for the log. `seconds` are from its first message to its last row."""

    sql: str
    seconds: float
    rows: int
    sqlstate: str


@dataclass(slots=True)
class _Copy:
    """A COPY FROM STDIN in progress; `simple` if a Query began it."""

    result: CopyIn
    simple: bool


class Conversation:
    """One client's conversation. `send` queues messages, `flush` sends them to the client.

    `convert_error` converts any exception to the error that the client receives (and logs internal ones);
    `log_statement` is called with every text that has ended, `recorder` gets every statement.
    """

    def __init__(
        self,
        session: SessionInterface,
        send: Send,
        flush: Callable[[], None],
        convert_error: Callable[[BaseException], GpudbError],
        log_statement: Callable[[ExecutedStatement], None] | None = None,
        recorder: StatementRecorder | None = None,
    ) -> None:
        self._session = session
        self._send = send
        self._flush = flush
        self._convert_error = convert_error
        self._log_statement = log_statement
        self._record = None if recorder is None else recorder.record
        self._repeats_below = 0.0 if recorder is None else recorder.repeats_below
        self._repeated: RepeatedStatement | None = None
        self._last_recorded = ""
        self._has_parts, self._part_started = False, 0.0
        self._inbox = session.mailbox.inbox
        self._zone = session.reports().get("TimeZone", "UTC")
        self._reports: dict[str, str] = {}
        self._is_running, self._suspended_rows = False, 0
        self._unnamed: Prepared | None = None
        self._portals = Portals()
        self._script: Iterator[Result] | None = None
        self._copy: _Copy | None = None
        self._skipping = False
        self._is_ready = False
        self._timed_sql, self._started_at = "", 0.0
        self._handlers: dict[int, Callable[[bytes], None]] = {
            ord("Q"): self._handle_query,
            ord("P"): self._handle_parse,
            ord("B"): self._handle_bind,
            ord("D"): self._handle_describe,
            ord("E"): self._handle_execute,
            ord("C"): self._handle_close,
            ord("F"): self._handle_function_call,
        }

    @property
    def is_copying(self) -> bool:
        """Whether COPY data is expected."""
        return self._copy is not None

    @property
    def is_idle(self) -> bool:
        """Whether no statement and no transaction is in progress: ReadyForQuery was the last message, with status I."""
        return self._is_ready and self._session.status == "I"

    @property
    def is_idle_in_transaction(self) -> bool:
        """Whether a transaction is open and the client's next message is awaited."""
        return self._copy is None and self._session.status != "I"

    def handle_message(self, kind: int, payload: bytes) -> None:
        """Answers one message. Raises only what ends the connection: fatal ProtocolViolation, 57P01."""
        self._is_ready = False
        if self._copy is None:
            if kind == _SYNC:
                self._handle_sync()
                return
            if kind == _FLUSH:
                self._flush()
                return
            if self._skipping or kind in _COPY_MESSAGES:
                return
        try:
            if self._copy is not None:
                self._handle_copy_message(kind, payload)
            elif (handler := self._handlers.get(kind)) is not None:
                handler(payload)
            else:
                raise ProtocolViolation(f"invalid frontend message type {kind}", fatal=True)
        except ClientDisconnected:
            raise
        except BaseException as error:
            self._handle_error(error, simple=self._is_simple(kind))

    def send_ready(self) -> None:
        """Sends ReadyForQuery."""
        self._is_ready = True
        self._take_reports()
        if self._reports:
            reports, self._reports = self._reports, {}
            for name, value in reports.items():
                self._send(replies.parameter_status(name, value))
        self._send_notices()
        status = self._session.status
        if self._inbox and status == "I":
            self._send_notifications()
        self._send(replies.ready_for_query(status))
        self._flush()

    def deliver_notifications(self) -> None:
        """Sends what has arrived while the client is idle."""
        self._send_notifications()
        self._flush()

    def _send_notifications(self) -> None:
        inbox = self._inbox
        while inbox:
            self._send(replies.notification_response(inbox.popleft()))

    def _take_reports(self) -> None:
        """Records changed settings. A new time zone applies to the next statement, although it is reported later."""
        changed = self._session.take_reports()
        if changed:
            self._reports.update(changed)
            self._zone = self._reports.get("TimeZone", self._zone)

    def close(self) -> None:
        """Releases everything; a COPY in progress is rolled back, and a statement that still runs is logged."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort("connection lost")
        if self._is_running:
            self._record_statement(self._suspended_rows, "00000" if self._suspended_rows else CONNECTION_LOST)
        self._close_script()
        self._portals.clear()

    # ---- errors

    def _is_simple(self, kind: int) -> bool:
        return self._copy.simple if self._copy is not None else kind in b"QF"

    def _handle_error(self, error: BaseException, simple: bool) -> None:
        converted = self._convert_error(error)
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort(converted.message)
            copy.result.close()
        self._session.fail()
        self._close_script()
        self._portals.clear()
        self._record_statement(0, converted.sqlstate)
        if converted.sqlstate == TERMINATING and not isinstance(converted, WorkerLost):
            raise converted
        if isinstance(converted, ProtocolViolation) and converted.fatal:
            raise converted
        self._send_notices()
        self._send(replies.error_response(converted))
        if simple:
            self._session.sync()
            self.send_ready()
        else:
            self._skipping = True
            self._flush()

    def _start_timing(self, sql: str, *, runs: bool = False) -> None:
        """Starts timing a statement, which `runs` from here on; `_record_statement` ends it.

        One that was suspended has ended, as far as the log is concerned.
        """
        if self._is_running:
            self._record_statement(self._suspended_rows)
        self._timed_sql, self._started_at, self._is_running, self._suspended_rows = sql, time.monotonic(), runs, 0

    def _record_statement(
        self, rows: int, sqlstate: str = "00000", *, size: int = 0, encode_seconds: float = 0.0
    ) -> None:
        """Ends the timing of a statement: `size` are the bytes of its rows, which took `encode_seconds`."""
        sql = self._timed_sql
        if sql:
            seconds = (ended := time.monotonic()) - self._started_at
            repeated = self._repeated
            if (
                repeated is not None
                and seconds < repeated.below
                and sql == repeated.sql
                and not self._session.measures
                and sqlstate == "00000"
            ):
                repeated.append((ended, seconds, encode_seconds, rows, size))
            elif self._record is not None:
                self._record_other(sql, sqlstate, (ended, seconds, encode_seconds, rows, size))
            if self._log_statement is not None:
                self._log_statement(ExecutedStatement(sql, seconds, rows, sqlstate))
        self._timed_sql, self._is_running = "", False

    def _record_other(self, sql: str, sqlstate: str, run: Run) -> None:
        """Records a statement that is not a repeated one yet: it is from its second run in a row on."""
        assert self._record is not None
        session = self._session
        place = session.database_oid, session.process_id
        is_successful = sqlstate == "00000"
        if self._has_parts:
            self._end_parts(sqlstate)
            self._repeated, self._last_recorded = None, ""
        elif sql == self._last_recorded and is_successful and not session.measures and run[1] < self._repeats_below:
            # Between its runs is no other statement that would change the role or a setting.
            below = min(self._repeats_below, session.running.slow_after)
            self._repeated = RepeatedStatement(sql, session.identity.acting_role, *place, below)
            self._repeated.append(run)
            self._record(self._repeated)
        else:
            self._record((sql, session.identity.acting_role, sqlstate, *place, *run, session.measures))
            session.measures, self._repeated = {}, None
            self._last_recorded = sql if is_successful else ""
        if run[1] >= session.running.slow_after and is_successful:
            session.log_slow(sql, run[1])

    def _record_part(self, rows: int, sqlstate: str = "00000", *, size: int = 0, encode_seconds: float = 0.0) -> None:
        """Records one statement of a text of several."""
        assert self._record is not None
        if not self._has_parts:
            self._has_parts, self._part_started = True, self._started_at
        session, ended = self._session, time.monotonic()
        place = session.database_oid, session.process_id
        figures = ended, ended - self._part_started, encode_seconds, rows, size
        self._record((session.running.part, session.identity.acting_role, sqlstate, *place, *figures, session.measures))
        session.measures, self._part_started = {}, ended

    def _end_parts(self, sqlstate: str) -> None:
        """Ends a text of several statements, which are recorded each; one that failed is recorded now."""
        if sqlstate != "00000":
            self._record_part(0, sqlstate)
        self._has_parts = False

    def _send_notices(self) -> None:
        for notice in self._session.take_notices():
            self._send(replies.notice_response(notice))

    # ---- simple protocol

    def _handle_query(self, payload: bytes) -> None:
        sql = messages.parse_query(payload)
        self._start_timing(sql, runs=True)
        self._unnamed = None
        self._portals.drop("")
        self._script = iter(self._session.run(sql))
        self._continue_script()

    def _continue_script(self, rows: int = 0) -> None:
        """Runs the Query's statements until one needs COPY data or none is left; `rows` are those copied just now."""
        size, encode_seconds = 0, 0.0
        assert self._script is not None
        for result in self._script:
            if isinstance(result, CopyIn):
                self._begin_copy(result, simple=True)
                return
            sent, size, encode_seconds = self._send_result(result)
            rows += sent
            if self._record is not None and self._session.running.part:
                self._record_part(sent, size=size, encode_seconds=encode_seconds)
        self._close_script()
        self._record_statement(rows, size=size, encode_seconds=encode_seconds)
        self.send_ready()

    def _send_result(self, result: Result) -> tuple[int, int, float]:
        """Sends a statement's whole result; returns its number of rows or of changed ones, bytes and encoding time."""
        if result.columns is None and not isinstance(result, CopyOut):
            self._send_complete(result.tag)
            return _count_changed(result.tag), 0, 0.0
        formats = (0,) * len(result.columns or ())
        rows = ResultRows(result, formats)
        try:
            if isinstance(result, CopyOut):
                tag = send_copy(result, self._send)
                rows.sent = _count_changed(tag)
            else:
                self._send(replies.row_description(result.columns or (), formats))
                rows.send(self._send, 0, self._zone, None)
                tag = rows.get_tag()
        finally:
            rows.close()
        self._send_complete(tag)
        return rows.sent, rows.bytes, rows.encode_seconds

    def _send_complete(self, tag: str) -> None:
        self._take_reports()
        self._send_notices()
        self._send(replies.command_complete(tag) if tag else replies.EMPTY_QUERY)

    def _close_script(self) -> None:
        script, self._script = self._script, None
        close = getattr(script, "close", None)
        if close is not None:
            close()

    def _handle_function_call(self, payload: bytes) -> None:
        raise SqlError.of("feature_not_supported", "function calls by protocol message are not supported")

    # ---- COPY FROM STDIN

    def _begin_copy(self, result: CopyIn, simple: bool) -> None:
        self._copy = _Copy(result, simple)
        self._send(replies.copy_in_response(result.binary, result.width))
        self._flush()

    def _handle_copy_message(self, kind: int, payload: bytes) -> None:
        copy = self._copy
        assert copy is not None
        if kind == ord("d"):
            copy.result.feed(payload)
        elif kind == ord("c"):
            tag = copy.result.finish()
            self._copy = None
            copy.result.close()
            self._send_complete(tag)
            rows = _count_changed(tag)
            if not copy.simple:
                self._record_statement(rows)
                return
            if self._record is not None and self._session.running.part:
                self._record_part(rows)
            self._continue_script(rows)
        elif kind == ord("f"):
            reason = decode_utf8(payload.rstrip(b"\0"))
            raise QueryCanceled(f"COPY from stdin failed: {reason}")
        elif kind not in b"HS":
            raise ProtocolViolation(f"unexpected message type 0x{kind:02X} during COPY from stdin")

    # ---- extended protocol

    def _handle_parse(self, payload: bytes) -> None:
        message = messages.parse_parse(payload)
        self._start_timing(message.sql)
        if not message.name:
            self._unnamed = None
        prepared = self._session.prepare(message.sql, message.oids)
        if message.name:
            self._session.prepared.add(message.name, prepared)
        else:
            self._unnamed = prepared
        self._send(replies.PARSE_COMPLETE)

    def _get_prepared(self, name: str) -> Prepared:
        if name:
            return self._session.prepared.find(name)
        if self._unnamed is None:
            text = "unnamed prepared statement does not exist"
            raise SqlError.of("invalid_sql_statement_name", text)
        return self._unnamed

    def _handle_bind(self, payload: bytes) -> None:
        message = messages.parse_bind(payload)
        prepared = self._get_prepared(message.statement)
        self._start_timing(prepared.sql)
        self._portals.bind(message, prepared, self._zone)
        self._send(replies.BIND_COMPLETE)

    def _handle_describe(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "DESCRIBE")
        if target.kind == "S":
            prepared = self._get_prepared(target.name)
            self._send(replies.parameter_description(prepared.parameters))
            formats: tuple[int, ...] = (0,) * len(prepared.columns or ())
            self._send(prepared.descriptions.get(formats) or self._describe(prepared, formats))
            return
        elif target.name and target.name not in self._portals:
            # a cursor made by DECLARE: clients describe it like a portal
            name = target.name.replace('"', '""')
            prepared = self._session.prepare(f'FETCH NEXT FROM "{name}"')
            formats = (0,) * len(prepared.columns or ())
        else:
            portal = self._portals.find(target.name)
            prepared, formats = portal.prepared, portal.formats
        self._send(prepared.descriptions.get(formats) or self._describe(prepared, formats))

    def _describe(self, prepared: Prepared, formats: tuple[int, ...]) -> bytes:
        """Returns the description of a prepared statement's rows in these formats, which it keeps."""
        columns = prepared.columns
        description = replies.NO_DATA if columns is None else replies.row_description(columns, formats)
        prepared.descriptions[formats] = description
        return description

    def _handle_execute(self, payload: bytes) -> None:
        message = messages.parse_execute(payload)
        portal = self._portals.find(message.portal)
        if portal.done and portal.prepared.columns is None:
            raise SqlError.of("object_not_in_prerequisite_state", f'portal "{message.portal}" cannot be run')
        if portal.rows is None:
            self._start_timing(portal.prepared.sql, runs=True)
            result = self._session.execute(portal.prepared, portal.parameters)
            portal.done = True
            if isinstance(result, CopyIn):
                self._begin_copy(result, simple=False)
                return
            if isinstance(result, CopyOut) or result.columns is None:
                rows, size, encode_seconds = self._send_result(result)
                self._record_statement(rows, size=size, encode_seconds=encode_seconds)
                return
            portal.rows = ResultRows(result, portal.formats)
        if portal.rows.send(self._send, message.limit, self._zone, None):
            portal.rows.close()
            self._send_complete(portal.rows.get_tag())
            sent = portal.rows
            self._record_statement(sent.sent, size=sent.bytes, encode_seconds=sent.encode_seconds)
        else:
            self._suspended_rows = portal.rows.sent
            self._send(replies.PORTAL_SUSPENDED)

    def _handle_close(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "CLOSE")
        if target.kind == "P":
            self._portals.drop(target.name)
        elif target.name:
            self._session.prepared.remove(target.name)
        else:
            self._unnamed = None
        self._send(replies.CLOSE_COMPLETE)

    def _handle_sync(self) -> None:
        self._skipping = False
        try:
            self._session.sync()
        except ClientDisconnected:
            raise
        except BaseException as error:
            # the commit itself failed: the transaction is rolled back
            converted = self._convert_error(error)
            self._session.fail()
            self._session.sync()
            self._send(replies.error_response(converted))
        if self._session.status == "I":
            self._portals.clear()
        self.send_ready()


def _count_changed(tag: str) -> int:
    """Returns the rows that a command tag counts: `INSERT 0 5` are 5; none in `CREATE TABLE`."""
    number = tag.rpartition(" ")[2]
    return int(number) if number.isdigit() else 0

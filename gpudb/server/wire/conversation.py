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
from gpudb.server.wire import messages, replies
from gpudb.server.wire.messages import ClientGone, ProtocolViolation
from gpudb.server.wire.portals import Portals
from gpudb.server.wire.results import Rows, Send, send_copy
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn, CopyOut, Prepared, Result
from gpudb.values.binary import decode_utf8

CANCELED = "57014"
TERMINATING = "57P01"
"""SQLSTATE that ends the connection: pg_terminate_backend or shutdown. A lost worker's 57P01 does not."""

_SYNC, _FLUSH, _OF_COPY = ord("S"), ord("H"), frozenset(b"dcf")


@dataclass(frozen=True, slots=True)
class Ran:
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

    `failure` converts any exception to the error that the client receives (and logs internal ones); `ran` is called
    with every statement that has ended.
    """

    def __init__(
        self,
        session: SessionInterface,
        send: Send,
        flush: Callable[[], None],
        failure: Callable[[BaseException], GpudbError],
        ran: Callable[[Ran], None] | None = None,
    ) -> None:
        self._session = session
        self._send = send
        self._flush = flush
        self._failure = failure
        self._ran = ran
        self._zone = session.reports().get("TimeZone", "UTC")
        self._reports: dict[str, str] = {}
        self._unnamed: Prepared | None = None
        self._portals = Portals()
        self._script: Iterator[Result] | None = None
        self._copy: _Copy | None = None
        self._skipping = False
        self._timed, self._since = "", 0.0
        self._handlers: dict[int, Callable[[bytes], None]] = {
            ord("Q"): self._query,
            ord("P"): self._parse,
            ord("B"): self._bind,
            ord("D"): self._describe,
            ord("E"): self._execute,
            ord("C"): self._close,
            ord("F"): self._function_call,
        }

    @property
    def copying(self) -> bool:
        """Whether COPY data is expected."""
        return self._copy is not None

    @property
    def idle_in_transaction(self) -> bool:
        """Whether a transaction is open and the client's next message is awaited."""
        return self._copy is None and self._session.status != "I"

    def receive(self, kind: int, payload: bytes) -> None:
        """Answers one message. Raises only what ends the connection: fatal ProtocolViolation, 57P01."""
        if self._copy is None:
            if kind == _SYNC:
                self._sync()
                return
            if kind == _FLUSH:
                self._flush()
                return
            if self._skipping or kind in _OF_COPY:
                return
        try:
            if self._copy is not None:
                self._copy_message(kind, payload)
            elif (handler := self._handlers.get(kind)) is not None:
                handler(payload)
            else:
                raise ProtocolViolation(f"invalid frontend message type {kind}", fatal=True)
        except ClientGone:
            raise
        except BaseException as error:
            self._failed(error, simple=self._is_simple(kind))

    def ready(self) -> None:
        """Sends ReadyForQuery."""
        self._take_reports()
        if self._reports:
            reports, self._reports = self._reports, {}
            for name, value in reports.items():
                self._send(replies.parameter_status(name, value))
        self._notices()
        self._send(replies.ready_for_query(self._session.status))
        self._flush()

    def _take_reports(self) -> None:
        """Records changed settings. A new time zone applies to the next statement, although it is reported later."""
        changed = self._session.take_reports()
        if changed:
            self._reports.update(changed)
            self._zone = self._reports.get("TimeZone", self._zone)

    def close(self) -> None:
        """Releases everything; a COPY in progress is rolled back."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort("connection lost")
        self._close_script()
        self._portals.clear()

    # ---- errors

    def _is_simple(self, kind: int) -> bool:
        return self._copy.simple if self._copy is not None else kind in b"QF"

    def _failed(self, error: BaseException, simple: bool) -> None:
        told = self._failure(error)
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort(told.message)
            copy.result.close()
        self._session.fail()
        self._close_script()
        self._portals.clear()
        self._note(0, told.sqlstate)
        if told.sqlstate == TERMINATING and not isinstance(told, WorkerLost):
            raise told
        if isinstance(told, ProtocolViolation) and told.fatal:
            raise told
        self._notices()
        self._send(replies.error_response(told))
        if simple:
            self._session.sync()
            self.ready()
        else:
            self._skipping = True
            self._flush()

    def _time(self, sql: str) -> None:
        """Starts timing a statement; `_note` ends it."""
        self._timed, self._since = sql, time.monotonic()

    def _note(self, rows: int, sqlstate: str = "00000") -> None:
        if self._ran is not None and self._timed:
            self._ran(Ran(self._timed, time.monotonic() - self._since, rows, sqlstate))
        self._timed = ""

    def _notices(self) -> None:
        for notice in self._session.take_notices():
            self._send(replies.notice_response(notice))

    # ---- simple protocol

    def _query(self, payload: bytes) -> None:
        sql = messages.parse_query(payload)
        self._time(sql)
        self._unnamed = None
        self._portals.drop("")
        self._script = iter(self._session.run(sql))
        self._go_on()

    def _go_on(self) -> None:
        """Runs the Query's statements until one needs COPY data or none is left."""
        rows = 0
        assert self._script is not None
        for result in self._script:
            if isinstance(result, CopyIn):
                self._begin_copy(result, simple=True)
                return
            rows += self._whole(result)
        self._close_script()
        self._note(rows)
        self.ready()

    def _whole(self, result: Result) -> int:
        """Sends a statement's whole result; returns its number of rows."""
        if result.columns is None and not isinstance(result, CopyOut):
            self._complete(result.tag)
            return 0
        formats = (0,) * len(result.columns or ())
        rows = Rows(result, formats)
        try:
            if isinstance(result, CopyOut):
                tag = send_copy(result, self._send)
            else:
                self._send(replies.row_description(result.columns or (), formats))
                rows.send(self._send, 0, self._zone, None)
                tag = rows.tag()
        finally:
            rows.close()
        self._complete(tag)
        return rows.sent

    def _complete(self, tag: str) -> None:
        self._take_reports()
        self._notices()
        self._send(replies.command_complete(tag) if tag else replies.EMPTY_QUERY)

    def _close_script(self) -> None:
        script, self._script = self._script, None
        close = getattr(script, "close", None)
        if close is not None:
            close()

    def _function_call(self, payload: bytes) -> None:
        raise SqlError.of("feature_not_supported", "function calls by protocol message are not supported")

    # ---- COPY FROM STDIN

    def _begin_copy(self, result: CopyIn, simple: bool) -> None:
        self._copy = _Copy(result, simple)
        self._send(replies.copy_in_response(result.binary, result.width))
        self._flush()

    def _copy_message(self, kind: int, payload: bytes) -> None:
        copy = self._copy
        assert copy is not None
        if kind == ord("d"):
            copy.result.feed(payload)
        elif kind == ord("c"):
            tag = copy.result.finish()
            self._copy = None
            copy.result.close()
            self._complete(tag)
            if copy.simple:
                self._go_on()
            else:
                self._note(0)
        elif kind == ord("f"):
            reason = decode_utf8(payload.rstrip(b"\0"))
            raise QueryCanceled(f"COPY from stdin failed: {reason}")
        elif kind not in b"HS":
            raise ProtocolViolation(f"unexpected message type 0x{kind:02X} during COPY from stdin")

    # ---- extended protocol

    def _parse(self, payload: bytes) -> None:
        message = messages.parse_parse(payload)
        self._time(message.sql)
        if not message.name:
            self._unnamed = None
        prepared = self._session.prepare(message.sql, message.oids)
        if message.name:
            self._session.add_prepared(message.name, prepared)
        else:
            self._unnamed = prepared
        self._send(replies.PARSE_COMPLETE)

    def _prepared(self, name: str) -> Prepared:
        if name:
            return self._session.get_prepared(name)
        if self._unnamed is None:
            text = "unnamed prepared statement does not exist"
            raise SqlError.of("invalid_sql_statement_name", text)
        return self._unnamed

    def _bind(self, payload: bytes) -> None:
        message = messages.parse_bind(payload)
        prepared = self._prepared(message.statement)
        self._time(prepared.sql)
        self._portals.bind(message, prepared, self._zone)
        self._send(replies.BIND_COMPLETE)

    def _describe(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "DESCRIBE")
        if target.kind == "S":
            prepared = self._prepared(target.name)
            self._send(replies.parameter_description(prepared.parameters))
            formats: tuple[int, ...] = (0,) * len(prepared.columns or ())
        elif target.name and target.name not in self._portals:
            # a cursor made by DECLARE: clients describe it like a portal
            name = target.name.replace('"', '""')
            prepared = self._session.prepare(f'FETCH NEXT FROM "{name}"')
            formats = (0,) * len(prepared.columns or ())
        else:
            portal = self._portals.find(target.name)
            prepared, formats = portal.prepared, portal.formats
        columns = prepared.columns
        self._send(replies.NO_DATA if columns is None else replies.row_description(columns, formats))

    def _execute(self, payload: bytes) -> None:
        message = messages.parse_execute(payload)
        portal = self._portals.find(message.portal)
        if portal.done and portal.prepared.columns is None:
            raise SqlError.of("object_not_in_prerequisite_state", f'portal "{message.portal}" cannot be run')
        if portal.rows is None:
            self._time(portal.prepared.sql)
            result = self._session.execute(portal.prepared, portal.parameters)
            portal.done = True
            if isinstance(result, CopyIn):
                self._begin_copy(result, simple=False)
                return
            if isinstance(result, CopyOut) or result.columns is None:
                self._note(self._whole(result))
                return
            portal.rows = Rows(result, portal.formats)
        if portal.rows.send(self._send, message.limit, self._zone, None):
            portal.rows.close()
            self._complete(portal.rows.tag())
            self._note(portal.rows.sent)
        else:
            self._send(replies.PORTAL_SUSPENDED)

    def _close(self, payload: bytes) -> None:
        target = messages.parse_target(payload, "CLOSE")
        if target.kind == "P":
            self._portals.drop(target.name)
        elif target.name:
            self._session.remove_prepared(target.name)
        else:
            self._unnamed = None
        self._send(replies.CLOSE_COMPLETE)

    def _sync(self) -> None:
        self._skipping = False
        try:
            self._session.sync()
        except ClientGone:
            raise
        except BaseException as error:
            # the commit itself failed: the transaction is rolled back
            told = self._failure(error)
            self._session.fail()
            self._session.sync()
            self._send(replies.error_response(told))
        if self._session.status == "I":
            self._portals.clear()
        self.ready()

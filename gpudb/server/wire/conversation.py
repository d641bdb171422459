"""The protocol's state machine after start-up, without sockets: messages in, messages out.

             Parse, Bind, Describe, Execute, Close, Flush
                 ┌──┐
    Query, F  ┌──┴──▼──┐ error in one of those ┌──────────┐
    ┌─────────│ READY  │──────────────────────►│ SKIPPING │ drops all but Sync
    │         └─▲──▲──┬┘◄──────────────────────└──────────┘
    │ end, error│  │  │ COPY … FROM STDIN   Sync
    └───────────┘  │  ▼
                ┌──┴──────┐  CopyData (Flush and Sync are dropped)
                │ COPYING │──┐
                └─────────┘◄─┘  ends by CopyDone, CopyFail, an error, a message out of place

ReadyForQuery answers Query, FunctionCall (F) and Sync. After COPY from a Query the Query's other statements follow;
after COPY from an Execute reading continues, or skips to Sync after an error. Copy messages in READY are leftovers of a
failed COPY and are dropped. A portal lives until Close, another unnamed one, an error, or its transaction's end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gpudb.errors import GpudbError, QueryCanceled, WorkerLost
from gpudb.observe.recorder import StatementRecorder
from gpudb.server.wire import messages, replies
from gpudb.server.wire.extended import ExtendedProtocol
from gpudb.server.wire.function_calls import FunctionCalls
from gpudb.server.wire.messages import ClientDisconnected, ProtocolViolation
from gpudb.server.wire.recording import ExecutedStatement, Recording
from gpudb.server.wire.results import NOTHING_SENT, Answers, Send, Sent, count_changed
from gpudb.session.interfaces import SessionInterface
from gpudb.session.results import CopyIn, Result
from gpudb.values.binary import decode_utf8

CANCELED = "57014"
TERMINATING = "57P01"
"""SQLSTATE that ends the connection: pg_terminate_backend or shutdown. A lost worker's 57P01 does not."""

_HELD = frozenset(b"BDE")
"""Messages that do not end a row of executions."""
_SYNC, _FLUSH, _COPY_MESSAGES = ord("S"), ord("H"), frozenset(b"dcf")


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
        self._convert_error = convert_error
        self._answers = Answers(session, send, flush)
        self._recording = Recording(session, log_statement, recorder)
        self._extended = ExtendedProtocol(session, self._answers, self._recording, self._begin_copy)
        self._function_calls = FunctionCalls(session, self._answers, self._recording)
        self._script: Iterator[Result] | None = None
        self._copy: _Copy | None = None
        self._skipping = False
        self._is_ready = False
        self._handlers: dict[int, Callable[[bytes], None]] = {
            ord("Q"): self._handle_query,
            ord("F"): self._handle_function_call,
            **self._extended.handlers,
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
        if self._extended.batch is not None and kind not in _HELD:
            self.run_held()
        if self._copy is None:
            if kind == _SYNC:
                self._handle_sync()
                return
            if kind == _FLUSH:
                self._answers.flush()
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

    def run_held(self) -> None:
        """Runs what waits for more of its kind: no more of it is there."""
        try:
            self._extended.run_batch()
        except ClientDisconnected:
            raise
        except BaseException as error:
            self._handle_error(error, simple=False)

    @property
    def holds_executions(self) -> bool:
        """Whether executions wait for more of their kind."""
        return self._extended.batch is not None

    def send_ready(self) -> None:
        """Sends ReadyForQuery."""
        self._is_ready = True
        self._answers.send_ready()

    def deliver_notifications(self) -> None:
        """Sends what has arrived while the client is idle."""
        self._answers.deliver_notifications()

    def close(self) -> None:
        """Releases everything; a COPY in progress is rolled back, and a statement that still runs is logged."""
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort("connection lost")
        self._recording.close()
        self._close_script()
        self._extended.drop_portals()

    # ---- errors

    def _is_simple(self, kind: int) -> bool:
        return self._copy.simple if self._copy is not None else kind in b"QF"

    def _handle_error(self, error: BaseException, simple: bool) -> None:
        if self._extended.batch is not None:
            try:
                self._extended.run_batch()  # what came before it
            except BaseException as earlier:
                error = earlier
        converted = self._convert_error(error)
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.result.abort(converted.message)
            copy.result.close()
        self._session.fail()
        self._close_script()
        self._extended.drop_portals()
        self._recording.end(NOTHING_SENT, converted.sqlstate)
        if converted.sqlstate == TERMINATING and not isinstance(converted, WorkerLost):
            raise converted
        if isinstance(converted, ProtocolViolation) and converted.fatal:
            raise converted
        self._answers.send_notices()
        self._answers.send(replies.error_response(converted))
        if simple:
            self._session.sync()
            self.send_ready()
        else:
            self._skipping = True
            self._answers.flush()

    # ---- simple protocol

    def _handle_query(self, payload: bytes) -> None:
        sql = messages.parse_query(payload)
        self._recording.start(sql, runs=True)
        self._extended.drop_unnamed()
        self._script = iter(self._session.run(sql))
        self._continue_script()

    def _continue_script(self, copied: int = 0) -> None:
        """Runs the Query's statements until one needs COPY data or none is left; `copied` are rows copied just now."""
        sent, rows = NOTHING_SENT, copied
        assert self._script is not None
        for result in self._script:
            if isinstance(result, CopyIn):
                self._begin_copy(result, simple=True)
                return
            sent = self._answers.send_result(result)
            rows += sent.rows
            self._recording.end_part(sent)
        self._close_script()
        self._recording.end(sent._replace(rows=rows))
        self.send_ready()

    def _close_script(self) -> None:
        script, self._script = self._script, None
        close = getattr(script, "close", None)
        if close is not None:
            close()

    def _handle_function_call(self, payload: bytes) -> None:
        self._function_calls.handle(payload)
        self.send_ready()

    # ---- COPY FROM STDIN

    def _begin_copy(self, result: CopyIn, simple: bool = False) -> None:
        self._copy = _Copy(result, simple)
        self._answers.send(replies.copy_in_response(result.binary, result.width))
        self._answers.flush()

    def _handle_copy_message(self, kind: int, payload: bytes) -> None:
        copy = self._copy
        assert copy is not None
        if kind == ord("d"):
            copy.result.feed(payload)
        elif kind == ord("c"):
            tag = copy.result.finish()
            self._copy = None
            copy.result.close()
            self._answers.send_complete(tag)
            sent = Sent(count_changed(tag))
            if not copy.simple:
                self._recording.end(sent)
                return
            self._recording.end_part(sent)
            self._continue_script(sent.rows)
        elif kind == ord("f"):
            reason = decode_utf8(payload.rstrip(b"\0"))
            raise QueryCanceled(f"COPY from stdin failed: {reason}")
        elif kind not in b"HS":
            raise ProtocolViolation(f"unexpected message type 0x{kind:02X} during COPY from stdin")

    # ---- Sync

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
            self._answers.send(replies.error_response(converted))
        if self._session.status == "I":
            self._extended.drop_portals()
        self.send_ready()

"""Handler of one client's connection, from start-up to end, on buenavista's handler and context classes."""

from __future__ import annotations

import logging
import secrets
import socket
import ssl
import threading
import time
from typing import Protocol

from gpudb.engine.scheduling import answer_soon
from gpudb.errors import GpudbError, SqlError
from gpudb.observe.recorder import StatementRecorder
from gpudb.server.wire import messages, replies, startup
from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.buenavista_classes import BuenaVistaHandler, BVContext
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.client_log import choose_statement_log
from gpudb.server.wire.conversation import CANCELED, TERMINATING, Conversation
from gpudb.server.wire.failed_logins import FailedLogins
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.login import log_in
from gpudb.server.wire.messages import ClientDisconnected, ProtocolViolation
from gpudb.server.wire.pending_connections import PendingConnections
from gpudb.server.wire.statement_log import StatementLog
from gpudb.server.wire.stream import DeadlinePassed, Stream
from gpudb.server.wire.waker import Waker
from gpudb.session.interfaces import DatabaseInterface, SessionInterface

_LOG = logging.getLogger(__name__)
_TERMINATE = ord("X")
_MORE_SECONDS = 0.002
"""How long executions wait for more of their kind: longer than a client takes to send the next."""
_END_STALL_S = 1.0
"""Seconds for which a connection that ends waits for a client that takes no bytes."""
_IDLE_LIMITS = {
    "idle_session_timeout": "terminating connection due to idle-session timeout",
    "idle_in_transaction_session_timeout": "terminating connection due to idle-in-transaction timeout",
}


class Client(BVContext):
    """An authenticated client: its session, and the secret key of cancel requests."""

    def __init__(self, session: SessionInterface, parameters: dict[str, str]) -> None:
        super().__init__(session, None, parameters)
        self.process_id = session.process_id
        self.secret_key = secrets.randbits(32)


class ServerInterface(Protocol):
    """The part of `PgServer` that a connection uses."""

    database: DatabaseInterface
    tls: ssl.SSLContext | None
    authentication_timeout: float
    hba: HbaFile | None
    pending: PendingConnections
    failed_logins: FailedLogins
    statement_log: StatementLog | None
    audit_log: AuditLog | None
    recorder: StatementRecorder | None

    def check_capacity(self) -> None:
        """Raises 53300 beyond max_connections, 57P03 while shutting down."""

    def register(self, client: Client) -> None:
        """Registers an authenticated client; 53300 if another one took the last place."""

    def unregister(self, client: Client) -> None:
        """Removes a client."""

    def cancel(self, process_id: int, key: int) -> None:
        """Executes a cancel request, if its key is the client's."""


class Handler(BuenaVistaHandler):
    """One connection, in its own thread. `stop` and `terminate` may be called from other threads."""

    server: ServerInterface

    def setup(self) -> None:
        """Prepares the socket; no method of buenavista's handler runs."""
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self.host = str(self.client_address[0])
        answer_soon()
        self.client: Client | None = None
        self._lock = threading.Lock()
        self._waiting_idle = False
        self._end_error: GpudbError | None = None
        self._waker: Waker | None = None
        self._ends_now = False
        self._looked = 0.0
        self.stream = Stream(self.request, time.monotonic() + self.server.authentication_timeout)
        self.server.pending.add(self, self.host)

    def handle(self) -> None:
        """Serves the connection to its end; never raises."""
        try:
            self._serve()
        except ClientDisconnected:
            if self._end_error is not None and not self.stream.is_aborted:  # the server itself stopped reading
                self._send_fatal(self._end_error)
        except BaseException as error:
            self._send_fatal(self.convert_error(error))

    def finish(self) -> None:
        """Closes the socket."""
        self.stream.close()
        if self._waker is not None:
            self._waker.close()
        self.server.pending.remove(self, self.host)

    def _serve(self) -> None:
        packet = startup.read_startup(self.stream, self.server.tls)
        if isinstance(packet, startup.Cancel):
            self.server.cancel(packet.process_id, packet.key)
            return
        parameters = startup.read_parameters(self.stream, packet)
        self.server.check_capacity()
        request = startup.describe_request(self.stream, parameters, self.host)
        session = log_in(self.stream, self.server, request, parameters)
        session.network = startup.describe_network(self.stream)
        self.server.pending.remove(self, self.host)
        started = time.monotonic()
        try:
            self._converse(session, parameters, request)
        finally:
            session.close()
            if self.server.audit_log is not None:
                self.server.audit_log.log_disconnect(request, session.process_id, time.monotonic() - started)

    def _converse(self, session: SessionInterface, parameters: dict[str, str], request: ConnectionRequest) -> None:
        self.client = client = Client(session, parameters)
        session.on_terminate = self.terminate
        self.server.register(client)
        log_statement = choose_statement_log(self.server, request, session.process_id)
        recorder = self.server.recorder
        conversation = Conversation(
            session, self.stream.send, self.stream.flush, self.convert_error, log_statement, recorder
        )
        try:
            self.stream.send(startup.build_greeting(session, client.secret_key))
            conversation.send_ready()
            self.stream.set_deadline(None)
            self._read_messages(conversation)
        finally:
            self.server.unregister(client)
            conversation.close()

    def _read_messages(self, conversation: Conversation) -> None:
        stream = self.stream
        while True:
            if self._end_error is not None:
                self._end_if_idle(conversation)
            message = stream.read_message()
            if message is None:
                # No answer is due before Sync or Flush: more of their kind may follow.
                if conversation.holds_executions and not stream.wait_for_more(_MORE_SECONDS):
                    conversation.run_held()
                message = self._await_message(conversation)
            kind, payload = message
            if kind == _TERMINATE:
                return
            if self._end_error is not None:  # the message arrived after a reader was told to stop, and before it woke
                self._end_if_idle(conversation)
            conversation.handle_message(kind, payload)

    def _end_if_idle(self, conversation: Conversation) -> None:
        """Raises the error of a connection that ends now, or once its transaction has ended."""
        if self._end_error is not None and (self._ends_now or conversation.is_idle):
            raise self._end_error

    def _await_message(self, conversation: Conversation) -> tuple[int, bytes]:
        """Returns the next message; while its head is awaited, `stop` may end the connection."""
        with self._lock:
            self._end_if_idle(conversation)
            self._waiting_idle = conversation.is_idle
        try:
            if self._waiting_idle and self.client is not None and self.client.session.mailbox.channels:
                self._deliver_until_message(conversation, self.client.session)
            if not self._has_idle_limits():
                return self.stream.wait_message()
            if conversation.is_idle_in_transaction:
                head = self._read_idle("idle_in_transaction_session_timeout")
            elif self._waiting_idle:
                head = self._read_idle("idle_session_timeout")
            else:
                head = self.stream.read_bytes(5)
        finally:
            self._waiting_idle = False
        kind = head[0]
        return kind, self.stream.read_bytes(messages.check_length(kind, int.from_bytes(head[1:], "big")))

    def _has_idle_limits(self) -> bool:
        return self.client is None or self.client.session.has_idle_limits

    def _deliver_until_message(self, conversation: Conversation, session: SessionInterface) -> None:
        """Sends notifications to an idle client until it sends something; raises once idle_session_timeout has passed.

        This thread alone writes to the client: others wake it.
        """
        if self._waker is None:
            self._waker = Waker()
            session.mailbox.on_arrival = self._waker.wake
        timeout = session.milliseconds("idle_session_timeout")
        deadline = time.monotonic() + timeout / 1000 if timeout else None
        while True:
            if session.mailbox.inbox:
                conversation.deliver_notifications()
            if not self._waker.wait(self.stream, deadline):
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise SqlError.of("idle_session_timeout", _IDLE_LIMITS["idle_session_timeout"])

    def _read_idle(self, limit: str) -> bytes:
        """Returns the head of the next message; raises the error of `limit`, a setting, once that has passed."""
        assert self.client is not None
        timeout = self.client.session.milliseconds(limit)
        if not timeout:
            return self.stream.read_bytes(5)
        self.stream.set_deadline(time.monotonic() + timeout / 1000)
        try:
            return self.stream.read_bytes(5)
        except DeadlinePassed:
            raise SqlError.of(limit, _IDLE_LIMITS[limit]) from None
        finally:
            self.stream.set_deadline(None)

    # ---- the end, from outside

    def stop(self, error: GpudbError, now: bool = False) -> None:
        """Ends the connection with this error: after its transaction, or `now`, cancelling the running statement."""
        with self._lock:
            self._end_error = self._end_error or error
            self._ends_now = self._ends_now or now
            if self._waiting_idle or now or self.client is None:
                self.stream.stop_reading()
        if now and self.client is not None:
            self.client.session.cancel()

    def terminate(self) -> None:
        """Implements pg_terminate_backend; its caller has cancelled the running statement."""
        message = "terminating connection due to administrator command"
        self.stop(SqlError.of("admin_shutdown", message), now=True)

    def end_stalled_write(self, now: float) -> None:
        """Aborts the connection if its client takes none of the bytes that it is sent, for longer than it may.

        A connection that ends waits for _END_STALL_S, any other one for its session's idle limit.
        """
        stalled = self.stream.measure_stall(now)
        if not stalled or self.client is None:
            return
        if self._end_error is None:
            session = self.client.session
            limit = "idle_session_timeout" if session.status == "I" else "idle_in_transaction_session_timeout"
            timeout = session.milliseconds(limit)
            if not timeout or stalled < timeout / 1000:
                return
            self._end_error = SqlError.of(limit, _IDLE_LIMITS[limit])
        elif stalled < _END_STALL_S:
            return
        _LOG.info("connection from %s aborted: its client takes no bytes: %s", self.host, self._end_error.message)
        self._ends_now = True
        self.client.session.cancel()
        self.stream.abort()

    def end_left(self, now: float) -> None:
        """Cancels the statement of a client that has gone, which client_connection_check_interval looks for."""
        client = self.client
        if client is None or self._end_error is not None or not client.session.running.active:
            return
        interval = client.session.milliseconds("client_connection_check_interval")
        if not interval or now < self._looked + interval / 1000:
            return
        self._looked = now
        if self.stream.is_left():
            _LOG.info("connection from %s ended: its client has gone while a statement ran", self.host)
            self.stop(SqlError.of("connection_failure", "connection to client lost"), now=True)

    # ---- errors

    def convert_error(self, error: BaseException) -> GpudbError:
        """Returns the error that the client receives; for an internal error a number under which it is logged."""
        if self._end_error is not None and getattr(error, "sqlstate", None) in (CANCELED, TERMINATING):
            return self._end_error
        return to_client_error(error)

    def _send_fatal(self, error: GpudbError) -> None:
        try:
            self.stream.limit_writes()
            self.stream.send(replies.error_response(error, replies.FATAL))
            self.stream.flush()
        except ClientDisconnected:
            return
        if isinstance(error, ProtocolViolation):
            _LOG.info("connection from %s ended: %s", self.host, error.message)

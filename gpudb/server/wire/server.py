"""The listener: `PgServer` accepts connections on buenavista's threading server and shuts down cleanly."""

from __future__ import annotations

import hmac
import logging
import socket
import ssl
import sys
import threading
import time
from dataclasses import dataclass, replace
from typing import Any

from gpudb.config.wire import WireSettings
from gpudb.errors import SqlError
from gpudb.observe.recorder import StatementRecorder
from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.auth import is_loopback
from gpudb.server.wire.buenavista_classes import BuenaVistaServer
from gpudb.server.wire.failed_logins import FailedLogins
from gpudb.server.wire.handler import Client, Handler
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.pending_connections import PendingConnections
from gpudb.server.wire.statement_log import StatementLog
from gpudb.session.interfaces import DatabaseInterface

_LOG = logging.getLogger(__name__)

SWITCH_INTERVAL_S = 0.0005
"""Python's thread switch interval. With the default of 5 ms a short statement waits that long for each other client
that is busy in Python; shorter intervals cost throughput.
"""

_POLL_S = 0.1
_FORCED_S = 5.0
_SPARE_THREADS = 100


@dataclass(slots=True)
class Traffic:
    """Numbers of connections so far, and bytes received and sent, without those of encryption."""

    connections: int = 0
    received_bytes: int = 0
    sent_bytes: int = 0

    def add(self, handler: Handler) -> None:
        """Adds a connection."""
        stream = getattr(handler, "stream", None)
        self.connections += 1
        if stream is not None:
            self.received_bytes += stream.received_bytes
            self.sent_bytes += stream.sent_bytes


class PgServer(BuenaVistaServer):
    """A server for PostgreSQL clients, with one thread each.

    `tls` is the context for clients that request encryption. More than `max_connections` clients get 53300, of which
    the settings say more. `recorder` gets the statements that have ended.

    `hba` has the rules of connections. Without it roles without a password are trusted on loopback, and F0000 is raised
    if it would listen off loopback while a role that can log in has no password.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(
        self,
        database: DatabaseInterface,
        settings: WireSettings,
        *,
        tls: ssl.SSLContext | None = None,
        hba: HbaFile | None = None,
        statement_log: StatementLog | None = None,
        audit_log: AuditLog | None = None,
        recorder: StatementRecorder | None = None,
    ) -> None:
        if hba is None:
            check_exposure(database, settings.host)
        self.database = database
        self.tls = tls
        self.max_connections = settings.max_connections
        self.authentication_timeout = settings.authentication_timeout
        self.hba = hba
        self.pending = PendingConnections(
            settings.max_unauthenticated_connections, settings.max_unauthenticated_per_address
        )
        self.failed_logins = FailedLogins(settings.failed_login_delay)
        self.statement_log = statement_log
        self.audit_log = audit_log
        self.recorder = recorder
        self.traffic = Traffic()
        self._max_threads = settings.max_connections + settings.max_unauthenticated_connections
        self._handlers: set[Handler] = set()
        self._lock = threading.Lock()
        self._stopping = False
        self._checked = 0.0
        self._serving = threading.Event()
        self.address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        super().__init__((settings.host, settings.port), database)
        self.RequestHandlerClass = Handler

    @property
    def address(self) -> tuple[str, int]:
        """(host, port) of the listening socket."""
        return str(self.server_address[0]), int(self.server_address[1])

    # ---- connections

    def serve_forever(self, poll_interval: float = _POLL_S) -> None:
        """Accepts connections until `shutdown` ends; sets Python's switch interval for the whole process."""
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        with self._lock:
            if self._stopping:
                return
            self._serving.set()
        super().serve_forever(poll_interval)

    def service_actions(self) -> None:
        """Ends connections whose clients take no bytes or have gone; called between connections, and now and then."""
        now = time.monotonic()
        if now - self._checked >= _POLL_S:
            self._checked = now
            for handler in self._list_running():
                try:
                    handler.end_stalled_write(now)
                    handler.end_left(now)
                except Exception:  # no connection may end the listener
                    _LOG.exception("connection from %s could not be checked", handler.client_address)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether a thread is available for a connection; the oldest that has not authenticated may have to end."""
        if len(self._handlers) < self._max_threads:
            return True
        self.pending.evict()
        return len(self._handlers) < self._max_threads + _SPARE_THREADS

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serves one connection, in its own thread."""
        handler = Handler.__new__(Handler)
        with self._lock:
            self._handlers.add(handler)
        try:
            handler.__init__(request, client_address, self)  # type: ignore[misc]
        finally:
            with self._lock:
                self._handlers.discard(handler)
                self.traffic.add(handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Logs errors outside any statement."""
        _LOG.exception("connection from %s failed", client_address)

    def check_capacity(self) -> None:
        """Raises 53300 beyond max_connections, 57P03 while shutting down."""
        if self._stopping:
            raise _shutting_down()
        if len(self.ctxts) >= self.max_connections:
            raise SqlError.of("too_many_connections", "sorry, too many clients already")

    def register(self, client: Client) -> None:
        """Registers an authenticated client; 53300 if another one took the last place."""
        with self._lock:
            self.check_capacity()
            self.ctxts[client.process_id] = client

    def unregister(self, client: Client) -> None:
        """Removes a client."""
        with self._lock:
            self.ctxts.pop(client.process_id, None)

    def cancel(self, process_id: int, key: int) -> None:
        """Executes a cancel request, if its key is the client's; the requester gets no reply."""
        client = self.ctxts.get(process_id)
        if client is not None:
            expected, received = (number.to_bytes(4, "big") for number in (client.secret_key, key))
            if hmac.compare_digest(expected, received):
                client.session.cancel()

    def measure_traffic(self) -> Traffic:
        """Returns the traffic of all connections, of those that have ended and of those that are open."""
        with self._lock:
            total = replace(self.traffic)
            handlers = list(self._handlers)
        for handler in handlers:
            total.add(handler)
        return total

    # ---- the end

    def shutdown(self, timeout: float = 30.0, fast: threading.Event | None = None) -> None:
        """Ends every connection with 57P01, and refuses others with 57P03; then stops listening.

        Idle clients are ended at once; transactions have `timeout` seconds to end, or until `fast` is set, then they
        are cancelled. Closes the sockets; the database stays open.
        """
        with self._lock:
            self._stopping = True
            serving = self._serving.is_set()
        error = SqlError.of("admin_shutdown", "terminating connection due to administrator command")
        self._stop_all(error, False, timeout, fast or threading.Event())
        self._stop_all(error, True, _FORCED_S, threading.Event())
        if serving:
            super().shutdown()
        self.server_close()

    def _stop_all(self, error: SqlError, now: bool, timeout: float, hurry: threading.Event) -> None:
        """Stops all connections, and waits for their ends; those that are not authenticated yet are not waited for."""
        stopped = self._list_running()
        for handler in stopped:
            handler.stop(error if handler.client is not None else _shutting_down(), now)
        end = time.monotonic() + timeout
        while time.monotonic() < end and not hurry.is_set():
            running = set(self._list_running())
            if not any(handler in running and handler.client is not None for handler in stopped):
                return
            self.service_actions()
            time.sleep(0.01)

    def _list_running(self) -> list[Handler]:
        with self._lock:
            return [handler for handler in self._handlers if hasattr(handler, "stream")]


def _shutting_down() -> SqlError:
    return SqlError.of("cannot_connect_now", "the database system is shutting down")


def check_exposure(database: DatabaseInterface, host: str) -> None:
    """Raises F0000 unless `host` is loopback or every role that can log in has a password."""
    if _is_only_loopback(host):
        return
    open_roles = sorted(role.name for role in database.roles().values() if role.login and role.verifier is None)
    if open_roles:
        names = ", ".join(f'"{name}"' for name in open_roles)
        raise SqlError.of(
            "config_file_error",
            f"refusing to listen on {host}: a password is missing for {names}",
            hint=f"Start on 127.0.0.1, run ALTER ROLE \"{open_roles[0]}\" PASSWORD '...', then start again.",
        )


def _is_only_loopback(host: str) -> bool:
    if not host:
        return False
    try:
        addresses = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise SqlError.of("config_file_error", f'could not resolve "{host}": {error}') from error
    return all(is_loopback(str(address[4][0])) for address in addresses)

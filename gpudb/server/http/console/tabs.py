"""A tab of the page: a session of gpudb, in which one text of statements runs at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import MappingProxyType

from gpudb.errors import GpudbError, QueryCanceled, SqlError
from gpudb.server.http.login import Sources
from gpudb.server.wire.client_errors import to_client_error
from gpudb.server.wire.client_log import choose_statement_log
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.recording import Recording
from gpudb.session.interfaces import Network
from gpudb.session.session import Session

APPLICATION = "gpudb console"
_IDLE_LIMITS = {
    "idle_session_timeout": "terminating connection due to idle-session timeout",
    "idle_in_transaction_session_timeout": "terminating connection due to idle-in-transaction timeout",
}


class Busy(Exception):
    """A text runs in the tab."""


class Tab:
    """A session, which ends by `close`: at once if it is idle, else when the text that runs has been cancelled.

    `begin` and `finish` enclose a run, which uses the session on any thread. `ended` is why the session has ended by
    itself.
    """

    def __init__(
        self,
        sources: Sources,
        request: ConnectionRequest,
        network: Network,
        method: str,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Opens the session: errors as `DatabaseInterface.session`. `method` is how the role has authenticated."""
        self._sources, self._request = sources, request
        settings = {"application_name": APPLICATION, **settings}
        self.session: Session = sources.database.session(request.user, settings, request.host, request.database)
        self.session.network = network
        self.session.on_terminate = self._terminate
        server = sources.server
        if server.audit_log is not None:
            server.audit_log.log_login(request, self.session.process_id, method)
        self.recording = Recording(
            self.session, choose_statement_log(server, request, self.session.process_id), server.recorder
        )
        self.ended: GpudbError | None = None
        self.used = self._opened = time.monotonic()
        self._lock = threading.Lock()
        self._running: str | None = None
        self._run = 0
        self._is_canceled = self._is_closing = self._is_closed = False

    def begin(self, name: str) -> int:
        """Takes the session for a text that the client calls `name`; returns the run's number. Raises Busy."""
        with self._lock:
            if self._running is not None:
                raise Busy
            if self._is_closing:
                raise self.ended or SqlError.of("admin_shutdown", "the session has ended")
            self._running, self._is_canceled = name, False
            self._run += 1
            self.used = time.monotonic()
            return self._run

    def finish(self) -> None:
        """Gives the session back."""
        with self._lock:
            self._running = None
            self.used = time.monotonic()
            closes = self._is_closing
        if closes:
            self._end()

    def fail(self, run: int, error: GpudbError) -> None:
        """Ends the session, whose state nobody knows, of a run that an error has left without `finish`."""
        with self._lock:
            if self._running is None or run != self._run:
                return
            self.ended = self.ended or error
            self._is_closing = True
        self.finish()

    def finish_clean(self) -> None:
        """Gives the session back without what the run has left in it: settings, the role, locks. Else it ends."""
        try:
            for result in self.session.run("DISCARD ALL"):
                result.close()
        except BaseException as failure:
            self.fail(self._run, to_client_error(failure))
        else:
            self.finish()

    def find_run(self, name: str) -> int | None:
        """Returns the number of the run that the client calls `name`; None if it does not run."""
        with self._lock:
            return self._run if self._running == name else None

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        return self._running is None

    def cancel(self, run: int) -> bool:
        """Cancels a run; False if it has ended. Call it again until then: the run may be between two steps."""
        with self._lock:
            if self._running is None or run != self._run:
                return False
            self._is_canceled = True
        self.session.cancel()
        return True

    def check(self) -> None:
        """Raises 57014 if what runs was cancelled, or the error for which the session ends."""
        if self._is_closing and self.ended is not None:
            raise self.ended
        if self._is_canceled or self._is_closing:
            raise QueryCanceled("canceling statement due to user request")

    def close(self, error: GpudbError | None = None) -> None:
        """Ends the session; the client is told the error when it asks again. Idempotent."""
        with self._lock:
            self.ended = self.ended or error
            self._is_closing = True
            if self._running is not None:
                self._is_canceled = True
            is_idle = self._running is None
        if is_idle:
            self._end()
        else:
            self.session.cancel()

    def _terminate(self) -> None:
        """Implements pg_terminate_backend."""
        self.close(SqlError.of("admin_shutdown", "terminating connection due to administrator command"))

    def _end(self) -> None:
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self.recording.close()
        self.session.close()
        if (audit_log := self._sources.server.audit_log) is not None:
            seconds = time.monotonic() - self._opened
            audit_log.log_disconnect(self._request, self.session.process_id, seconds)

    def end_if_idle(self, now: float, most: float) -> None:
        """Ends the session if it has been idle for longer than `most` seconds, or than its settings allow."""
        if not self.is_idle or self._is_closed:
            return
        idle, session = now - self.used, self.session
        limit = "idle_session_timeout" if session.status == "I" else "idle_in_transaction_session_timeout"
        timeout = session.milliseconds(limit) if session.has_idle_limits else 0
        if timeout and idle > timeout / 1000:
            self.close(SqlError.of(limit, _IDLE_LIMITS[limit]))
        elif idle > most:
            self.close(SqlError.of("idle_session_timeout", _IDLE_LIMITS["idle_session_timeout"]))

    @property
    def has_ended(self) -> bool:
        """Whether the session has ended or ends."""
        return self._is_closing

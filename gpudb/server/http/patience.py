"""How long the HTTP listener waits for a request, and for how many clients that have sent none yet."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from gpudb.errors import SqlError
from gpudb.server.wire.pending_connections import PendingConnections

HEADER_S = 10.0
"""Seconds in which a request's head has to arrive, from its connection or the end of the answer before it."""
MAX_HEAD = 1 << 16
"""Bytes of a request's head."""
MAX_PENDING, MAX_PENDING_PER_ADDRESS = 500, 200

_pending = PendingConnections(MAX_PENDING, MAX_PENDING_PER_ADDRESS)


class PatientProtocol(H11Protocol):
    """A connection that is closed if the head of its next request takes too long, or too many others wait for one."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._deadline: asyncio.TimerHandle | None = None
        self._host = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait for the first request."""
        super().connection_made(transport)
        self._host = "" if self.client is None else self.client[0]
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Ends the wait if a request's head has arrived."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()
        elif self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the wait."""
        self._stop_waiting()
        super().connection_lost(exc)

    def stop(self, error: SqlError, now: bool = False) -> None:
        """Closes the connection: too many others wait, too. Called by another connection."""
        self.loop.call_soon_threadsafe(self._close)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(HEADER_S, self._close)
        _pending.add(self, self._host)

    def _stop_waiting(self) -> None:
        _pending.remove(self, self._host)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self) -> None:
        if not self.transport.is_closing():
            self.transport.abort()

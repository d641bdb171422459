"""Pool of sockets to the workers' fast-path servers, for statements that take little time and whose result is small.

The thread of a client's connection writes to a socket of each worker (see `server`); a thread there runs the statement
and writes its rows back. No event loop is between them. A worker declines what it cannot answer, errors included. The
statement then falls back to staged execution, which reports errors and lost workers.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import ssl
import threading
from collections.abc import Sequence

from gpudb.engine.gpu.fastpath.server import FastPathRequest, connect, receive, send
from gpudb.engine.gpu.rpc.messages import FastPathUse
from gpudb.engine.protocol import Cancel
from gpudb.lru import LruCache


class FastPathPool:
    """The coordinator's side: connections, each used by one thread at a time, and the statements that take the fast
    path.

    `secret` is the cluster's, `tls` the context for encrypted endpoints.
    """

    def __init__(self, secret: bytes, tls: ssl.SSLContext | None = None) -> None:
        self._secret, self._tls = secret, tls
        self._idle: dict[str, list[socket.socket]] = {}
        self._enabled: LruCache[tuple[bytes, bytes | None], int] = LruCache(4096)
        """Statements that take the fast path, with these parameters or any, and the bytes that their kernels read."""
        self._lock = threading.Lock()

    def enable(self, digest: bytes, parameters: bytes, use: FastPathUse, size: int) -> None:
        """Records which further runs of a statement the workers can answer on the fast path, by kernels that read so
        many bytes.
        """
        if FastPathUse.BOUND in use:
            self._enabled.put((digest, parameters), size)
        if FastPathUse.SHORT in use:
            self._enabled.put((digest, None), size)

    def count_bytes(self, digest: bytes, parameters: bytes) -> int | None:
        """Returns the bytes of columns that a statement reads on the fast path; None if it does not take it."""
        size = self.count_measured_bytes(digest, parameters)
        return self._enabled.get((digest, None)) if size is None else size

    def count_measured_bytes(self, digest: bytes, parameters: bytes) -> int | None:
        """The same of a statement that has run with these parameters."""
        return self._enabled.get((digest, parameters))

    def is_enabled(self, digest: bytes, parameters: bytes) -> bool:
        """Returns whether the workers can answer a statement on the fast path."""
        return self.count_bytes(digest, parameters) is not None

    def disable(self, digest: bytes, parameters: bytes) -> None:
        """Removes a statement that a worker has declined."""
        self._enabled.pop((digest, parameters))
        self._enabled.pop((digest, None))

    def request(
        self, endpoints: Sequence[str], requests: Sequence[FastPathRequest], cancel: Cancel, others: Sequence[str] = ()
    ) -> list[bytes] | None:
        """Returns the workers' replies; None if one declines or is lost, or the statement is cancelled.

        All requests are sent before the first reply is read. Connections to other servers than `endpoints` and `others`
        are closed.
        """
        connections: list[socket.socket] = []

        def interrupt() -> None:
            for each in connections:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

        answers: list[bytes | None] = []
        try:
            for endpoint in endpoints:
                connections.append(self._connection(endpoint, (*endpoints, *others)))
            cancel.attach(interrupt)
            for connection, request in zip(connections, requests, strict=True):
                send(connection, pickle.dumps(tuple(request)))
            for connection in connections:
                answers.append(receive(connection))
                if answers[-1] is None:
                    break
        except OSError:
            answers.append(None)
        finally:
            cancel.detach(interrupt)
        found = [each for each in answers if each is not None]
        if len(found) < len(requests) or cancel.reason is not None:
            # Replies that are still to come must not reach another statement.
            for connection in connections:
                connection.close()
            return None
        with self._lock:
            for endpoint, connection in zip(endpoints, connections, strict=True):
                self._idle.setdefault(endpoint, []).append(connection)
        return found if all(found) else None

    def _connection(self, endpoint: str, endpoints: Sequence[str]) -> socket.socket:
        """Returns a connection to one of the servers `endpoints`; closes idle connections to all other servers."""
        with self._lock:
            idle = self._idle.get(endpoint)
            if idle:
                return idle.pop()
            gone = [each for other in self._idle.keys() - set(endpoints) for each in self._idle.pop(other)]
        for each in gone:
            each.close()
        return connect(endpoint, self._secret, self._tls)

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for each in (each for found in idle.values() for each in found):
            each.close()

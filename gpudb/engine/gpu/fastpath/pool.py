"""A shorter way to workers, for statements whose parts they have bound, and whose result is small.

The thread that holds a client's connection writes to a socket of each worker (see `entry`), and a thread there runs the
statement and writes its rows back: no event loop and no lane is between them. What a worker does not answer so, an
error too, it declines; then the statement goes the usual way, which tells of errors, and of workers that are lost.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import threading
from collections.abc import Sequence

from gpudb.engine.gpu.fastpath.server import Question, connected, received, send
from gpudb.engine.protocol import Cancel
from gpudb.lru import LruCache


class Shortcuts:
    """The coordinator's side: connections to entries, each one thread's at a time, and which statements to ask for."""

    def __init__(self) -> None:
        self._idle: dict[str, list[socket.socket]] = {}
        self._known: LruCache[tuple[bytes, bytes], bool] = LruCache(4096)
        self._lock = threading.Lock()

    def learn(self, digest: bytes, parameters: bytes) -> None:
        """A worker has told that it would answer a statement at once."""
        self._known.put((digest, parameters), True)

    def knows(self, digest: bytes, parameters: bytes) -> bool:
        """Whether one has."""
        return (digest, parameters) in self._known

    def unlearn(self, digest: bytes, parameters: bytes) -> None:
        """A worker has declined it."""
        self._known.pop((digest, parameters))

    def ask(
        self, entries: Sequence[str], questions: Sequence[Question], cancel: Cancel, others: Sequence[str] = ()
    ) -> list[bytes] | None:
        """What workers answer, each asked before any is waited for; None where one declines or is lost, or the
        statement is cancelled. Beside these `entries` there are `others`."""
        asked: list[socket.socket] = []

        def interrupt() -> None:
            for each in asked:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

        answers: list[bytes | None] = []
        try:
            for entry in entries:
                asked.append(self._connected(entry, (*entries, *others)))
            cancel.attach(interrupt)
            for connection, question in zip(asked, questions, strict=True):
                send(connection, pickle.dumps(tuple(question)))
            for connection in asked:
                answers.append(received(connection))
                if answers[-1] is None:
                    break
        except OSError:
            answers.append(None)
        finally:
            cancel.detach(interrupt)
        found = [each for each in answers if each is not None]
        if len(found) < len(questions) or cancel.reason is not None:
            # What others of them answer yet is no other statement's answer.
            for connection in asked:
                connection.close()
            return None
        with self._lock:
            for entry, connection in zip(entries, asked, strict=True):
                self._idle.setdefault(entry, []).append(connection)
        return found if all(found) else None

    def _connected(self, entry: str, entries: Sequence[str]) -> socket.socket:
        """A connection to one of the `entries` that there are; those to others are closed."""
        with self._lock:
            idle = self._idle.get(entry)
            if idle:
                return idle.pop()
            gone = [each for other in self._idle.keys() - set(entries) for each in self._idle.pop(other)]
        for each in gone:
            each.close()
        return connected(entry)

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for each in (each for found in idle.values() for each in found):
            each.close()

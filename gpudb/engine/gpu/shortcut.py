"""A shorter way to a worker on this host, for statements whose parts a worker has bound, and whose result is small.

The thread that holds a client's connection writes to a socket of the worker, and a thread there runs the statement and
writes its rows back: no event loop and no lane is between them. What the worker does not answer so, an error too, it
declines; then the statement goes the usual way, which tells of errors, and of workers that are lost.

    question   length, pickle of the statement's number, its plan's digest and its parameters
    answer     length, a batch (see `outcome.packed`), nothing where it is declined
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from gpudb.engine.protocol import Cancel

_KEPT = 4096
_LENGTH = 8
_WAITING = 64
Answer = Callable[[int, bytes, bytes], bytes | None]
"""A statement's rows by its number, its plan's digest and its parameters; None declines."""


class Entry:
    """A worker's side: a socket in a folder that only this user may enter, and a thread for each connection to it."""

    def __init__(self, folder: Path, answer: Answer) -> None:
        self._answer = answer
        self._socket = socket.socket(socket.AF_UNIX)
        self.path = str(folder / "entry")
        """Where it is; empty where there can be none."""
        try:
            self._socket.bind(self.path)
            self._socket.listen(_WAITING)
        except OSError:  # a path of more than 107 bytes
            self.path = ""
            self._socket.close()
            return
        threading.Thread(target=self._opened, name="entry", daemon=True).start()

    def close(self) -> None:
        """Lets nobody in any more."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _opened(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._answering, args=(connection,), name="at once", daemon=True).start()

    def _answering(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while (question := _received(connection)) is not None:
                _send(connection, self._answer(*pickle.loads(question)) or b"")


class Shortcuts:
    """The coordinator's side: connections to entries, each one thread's at a time, and which statements to ask for."""

    def __init__(self) -> None:
        self._idle: dict[str, list[socket.socket]] = {}
        self._known: OrderedDict[tuple[bytes, bytes], None] = OrderedDict()
        self._lock = threading.Lock()

    def learn(self, digest: bytes, parameters: bytes) -> None:
        """A worker has told that it would answer a statement at once."""
        with self._lock:
            self._known[digest, parameters] = None
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def knows(self, digest: bytes, parameters: bytes) -> bool:
        """Whether one has."""
        with self._lock:
            return (digest, parameters) in self._known

    def ask(self, entry: str, statement: int, digest: bytes, parameters: bytes, cancel: Cancel) -> bytes | None:
        """The batch that a worker answers; None where it declines, is lost, or the statement is cancelled."""
        try:
            connection = self._connected(entry)
        except OSError:
            return None

        def interrupt() -> None:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

        answer = None
        cancel.attach(interrupt)
        try:
            _send(connection, pickle.dumps((statement, digest, parameters)))
            answer = _received(connection)
        except OSError:
            pass
        finally:
            cancel.detach(interrupt)
        if answer is None or cancel.reason is not None:
            connection.close()
            return None
        with self._lock:
            self._idle.setdefault(entry, []).append(connection)
        if not answer:
            with self._lock:
                self._known.pop((digest, parameters), None)
        return answer or None

    def _connected(self, entry: str) -> socket.socket:
        with self._lock:
            idle = self._idle.get(entry)
            if idle:
                return idle.pop()
            gone = [each for other in self._idle if other != entry for each in self._idle[other]]
            self._idle = {}
        for each in gone:
            each.close()
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(entry)
        except OSError:
            made.close()
            raise
        return made

    def close(self) -> None:
        """Closes all connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for each in (each for found in idle.values() for each in found):
            each.close()


def _send(connection: socket.socket, data: bytes) -> None:
    connection.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def _received(connection: socket.socket) -> bytes | None:
    """One message; None at the end of the connection."""
    held = bytearray()
    wanted = _LENGTH
    while len(held) < wanted:
        more = connection.recv(1 << 20)
        if not more:
            return None
        held += more
        if wanted == _LENGTH and len(held) >= _LENGTH:
            wanted += int.from_bytes(held[:_LENGTH], "big")
    return bytes(held[_LENGTH:])

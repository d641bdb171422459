"""A proxy before PostgreSQL that cuts one connection at its next COMMIT: before it gets there, or before the answer."""

from __future__ import annotations

import contextlib
import socket
import threading
from pathlib import Path
from types import TracebackType

_COMMITTED, _INSERTED = b"COMMIT\0", b"INSERT 0 1\0"
"""What PostgreSQL answers to COMMIT, and to the INSERT of a row: each commit of a coordinator has one in its log."""


class CuttingProxy:
    """Listens at `port` on loopback and forwards to a PostgreSQL's socket; a context manager that ends it.

    `cut` is "" to forward everything, "statement" to lose a COMMIT, or "answer" to lose its answer; it is "" again
    once that was done. `refuses` closes new connections.
    """

    def __init__(self, target: Path) -> None:
        self._target = str(target)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut = ""
        self.refuses = False
        self._copiers: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                wrote = threading.Event()
                threading.Thread(target=self._forward, args=(client, server, wrote), daemon=True).start()
                copier = threading.Thread(target=self._copy, args=(server, client, wrote), daemon=True)
                copier.start()
                self._copiers.append(copier)

    def _forward(self, client: socket.socket, server: socket.socket, wrote: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.cut == "statement" and wrote.is_set():
                    self.cut = ""
                    break
                server.sendall(data)
        _shut(server)

    def _copy(self, server: socket.socket, client: socket.socket, wrote: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if self.cut == "answer" and wrote.is_set() and _COMMITTED in data:
                    self.cut = ""
                    break
                if _COMMITTED in data:
                    wrote.clear()
                elif _INSERTED in data:
                    wrote.set()
                client.sendall(data)
        _shut(client)
        _shut(server)
        client.close()
        server.close()

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        for copier in self._copiers:
            copier.join(timeout=10)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)

"""A proxy on loopback whose connections can be made to hang, as those of a network that is cut: nothing is closed."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class HangingProxy:
    """Forwards to a port of loopback; a context manager that closes all. While `passes` is not set nothing gets through."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.passes = threading.Event()
        self.passes.set()
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += (client, server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.passes.wait()
                target.sendall(data)
        self.passes.wait()
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def __enter__(self) -> HangingProxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            each.close()
        self.passes.set()

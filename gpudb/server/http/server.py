"""The HTTP listener: uvicorn on a thread and event loop of its own."""

from __future__ import annotations

import socket
import threading

import uvicorn

from gpudb.errors import GpudbError
from gpudb.server.http.application import make_application
from gpudb.server.http.collector import ServerCollector
from gpudb.server.http.console.console import Console
from gpudb.server.http.readiness import Readiness

CONSOLE_IDLE_S = 1800.0
_BACKLOG = 128
_END_S = 5
"""Seconds that requests have to end."""


class HttpServer:
    """Serves health and metrics from its making until `close`. 08001 if it cannot listen."""

    def __init__(self, host: str, port: int, console_idle_timeout: float = CONSOLE_IDLE_S) -> None:
        self.readiness = Readiness()
        self.collector = ServerCollector(self.readiness)
        self.console = Console(self.collector.find_sources, console_idle_timeout)
        self._socket = _listen(host, port)
        config = uvicorn.Config(
            make_application(self.readiness, self.collector, self.console),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,  # rules of connections are for addresses that no client can claim
            timeout_graceful_shutdown=_END_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="http listener", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> tuple[str, int]:
        """(host, port) of the listening socket."""
        host, port = self._socket.getsockname()[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Stops listening; requests that run have _END_S seconds to end."""
        self._server.should_exit = True
        self._thread.join(2 * _END_S)
        self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY, without which small answers take 40 ms, where the protocol is named
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"cannot listen on {host}:{port} for HTTP: {error.strerror or error}"
        hint = "Choose another --http-port; 0 takes a free one."
        raise GpudbError(message, hint=hint, condition="sqlclient_unable_to_establish_sqlconnection") from None
    return listener

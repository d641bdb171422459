"""The HTTP listener: uvicorn on a thread and event loop of its own."""

from __future__ import annotations

import socket
import ssl
import threading

import uvicorn

from gpudb.config.http import HttpSettings
from gpudb.errors import GpudbError
from gpudb.server.http.application import make_application
from gpudb.server.http.collector import ServerCollector
from gpudb.server.http.console.console import Console
from gpudb.server.http.patience import MAX_HEAD, PatientProtocol
from gpudb.server.http.readiness import Readiness

_BACKLOG = 128
_KEEP_S = 30
"""Seconds that a connection is kept for another request."""
_END_S = 5
"""Seconds that requests have to end."""


class HttpServer:
    """Serves health, metrics, the Iceberg catalog and the console from its making until `close`.

    With `tls` it speaks HTTPS alone. 08001 if it cannot listen.
    """

    def __init__(self, settings: HttpSettings, tls: ssl.SSLContext | None = None) -> None:
        self.readiness = Readiness()
        self.collector = ServerCollector(self.readiness)
        self.console = Console(self.collector.find_sources, settings.console_idle_timeout)
        self._scheme = "http" if tls is None else "https"
        self._socket = _listen(settings.http_host, settings.http_port or 0)
        config = uvicorn.Config(
            make_application(self.readiness, self.collector, self.console),
            http=PatientProtocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            server_header=False,
            proxy_headers=False,  # rules of connections are for addresses that no client can claim
            h11_max_incomplete_event_size=MAX_HEAD,
            ssl_context_factory=None if tls is None else lambda config, default: tls,
            timeout_keep_alive=_KEEP_S,
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

    @property
    def console_url(self) -> str:
        """The address of the console, with the host on which the server listens."""
        host, port = self.address
        return f"{self._scheme}://{f'[{host}]' if ':' in host else host}:{port}/console/"

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

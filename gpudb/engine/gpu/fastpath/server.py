"""A worker's fast-path server: a socket that serves bound statements without Dask and its event loops.

The socket is a file in a folder that only this user may enter. A coordinator on another host connects to a TCP port of
the worker's address, with TLS if Dask's messages are encrypted. Both prove first that they know the cluster's secret.

    handshake  see `rpc.authentication`
    request    length, pickle of a `FastPathRequest`
    reply      length, bytes of the result; empty if the request is declined
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from gpudb.engine.gpu.rpc.authentication import (
    HANDSHAKE_SECONDS,
    accept_handshake,
    authenticate_socket,
    open_handshake,
)

_LOG = logging.getLogger(__name__)

_LENGTH = 8
_BACKLOG = 64
_STRANGERS = 64
"""Limit of connections from other hosts that have not authenticated yet; further ones are closed."""
_READ_BYTES = 1 << 16
_CHANNEL = b"fast path"
_TCP, _TLS = "tcp://", "tls://"
_ALIVE = {"TCP_KEEPIDLE": 2, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 10_000}
"""Keepalive limits after which the other host counts as gone."""


class FastPathRequest(NamedTuple):
    """A statement, by its plan's digest and its parameters, over one partition of `partition_count`.

    A single worker returns the result, a batch (see `result_codec.encode_batch`). Of several workers each returns the
    rows of its first phase (see `two_phase`): a pickled list with an IPC stream for each stage of the phase. The worker
    that receives the `first_phase` rows of all runs the second phase and returns the result.
    """

    statement: int
    digest: bytes
    parameters: bytes
    partition: int = 0
    partition_count: int = 1
    first_phase: tuple[bytes, ...] = ()


RequestHandler = Callable[[FastPathRequest], bytes | None]
"""Answers a request; None declines it."""


class FastPathServer:
    """A worker's server, with a thread for each connection; it answers those who know `secret`.

    `folder` must be accessible to this user alone. `host` is the address for other hosts, if any, and `tls` their
    context.
    """

    def __init__(
        self, folder: Path, answer: RequestHandler, secret: bytes, host: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        self._handler, self._secret, self._tls = answer, secret, tls
        self._sockets: list[socket.socket] = []
        self._strangers = threading.BoundedSemaphore(_STRANGERS)
        self._path = folder / "entry"
        self.endpoints: tuple[str, ...] = ()
        """Its endpoints: a path, empty if there is none, and the endpoint for other hosts, if any."""
        self.endpoints = (self._listen_on_file(), *(self._listen_on_port(host) if host else []))
        for each in self._sockets:
            threading.Thread(target=self._accept, args=(each,), name="entry", daemon=True).start()

    def _listen_on_file(self) -> str:
        if not _is_private(self._path.parent):
            _LOG.warning("the fast path is unavailable: other users may enter %s", self._path.parent)
            return ""
        created = socket.socket(socket.AF_UNIX)
        try:
            created.bind(str(self._path))
            created.listen(_BACKLOG)
        except OSError:  # a path longer than 107 bytes
            created.close()
            return ""
        self._sockets.append(created)
        return str(self._path)

    def _listen_on_port(self, host: str) -> list[str]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            created = socket.create_server((host, 0), family=family, backlog=_BACKLOG)
        except OSError as error:
            _LOG.warning("the fast path is unavailable to other hosts: %s", error)
            return []
        self._sockets.append(created)
        return [f"{_TLS if self._tls is not None else _TCP}{host}:{created.getsockname()[1]}"]

    def close(self) -> None:
        """Stops accepting connections."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        if self.endpoints[0]:
            self._path.unlink(missing_ok=True)

    def _accept(self, listening: socket.socket) -> None:
        local = listening.family == socket.AF_UNIX
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            if local or self._strangers.acquire(blocking=False):
                serve = self._serve_local if local else self._serve_remote
                threading.Thread(target=serve, args=(connection,), name="at once", daemon=True).start()
            else:
                connection.close()

    def _serve_local(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            authenticate_socket(connection, accept_handshake(self._secret, _CHANNEL))
            self._serve(connection)

    def _serve_remote(self, accepted: socket.socket) -> None:
        with accepted, contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            try:
                _keep_alive(accepted)
                connection = stack.enter_context(_encrypt(accepted, self._tls, server_side=True))
                authenticate_socket(connection, accept_handshake(self._secret, _CHANNEL))
            finally:
                self._strangers.release()
            self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        while (request := receive(connection)) is not None:
            send(connection, self._handler(FastPathRequest(*pickle.loads(request))) or b"")


def _is_private(folder: Path) -> bool:
    """Returns whether a folder belongs to this process's user, and no other user may enter it."""
    found = folder.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def remote_host(address: str) -> str:
    """Returns the address at which other hosts reach a worker, from its Dask address; empty if they cannot."""
    from distributed.comm.addressing import get_address_host

    host: str = get_address_host(address) if address.startswith((_TCP, _TLS)) else ""
    try:
        return "" if not host or ip_address(host).is_loopback else host
    except ValueError:
        return ""


def reachable_endpoint(endpoints: Sequence[str]) -> str:
    """Returns the endpoint of a server that is reachable from here; empty if none is."""
    return _find_reachable(tuple(endpoints))


@lru_cache(1024)
def _find_reachable(endpoints: tuple[str, ...]) -> str:
    # The path of a worker either exists here, or is on another host, for as long as the worker lives.
    path, *others = endpoints or ("",)
    return path if path and Path(path).exists() else (others or [""])[0]


def connect(endpoint: str, secret: bytes, tls: ssl.SSLContext | None = None) -> socket.socket:
    """Opens a connection to a server, with `tls` if the endpoint is encrypted.

    Raises OSError if it does not listen, or does not know the secret.
    """
    created = _open(endpoint, tls)
    try:
        authenticate_socket(created, open_handshake(secret, _CHANNEL))
    except BaseException:
        created.close()
        raise
    return created


def _open(endpoint: str, tls: ssl.SSLContext | None) -> socket.socket:
    if not endpoint.startswith((_TCP, _TLS)):
        created = socket.socket(socket.AF_UNIX)
        try:
            created.connect(endpoint)
        except OSError:
            created.close()
            raise
        return created
    if endpoint.startswith(_TLS) and tls is None:
        raise ConnectionRefusedError(f"{endpoint} is encrypted, and this cluster has no certificates")
    host, _, port = endpoint.partition("://")[2].rpartition(":")
    created = socket.create_connection((host, int(port)), HANDSHAKE_SECONDS)
    _keep_alive(created)
    return _encrypt(created, tls if endpoint.startswith(_TLS) else None, server_side=False)


def _encrypt(connection: socket.socket, tls: ssl.SSLContext | None, *, server_side: bool) -> socket.socket:
    """Returns a connection with TLS, or itself without a context."""
    if tls is None:
        return connection
    try:
        connection.settimeout(HANDSHAKE_SECONDS)
        return tls.wrap_socket(connection, server_side=server_side)
    except BaseException:
        connection.close()
        raise


def _keep_alive(connection: socket.socket) -> None:
    """Configures a connection between hosts to send at once, and to end when the other host vanishes."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def send(connection: socket.socket, data: bytes) -> None:
    """Sends one message."""
    connection.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def receive(connection: socket.socket) -> bytes | None:
    """Receives one message; None at the end of the connection."""
    held = bytearray()
    wanted = _LENGTH
    while len(held) < wanted:
        more = connection.recv(max(wanted - len(held), _READ_BYTES))
        if not more:
            return None
        held += more
        if wanted == _LENGTH and len(held) >= _LENGTH:
            wanted += int.from_bytes(held[:_LENGTH], "big")
    return bytes(held[_LENGTH:])

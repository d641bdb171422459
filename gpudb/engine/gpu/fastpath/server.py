"""A worker's fast-path server: a socket that serves bound statements without Dask and its event loops.

The socket is a file in a folder that only this user may enter. A coordinator on another host connects to a TCP port of
the worker's address, unless Dask's messages are encrypted; it first sends the token that the worker's ping returned.

    token      16 bytes, TCP only
    request    length, pickle of a `FastPathRequest`
    reply      length, bytes of the result; empty if the request is declined
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import pickle
import secrets
import socket
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

_LOG = logging.getLogger(__name__)

_LENGTH = 8
_BACKLOG = 64
_TOKEN_BYTES = 16
_READ_BYTES = 1 << 16
_SECONDS = 5.0
"""Time limit for opening a connection and for its token."""
_TCP = "tcp://"
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
    """A worker's server, with a thread for each connection; `host` is the address for other hosts, if any."""

    def __init__(self, folder: Path, answer: RequestHandler, host: str = "") -> None:
        self._handler = answer
        self._token = secrets.token_bytes(_TOKEN_BYTES)
        self._sockets: list[socket.socket] = []
        self.endpoints: tuple[str, ...] = ()
        """Its endpoints: a path, empty if the path is too long, and the TCP endpoint for other hosts, if any."""
        self.endpoints = (self._listen_on_file(folder / "entry"), *(self._listen_on_port(host) if host else []))
        for each in self._sockets:
            threading.Thread(target=self._accept, args=(each,), name="entry", daemon=True).start()

    def _listen_on_file(self, path: Path) -> str:
        created = socket.socket(socket.AF_UNIX)
        try:
            created.bind(str(path))
            created.listen(_BACKLOG)
        except OSError:  # a path longer than 107 bytes
            created.close()
            return ""
        self._sockets.append(created)
        return str(path)

    def _listen_on_port(self, host: str) -> list[str]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            created = socket.create_server((host, 0), family=family, backlog=_BACKLOG)
        except OSError as error:
            _LOG.warning("the fast path is unavailable to other hosts: %s", error)
            return []
        self._sockets.append(created)
        return [f"{_TCP}{host}:{created.getsockname()[1]}/{self._token.hex()}"]

    def close(self) -> None:
        """Stops accepting connections."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connection,), name="at once", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if connection.family != socket.AF_UNIX and not self._has_token(connection):
                return
            while (request := receive(connection)) is not None:
                send(connection, self._handler(FastPathRequest(*pickle.loads(request))) or b"")

    def _has_token(self, connection: socket.socket) -> bool:
        """Returns whether the client has sent the token."""
        connection.settimeout(_SECONDS)
        token = b""
        while len(token) < _TOKEN_BYTES and (more := connection.recv(_TOKEN_BYTES - len(token))):
            token += more
        _keep_alive(connection)
        return hmac.compare_digest(token, self._token)


def remote_host(address: str) -> str:
    """Returns the address at which other hosts reach a worker, from its Dask address; empty if they cannot."""
    from distributed.comm.addressing import get_address_host

    host: str = get_address_host(address) if address.startswith(_TCP) else ""
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


def connect(endpoint: str) -> socket.socket:
    """Opens a connection to a server. Raises OSError if it does not listen."""
    if not endpoint.startswith(_TCP):
        created = socket.socket(socket.AF_UNIX)
        try:
            created.connect(endpoint)
        except OSError:
            created.close()
            raise
        return created
    address, _, token = endpoint.removeprefix(_TCP).rpartition("/")
    host, _, port = address.rpartition(":")
    created = socket.create_connection((host, int(port)), _SECONDS)
    _keep_alive(created)
    created.sendall(bytes.fromhex(token))
    return created


def _keep_alive(connection: socket.socket) -> None:
    """Configures a connection between hosts to stay open, and to end when the other host vanishes."""
    connection.settimeout(None)
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

"""A worker's entry: a socket at which the coordinator asks for what is bound there, past Dask and the event loops.

It is a file in a folder that only this user may enter; for a coordinator on another host it is a TCP port of the
worker's address too, unless Dask's own messages are encrypted. Who comes by TCP has to say the word first that the
worker has told by a ping.

    word       16 bytes, by TCP alone
    question   length, pickle of a Question
    answer     length, what the question is for, nothing where it is declined
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
_WAITING = 64
_WORD = 16
_PIECE = 1 << 16
_SECONDS = 5.0
"""How long a connection may take to be made, and the word to come."""
_TCP = "tcp://"
_ALIVE = {"TCP_KEEPIDLE": 2, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 10_000}
"""After so long without a sign of life the other host counts as gone."""


class Question(NamedTuple):
    """Which statement, by its plan's digest and its parameters, over which share of how many.

    The only worker gives the result, a batch (see `outcome.packed`). Of several each gives the rows of what it computes
    by itself (see `scatter`): a pickled list, one IPC stream for each of those stages. To one that gets what all have
    `given`, the rest is left, and it gives the result.
    """

    statement: int
    digest: bytes
    parameters: bytes
    share: int = 0
    shares: int = 1
    given: tuple[bytes, ...] = ()


Answer = Callable[[Question], bytes | None]
"""What a worker answers; None declines."""


class Entry:
    """A worker's side, with a thread for each connection to it; `host` is the address for other hosts, if any."""

    def __init__(self, folder: Path, answer: Answer, host: str = "") -> None:
        self._answer = answer
        self._word = secrets.token_bytes(_WORD)
        self._sockets: list[socket.socket] = []
        self.places: tuple[str, ...] = ()
        """Where it is: a path, which is empty where there can be none, and where it may be asked from other hosts."""
        self.places = (self._file(folder / "entry"), *(self._port(host) if host else []))
        for each in self._sockets:
            threading.Thread(target=self._opened, args=(each,), name="entry", daemon=True).start()

    def _file(self, path: Path) -> str:
        made = socket.socket(socket.AF_UNIX)
        try:
            made.bind(str(path))
            made.listen(_WAITING)
        except OSError:  # a path of more than 107 bytes
            made.close()
            return ""
        self._sockets.append(made)
        return str(path)

    def _port(self, host: str) -> list[str]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            made = socket.create_server((host, 0), family=family, backlog=_WAITING)
        except OSError as error:
            _LOG.warning("statements from other hosts go the usual way: %s", error)
            return []
        self._sockets.append(made)
        return [f"{_TCP}{host}:{made.getsockname()[1]}/{self._word.hex()}"]

    def close(self) -> None:
        """Lets nobody in any more."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _opened(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._answering, args=(connection,), name="at once", daemon=True).start()

    def _answering(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            if connection.family != socket.AF_UNIX and not self._is_told(connection):
                return
            while (question := received(connection)) is not None:
                send(connection, self._answer(Question(*pickle.loads(question))) or b"")

    def _is_told(self, connection: socket.socket) -> bool:
        """Whether who has come knows the word."""
        connection.settimeout(_SECONDS)
        word = b""
        while len(word) < _WORD and (more := connection.recv(_WORD - len(word))):
            word += more
        _lasting(connection)
        return hmac.compare_digest(word, self._word)


def host_of(address: str) -> str:
    """Where a worker at one of Dask's addresses may be asked from other hosts; empty for nowhere."""
    from distributed.comm.addressing import get_address_host

    host: str = get_address_host(address) if address.startswith(_TCP) else ""
    try:
        return "" if not host or ip_address(host).is_loopback else host
    except ValueError:
        return ""


def nearest(places: Sequence[str]) -> str:
    """Which of an entry's places can be reached from here; empty for none."""
    return _nearest(tuple(places))


@lru_cache(1024)
def _nearest(places: tuple[str, ...]) -> str:
    # What a worker has told of is there, or on another host, for as long as the worker is.
    path, *others = places or ("",)
    return path if path and Path(path).exists() else (others or [""])[0]


def connected(place: str) -> socket.socket:
    """A connection to an entry; OSError where there is none."""
    if not place.startswith(_TCP):
        made = socket.socket(socket.AF_UNIX)
        try:
            made.connect(place)
        except OSError:
            made.close()
            raise
        return made
    address, _, word = place.removeprefix(_TCP).rpartition("/")
    host, _, port = address.rpartition(":")
    made = socket.create_connection((host, int(port)), _SECONDS)
    _lasting(made)
    made.sendall(bytes.fromhex(word))
    return made


def _lasting(connection: socket.socket) -> None:
    """For a connection between hosts that stays, and ends when the other host is gone without a word."""
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def send(connection: socket.socket, data: bytes) -> None:
    """Sends one message."""
    connection.sendall(len(data).to_bytes(_LENGTH, "big") + data)


def received(connection: socket.socket) -> bytes | None:
    """One message; None at the end of the connection."""
    held = bytearray()
    wanted = _LENGTH
    while len(held) < wanted:
        more = connection.recv(max(wanted - len(held), _PIECE))
        if not more:
            return None
        held += more
        if wanted == _LENGTH and len(held) >= _LENGTH:
            wanted += int.from_bytes(held[:_LENGTH], "big")
    return bytes(held[_LENGTH:])

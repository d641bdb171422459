"""Mutual authentication of two processes by the cluster's secret, before either reads anything else of the other.

    server    nonce            32 bytes
    client    nonce, proof     64 bytes
    server    proof            32 bytes

A proof is the HMAC-SHA256, with the secret as its key, of the prover's role, the channel's name and both nonces. The
handshakes do no I/O: each yields the bytes to send and the number of bytes to receive then, 0 at the end.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import time
from collections.abc import Generator

HANDSHAKE_SECONDS = 5.0
"""Time limit for a handshake."""
_BYTES = 32
Handshake = Generator[tuple[bytes, int], bytes, None]
"""Raises PermissionError if the peer does not know the secret."""


def create_secret() -> bytes:
    """Returns a new secret."""
    return secrets.token_bytes(_BYTES)


def accept_handshake(secret: bytes, channel: bytes) -> Handshake:
    """The server's side."""
    nonce = secrets.token_bytes(_BYTES)
    received = yield nonce, 2 * _BYTES
    nonces = nonce + received[:_BYTES]
    _check(received[_BYTES:], _prove(secret, b"client", channel, nonces))
    yield _prove(secret, b"server", channel, nonces), 0


def open_handshake(secret: bytes, channel: bytes) -> Handshake:
    """The client's side."""
    nonce = secrets.token_bytes(_BYTES)
    nonces = (yield b"", _BYTES) + nonce
    received = yield nonce + _prove(secret, b"client", channel, nonces), _BYTES
    _check(received, _prove(secret, b"server", channel, nonces))
    yield b"", 0


def _prove(secret: bytes, role: bytes, channel: bytes, nonces: bytes) -> bytes:
    return hmac.digest(secret, b"\0".join((role, channel, nonces)), "sha256")


def _check(proof: bytes, expected: bytes) -> None:
    if not hmac.compare_digest(proof, expected):
        raise PermissionError("the peer does not know the cluster's secret")


def authenticate_socket(connection: socket.socket, handshake: Handshake) -> None:
    """Runs a handshake on a blocking socket.

    Raises PermissionError if the peer does not know the secret, OSError if the connection ends or time is up.
    """
    ends = time.monotonic() + HANDSHAKE_SECONDS
    out, wanted = next(handshake)
    while True:
        if out:
            connection.sendall(out)
        if not wanted:
            break
        received = b""
        while len(received) < wanted:
            connection.settimeout(max(ends - time.monotonic(), 0.001))
            more = connection.recv(wanted - len(received))
            if not more:
                raise ConnectionResetError("the connection was closed during authentication")
            received += more
        out, wanted = handshake.send(received)
    connection.settimeout(None)

"""A client that discards results: the time of a query's last byte, without a driver's conversions."""

from __future__ import annotations

import socket
import struct
import time

_READY = b"Z\0\0\0\x05I"


class BareClient:
    """A connection by the simple protocol, without TLS and password."""

    def __init__(self, port: int, user: str = "gpudb", database: str = "gpudb") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        given = struct.pack("!i", 196608) + f"user\0{user}\0database\0{database}\0\0".encode()
        self._socket.sendall(struct.pack("!i", len(given) + 4) + given)
        self._until_ready()

    def time_query(self, sql: str) -> float:
        """Returns the seconds from sending a query to its last byte; raises RuntimeError if it fails."""
        text = sql.encode() + b"\0"
        begun = time.perf_counter()
        self._socket.sendall(b"Q" + struct.pack("!i", len(text) + 4) + text)
        head = self._until_ready()
        taken = time.perf_counter() - begun
        if head[:1] != b"T":
            raise RuntimeError(head[:500])
        return taken

    def _until_ready(self) -> bytes:
        """Receives up to a ReadyForQuery; returns the beginning."""
        head = self._socket.recv(1 << 20)
        last = head
        while last[-len(_READY) :] != _READY:
            more = self._socket.recv(1 << 20)
            if not more:
                raise RuntimeError(head[:500])
            last = last[-len(_READY) :] + more
        return head

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

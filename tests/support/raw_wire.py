"""Client side of the wire protocol on bytes: encodes messages and decodes answers."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Answer:
    kind: str
    payload: bytes

    @property
    def fields(self) -> dict[str, str]:
        """The fields of an ErrorResponse or NoticeResponse."""
        parts = self.payload.rstrip(b"\0").split(b"\0")
        return {part[:1].decode(): part[1:].decode() for part in parts if part}

    @property
    def values(self) -> list[bytes | None]:
        """The values of a DataRow."""
        count, at = struct.unpack_from("!h", self.payload)[0], 2
        found: list[bytes | None] = []
        for _ in range(count):
            size = struct.unpack_from("!i", self.payload, at)[0]
            at += 4
            found.append(None if size == -1 else self.payload[at : at + size])
            at += max(size, 0)
        assert at == len(self.payload)
        return found

    @property
    def text(self) -> str:
        return self.payload.rstrip(b"\0").decode()


def split(data: bytes) -> list[Answer]:
    """Splits a server's bytes into messages."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at + 1 : at + 5], "big")
        assert size >= 4
        assert at + 1 + size <= len(data), "half a message"
        found.append(Answer(chr(data[at]), data[at + 5 : at + 1 + size]))
        at += 1 + size
    return found


def message(kind: str, payload: bytes = b"") -> bytes:
    return kind.encode() + struct.pack("!i", len(payload) + 4) + payload


def query(sql: str) -> bytes:
    return message("Q", sql.encode() + b"\0")


def parse(sql: str, name: str = "", oids: Sequence[int] = ()) -> bytes:
    return message("P", name.encode() + b"\0" + sql.encode() + b"\0" + struct.pack(f"!H{len(oids)}I", len(oids), *oids))


def bind(
    portal: str = "",
    statement: str = "",
    values: Sequence[bytes | None] = (),
    formats: Sequence[int] = (),
    results: Sequence[int] = (),
) -> bytes:
    body = portal.encode() + b"\0" + statement.encode() + b"\0"
    body += struct.pack(f"!H{len(formats)}h", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message("B", body + struct.pack(f"!H{len(results)}h", len(results), *results))


def describe(kind: str, name: str = "") -> bytes:
    return message("D", kind.encode() + name.encode() + b"\0")


def execute(portal: str = "", limit: int = 0) -> bytes:
    return message("E", portal.encode() + b"\0" + struct.pack("!i", limit))


def close(kind: str, name: str = "") -> bytes:
    return message("C", kind.encode() + name.encode() + b"\0")


SYNC, FLUSH, TERMINATE = message("S"), message("H"), message("X")


def startup(code: int = 196608, **parameters: str) -> bytes:
    body = b"".join(name.encode() + b"\0" + value.encode() + b"\0" for name, value in parameters.items())
    body = struct.pack("!I", code) + body + b"\0"
    return struct.pack("!I", len(body) + 4) + body


class RawClient:
    """A socket that sends and receives messages; every wait is limited to ten seconds."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.socket = socket.create_connection(address, timeout=60)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise EOFError(f"the server closed after {data!r}")
            data += part
        return data

    def receive(self) -> Answer:
        head = self.exactly(5)
        return Answer(chr(head[0]), self.exactly(int.from_bytes(head[1:], "big") - 4))

    def until(self, kind: str = "Z") -> list[Answer]:
        found = [self.receive()]
        while found[-1].kind != kind:
            found.append(self.receive())
        return found

    def to_end(self) -> list[Answer]:
        """Reads until the server closes the connection."""
        found = []
        with contextlib.suppress(EOFError, ConnectionError):
            while True:
                found.append(self.receive())
        return found

    def login(self, **parameters: str) -> list[Answer]:
        self.send(startup(**{"user": "gpudb", "database": "gpudb", **parameters}))
        return self.until()

    def close(self) -> None:
        self.socket.close()


@contextlib.contextmanager
def connected(address: tuple[str, int], login: bool = True) -> Iterator[RawClient]:
    client = RawClient(address)
    try:
        if login:
            client.login()
        yield client
    finally:
        client.close()

"""A client's socket as two streams: pipelined messages are read together, fragments are joined."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from gpudb.server.wire.messages import ClientDisconnected, ProtocolViolation
from gpudb.server.wire.stream import DeadlinePassed, Stream
from tests.support.raw_wire import SYNC, describe, execute, message

Pair = tuple[socket.socket, Stream]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A client's socket and the server's stream of it."""
    client, server = socket.socketpair()
    client.settimeout(10)
    server.settimeout(10)
    with client, server:
        yield client, Stream(server, time.monotonic() + 10)


class _Counted(Stream):
    receives = 0

    def _receive(self, n: int, flags: int = 0) -> bytes:
        self.receives += 1
        return super()._receive(n, flags)


def test_messages_that_come_together_cost_one_call(pair: Pair) -> None:
    client, plain = pair
    stream = _Counted(plain.connection, time.monotonic() + 10)
    client.sendall(describe("P", "") + execute("") + SYNC)
    assert stream.read_message() is None
    head = stream.read_bytes(5)
    assert head[:1] == b"D"
    stream.read_bytes(int.from_bytes(head[1:], "big") - 4)
    assert stream.read_message() == (ord("E"), b"\0\0\0\0\0")
    assert stream.read_message() == (ord("S"), b"")
    assert stream.read_message() is None
    assert stream.receives == 1


def test_a_message_in_parts_is_awaited(pair: Pair) -> None:
    client, stream = pair
    whole = message("Q", b"SELECT 1\0")
    client.sendall(whole[:3])
    sender = threading.Timer(0.05, client.sendall, (whole[3:],))
    sender.start()
    assert stream.read_bytes(5) == whole[:5]
    assert stream.read_bytes(len(whole) - 5) == whole[5:]
    sender.join()


def test_a_large_message_and_what_follows_it(pair: Pair) -> None:
    client, stream = pair
    large = bytes(range(256)) * 20_000
    sender = threading.Thread(target=client.sendall, args=(message("d", large) + SYNC,))
    sender.start()
    assert stream.read_bytes(5)[:1] == b"d"
    assert stream.read_bytes(len(large)) == large
    assert stream.read_message() or stream.read_bytes(5) == SYNC
    sender.join()


def test_a_bad_head_is_refused_where_it_stands(pair: Pair) -> None:
    client, stream = pair
    client.sendall(SYNC + b"?\0\0\0\4")
    assert stream.read_bytes(5) == SYNC
    with pytest.raises(ProtocolViolation):
        stream.read_message()


def test_reads_end_with_the_client_and_at_the_deadline(pair: Pair) -> None:
    client, stream = pair
    stream.set_deadline(time.monotonic() + 0.05)
    with pytest.raises(DeadlinePassed):
        stream.read_bytes(1)
    stream.set_deadline(time.monotonic() + 10)
    client.sendall(b"ab")
    client.shutdown(socket.SHUT_WR)
    with pytest.raises(ClientDisconnected):
        stream.read_bytes(3)

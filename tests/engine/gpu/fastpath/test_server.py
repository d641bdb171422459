"""The fast-path server over TCP: its token, the largest messages, and hosts that cannot reach it."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.engine.gpu.fastpath.pool import FastPathPool
from gpudb.engine.gpu.fastpath.server import (
    FastPathRequest,
    FastPathServer,
    connect,
    reachable_endpoint,
    receive,
    remote_host,
    send,
)
from gpudb.engine.protocol import Cancel

_asked: list[FastPathRequest] = []


def _answer(question: FastPathRequest) -> bytes | None:
    _asked.append(question)
    return b"".join(question.first_phase) or None


@pytest.fixture
def entry(tmp_path: Path) -> Iterator[FastPathServer]:
    made = FastPathServer(tmp_path, _answer, "127.0.0.1")
    yield made
    made.close()


def test_an_entry_answers_by_either_way(entry: FastPathServer) -> None:
    shortcuts = FastPathPool()
    try:
        for place in entry.endpoints:
            for size in (1, 10, 5_000_000):
                question = FastPathRequest(1, b"digest", b"", first_phase=(b"x" * size, b"y"))
                assert shortcuts.request([place], [question], Cancel()) == [b"x" * size + b"y"]
            assert shortcuts.request([place], [FastPathRequest(1, b"digest", b"")], Cancel()) is None
        assert shortcuts.request(entry.endpoints, [question, question], Cancel()) == [b"x" * size + b"y"] * 2
    finally:
        shortcuts.close()


def test_connections_to_workers_that_are_not_asked_stay(entry: FastPathServer) -> None:
    shortcuts, question = FastPathPool(), FastPathRequest(1, b"digest", b"", first_phase=(b"x",))
    path, port = entry.endpoints
    try:
        assert shortcuts.request([path], [question], Cancel()) == [b"x"]
        (kept,) = shortcuts._idle[path]
        assert shortcuts.request([port], [question], Cancel(), [path]) == [b"x"]
        assert shortcuts._idle[path] == [kept]
        shortcuts._idle[port].pop().close()
        assert shortcuts.request([port], [question], Cancel()) == [b"x"]
        assert path not in shortcuts._idle
    finally:
        shortcuts.close()


def test_nobody_asks_without_the_word(entry: FastPathServer) -> None:
    place = entry.endpoints[1]
    before = len(_asked)
    for word in ("00" * 16, place[-32:-2], ""):
        with connect(place[:-32] + word) as connection:
            try:
                send(connection, pickle.dumps(tuple(FastPathRequest(1, b"", b"", first_phase=(b"x",)))))
                # The bytes after a short token may complete it by chance: then there is no whole message.
                connection.shutdown(socket.SHUT_WR)
                assert receive(connection) is None
            except OSError:
                pass
    assert len(_asked) == before


def test_the_nearest_place_is_the_file_where_it_is_there(entry: FastPathServer) -> None:
    path, port = entry.endpoints
    assert reachable_endpoint(entry.endpoints) == path
    assert reachable_endpoint((path + "x", port)) == port
    assert reachable_endpoint(("", port)) == port
    assert reachable_endpoint((path + "x",)) == ""
    assert reachable_endpoint(()) == ""


def test_addresses_that_other_hosts_reach() -> None:
    assert remote_host("tcp://10.1.2.3:4567") == "10.1.2.3"
    for address in ("tcp://127.0.0.1:4567", "tls://10.1.2.3:4567", "ucx://10.1.2.3:4567", "inproc://10.1.2.3/1/2"):
        assert remote_host(address) == ""

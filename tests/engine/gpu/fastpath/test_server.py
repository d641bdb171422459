"""The fast-path server over TCP and TLS: its secret, the largest messages, and hosts that cannot reach it."""

from __future__ import annotations

import pickle
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Security

from gpudb.engine.gpu.cluster.security import create_security
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
from gpudb.engine.gpu.rpc.authentication import authenticate_socket, open_handshake
from gpudb.engine.protocol import Cancel

_asked: list[FastPathRequest] = []


def _answer(question: FastPathRequest) -> bytes | None:
    _asked.append(question)
    return b"".join(question.first_phase) or None


SECRET = b"s" * 32


@pytest.fixture(params=["tcp", "tls"])
def security(request: pytest.FixtureRequest, tmp_path: Path) -> Security:
    """Certificates, or none."""
    made: Security = create_security(tmp_path) if request.param == "tls" else Security()  # type: ignore[no-untyped-call]
    return made


def _client(security: Security) -> ssl.SSLContext | None:
    found: ssl.SSLContext | None = security.get_connection_args("client")["ssl_context"]  # type: ignore[no-untyped-call]
    return found


@pytest.fixture
def entry(tmp_path: Path, security: Security) -> Iterator[FastPathServer]:
    context = security.get_listen_args("worker")["ssl_context"]  # type: ignore[no-untyped-call]
    made = FastPathServer(tmp_path, _answer, SECRET, "127.0.0.1", context)
    assert made.endpoints[1].startswith("tcp://" if context is None else "tls://")
    yield made
    made.close()


def test_an_entry_answers_by_either_way(entry: FastPathServer, security: Security) -> None:
    shortcuts = FastPathPool(SECRET, _client(security))
    try:
        for place in entry.endpoints:
            for size in (1, 10, 5_000_000):
                question = FastPathRequest(1, b"digest", b"", first_phase=(b"x" * size, b"y"))
                assert shortcuts.request([place], [question], Cancel()) == [b"x" * size + b"y"]
            assert shortcuts.request([place], [FastPathRequest(1, b"digest", b"")], Cancel()) is None
        assert shortcuts.request(entry.endpoints, [question, question], Cancel()) == [b"x" * size + b"y"] * 2
    finally:
        shortcuts.close()


def test_connections_to_workers_that_are_not_asked_stay(entry: FastPathServer, security: Security) -> None:
    shortcuts, question = (
        FastPathPool(SECRET, _client(security)),
        FastPathRequest(1, b"digest", b"", first_phase=(b"x",)),
    )
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


def _question() -> bytes:
    """A message whose pickle runs code when it is read."""
    return pickle.dumps(_Marker())


class _Marker:
    def __reduce__(self) -> tuple[object, ...]:
        return _mark, ()


_marks: list[int] = []


def _mark() -> tuple[int, bytes, bytes]:
    _marks.append(1)
    return 1, b"", b""


def test_nobody_asks_without_the_secret(entry: FastPathServer, security: Security) -> None:
    before = len(_asked)
    for place in entry.endpoints:
        for secret in (b"t" * 32, b"", SECRET[:-1]):
            with pytest.raises(OSError, match="closed during authentication"):
                connect(place, secret, _client(security))
        # What would run code if it were read is not read.
        with connect_unauthenticated(place, _client(security)) as connection:
            assert len(connection.recv(100)) == 32
            with pytest.raises(OSError):
                for _ in range(100):
                    send(connection, _question())
                    if not connection.recv(100):
                        raise ConnectionResetError
        # A reply of another server, or to another nonce, is no proof.
        with connect(place, SECRET, _client(security)) as connection:
            send(connection, pickle.dumps(tuple(FastPathRequest(1, b"d", b"", first_phase=(b"x",)))))
            assert receive(connection) == b"x"
    assert not _marks
    assert len(_asked) == before + len(entry.endpoints)


def connect_unauthenticated(place: str, context: ssl.SSLContext | None) -> socket.socket:
    """A connection that has proved nothing but the certificate."""
    if "://" not in place:
        made = socket.socket(socket.AF_UNIX)
        made.connect(place)
    else:
        host, _, port = place.partition("://")[2].rpartition(":")
        made = socket.create_connection((host, int(port)))
        if place.startswith("tls"):
            assert context is not None
            made = context.wrap_socket(made)
    made.settimeout(20)
    return made


def test_a_proof_serves_one_connection(entry: FastPathServer, security: Security) -> None:
    place = entry.endpoints[0]
    sent: list[bytes] = []

    class Recorded(socket.socket):
        def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
            sent.append(data)
            super().sendall(data, flags)

    with Recorded(socket.AF_UNIX) as connection:
        connection.connect(place)
        authenticate_socket(connection, open_handshake(SECRET, b"fast path"))
    with connect_unauthenticated(place, None) as connection:
        connection.recv(100)
        connection.sendall(sent[0])
        assert connection.recv(100) == b""


def test_an_impostor_is_not_asked(tmp_path: Path) -> None:
    """A server that does not know the secret gets no statement."""
    path = str(tmp_path / "other")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        got: list[bytes] = []

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(bytes(32))
                got.append(connection.recv(1000))
                connection.sendall(bytes(32))
                got.append(connection.recv(1000))

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(PermissionError, match="does not know the cluster's secret"):
            connect(path, SECRET)
        thread.join(20)
        assert [len(each) for each in got] == [64, 0]


def test_an_encrypted_entry_wants_a_certificate_of_its_cluster(tmp_path: Path) -> None:
    security, other = create_security(tmp_path / "one"), create_security(tmp_path / "other")
    tmp_path.chmod(0o700)
    entry = FastPathServer(tmp_path, _answer, SECRET, "127.0.0.1", security.get_listen_args("worker")["ssl_context"])
    try:
        place = entry.endpoints[1]
        for context in (_client(other), ssl._create_unverified_context(), None):
            with pytest.raises(OSError):
                connect(place, SECRET, context)
        with connect(place, SECRET, _client(security)):
            pass
    finally:
        entry.close()


def test_a_folder_that_others_may_enter_has_no_entry(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    entry = FastPathServer(tmp_path, _answer, SECRET)
    assert entry.endpoints == ("",)
    entry.close()


def test_strangers_wait_for_each_other_and_for_nobody_else(
    tmp_path: Path, security: Security, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections that say nothing are limited, and are closed in time; those of the socket's file do not count."""
    monkeypatch.setattr("gpudb.engine.gpu.fastpath.server._STRANGERS", 2)
    context = security.get_listen_args("worker")["ssl_context"]  # type: ignore[no-untyped-call]
    entry = FastPathServer(tmp_path, _answer, SECRET, "127.0.0.1", context)
    path, port = entry.endpoints
    host, _, number = port.partition("://")[2].rpartition(":")
    silent = [socket.create_connection((host, int(number)), 20) for _ in range(2)]
    try:
        ends = time.monotonic() + 20
        refused = False
        while not refused and time.monotonic() < ends:
            try:
                connect(port, SECRET, _client(security)).close()
            except OSError:
                refused = True
        assert refused
        connect(path, SECRET).close()
        for each in silent:
            each.close()
        while refused and time.monotonic() < ends:
            try:
                connect(port, SECRET, _client(security)).close()
                refused = False
            except OSError:
                time.sleep(0.05)
        assert not refused
    finally:
        for each in silent:
            each.close()
        entry.close()


def test_the_nearest_place_is_the_file_where_it_is_there(entry: FastPathServer) -> None:
    path, port = entry.endpoints
    assert reachable_endpoint(entry.endpoints) == path
    assert reachable_endpoint((path + "x", port)) == port
    assert reachable_endpoint(("", port)) == port
    assert reachable_endpoint((path + "x",)) == ""
    assert reachable_endpoint(()) == ""


def test_addresses_that_other_hosts_reach() -> None:
    assert remote_host("tcp://10.1.2.3:4567") == "10.1.2.3"
    assert remote_host("tls://10.1.2.3:4567") == "10.1.2.3"
    for address in ("tcp://127.0.0.1:4567", "tls://127.0.0.1:4567", "ucx://10.1.2.3:4567", "inproc://10.1.2.3/1/2"):
        assert remote_host(address) == ""

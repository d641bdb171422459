"""Clients that take no bytes: ended by pg_terminate_backend, by idle limits and by shutdown, with and without TLS."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.messages import SSL_REQUEST, ClientDisconnected
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.stream import Stream
from gpudb.server.wire.tls import make_self_signed_context
from gpudb.session.database import Database
from tests.support.raw_wire import RawClient, query
from tests.support.sessions import wait_until

WITHIN_S = 3.0
LARGE = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)"
"""A result of one gigabyte, which no socket's buffers hold."""
END_OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active'"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None)
    yield made
    made.close()


class Served:
    """A server over the database, and clients of it, which are encrypted or not."""

    def __init__(self, database: Database, encrypt: bool, folder: Path) -> None:
        self.encrypt = encrypt
        self.server = PgServer(
            database, WireSettings(port=0), tls=make_self_signed_context(folder) if encrypt else None
        )
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def stalled(self, *before: str, **settings: str) -> RawClient:
        """A client that has asked for a large result and reads no more of it than a piece."""
        client = RawClient(self.server.address)
        if self.encrypt:
            client.send(struct.pack("!II", 8, SSL_REQUEST))
            assert client.exactly(1) == b"S"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            client.socket = context.wrap_socket(client.socket)
        client.login(**settings)
        for each in before:
            client.send(query(each))
            client.until()
        client.send(query(LARGE))
        client.exactly(5)
        return client

    def connect(self) -> psycopg.Connection[tuple[Any, ...]]:
        host, port = self.server.address
        return psycopg.connect(host=host, port=port, user="gpudb", dbname="gpudb", connect_timeout=60, autocommit=True)


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def served(database: Database, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Served]:
    made = Served(database, request.param, tmp_path)
    yield made
    made.server.shutdown(timeout=0)
    made.thread.join(60)
    assert not made.thread.is_alive()


def ends_within(seconds: float, true: Callable[[], bool]) -> None:
    started = time.monotonic()
    wait_until(true, "it has ended")
    assert time.monotonic() - started < seconds


def test_pg_terminate_backend_ends_it(database: Database, served: Served) -> None:
    with contextlib.closing(served.stalled()), served.connect() as admin:
        wait_until(lambda: writes_wait(served), "the server waits for the client")
        assert admin.execute(END_OTHERS).fetchall() == [(True,)]
        ends_within(WITHIN_S, lambda: len(database.sessions()) == 1)
        assert admin.execute("SELECT 1").fetchone() == (1,)


def writes_wait(served: Served) -> bool:
    """Whether a write to a client has waited for a moment."""
    return any(each.stream.measure_stall(time.monotonic()) > 0.2 for each in served.server._list_running())


@pytest.mark.parametrize(
    "limit, before", [("idle_session_timeout", ()), ("idle_in_transaction_session_timeout", ("BEGIN",))]
)
def test_an_idle_limit_ends_it(database: Database, served: Served, limit: str, before: tuple[str, ...]) -> None:
    with contextlib.closing(served.stalled(*before, options=f"-c {limit}=500ms")):
        ends_within(WITHIN_S, lambda: not database.sessions())


def test_no_idle_limit_leaves_it(database: Database, served: Served) -> None:
    with contextlib.closing(served.stalled()):
        wait_until(lambda: writes_wait(served), "the server waits for the client")
        time.sleep(0.5)  # in which the server looks for stalled clients
        assert len(database.sessions()) == 1


def test_shutdown_ends_it(database: Database, served: Served) -> None:
    with contextlib.closing(served.stalled()):
        wait_until(lambda: writes_wait(served), "the server waits for the client")
        started = time.monotonic()
        served.server.shutdown(timeout=60)
        assert time.monotonic() - started < WITHIN_S
        assert not database.sessions()


def test_a_client_that_idles_is_let_go(database: Database, served: Served) -> None:
    with served.connect() as connection:
        connection.execute("SET idle_session_timeout = '300ms'")
        wait_until(lambda: not database.sessions(), "the session has ended")
        with pytest.raises(psycopg.Error) as ended:
            connection.execute("SELECT 1")
        assert ended.value.sqlstate == "57P05"
        assert "terminating connection due to idle-session timeout" in str(ended.value)


# ---- the stream


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, Stream]]:
    """A client's socket and the server's stream of it, over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    client.settimeout(10)
    with client, server:
        yield client, Stream(server)


def test_a_stall_is_measured_while_nothing_is_taken(pair: tuple[socket.socket, Stream]) -> None:
    client, stream = pair
    assert stream.measure_stall(100.0) == 0.0
    errors: list[str] = []

    def write() -> None:
        try:
            stream.send(bytes(1 << 25))
        except Exception as error:
            errors.append(type(error).__name__)

    writer = threading.Thread(target=write)
    writer.start()
    wait_until(
        lambda: stream.measure_stall(100.0) == 0.0 and stream.measure_stall(101.0) == 1.0, "the buffers are full"
    )
    assert stream.measure_stall(105.0) == 5.0
    taken = 0
    while taken < 1 << 22:
        taken += len(client.recv(1 << 16))
    wait_until(lambda: stream.measure_stall(106.0) < 2.0, "what the client takes starts the time again")
    stream.abort()
    writer.join(10)
    assert not writer.is_alive()
    assert errors == ["ClientDisconnected"]
    assert stream.measure_stall(200.0) == 0.0
    stream.close()
    with contextlib.suppress(ConnectionError):
        while piece := client.recv(1 << 20):
            taken += len(piece)
    assert taken < 1 << 25


def test_a_closed_connection_is_not_stalled(pair: tuple[socket.socket, Stream]) -> None:
    _, stream = pair
    stream._write_started = 1.0
    assert stream.measure_stall(100.0) == 0.0
    assert stream.measure_stall(102.0) == 2.0
    stream.connection.close()
    assert stream.measure_stall(104.0) == 0.0


def test_a_fault_in_one_check_ends_no_other(
    database: Database, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stream, "measure_stall", lambda self, now: 1 / 0)
    with served.connect() as first:
        time.sleep(0.5)  # in which the server looks for stalled clients
        with served.connect() as second:
            assert second.execute("SELECT 1").fetchone() == first.execute("SELECT 1").fetchone() == (1,)


def test_fatal_errors_do_not_wait_for_the_client(pair: tuple[socket.socket, Stream]) -> None:
    _, stream = pair
    stream.limit_writes()
    started = time.monotonic()
    with pytest.raises(ClientDisconnected):
        stream.send(bytes(1 << 25))
    assert time.monotonic() - started < WITHIN_S

"""Clients that go while their statement runs: it is cancelled, as client_connection_check_interval says."""

from __future__ import annotations

import contextlib
import ssl
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpudb.config.wire import WireSettings
from gpudb.server.wire.messages import SSL_REQUEST
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.tls import make_self_signed_context
from gpudb.session.database import Database
from tests.support.raw_wire import RawClient, query
from tests.support.sessions import run, wait_until

ENDLESS = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a + b < 0"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    made = Database(None)
    yield made
    made.close()


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def server(database: Database, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PgServer]:
    made = PgServer(database, WireSettings(port=0), tls=make_self_signed_context(tmp_path) if request.param else None)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown(timeout=0)
    thread.join(60)
    assert not thread.is_alive()


def _ask(server: PgServer, name: str, *before: str) -> RawClient:
    """Returns a client whose statement runs and does not end by itself."""
    client = RawClient(server.address)
    if server.tls is not None:
        client.send(struct.pack("!II", 8, SSL_REQUEST))
        assert client.exactly(1) == b"S"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client.socket = context.wrap_socket(client.socket)
    client.login(application_name=name)
    for each in before:
        client.send(query(each))
        client.until()
    client.send(query(ENDLESS))
    return client


def _list_running(database: Database) -> list[str]:
    return [each.settings["application_name"] for each in database.sessions() if each.running.active]


def test_the_statement_of_a_client_that_has_gone_is_cancelled(database: Database, server: PgServer) -> None:
    with contextlib.closing(_ask(server, "stays")):
        gone = _ask(server, "goes", "BEGIN", "CREATE TEMPORARY TABLE t (a int)")
        wait_until(lambda: sorted(_list_running(database)) == ["goes", "stays"], "both statements run")
        gone.close()
        wait_until(lambda: _list_running(database) == ["stays"], "the statement has ended")
        wait_until(lambda: len(database.sessions()) == 1, "the session has ended")


def test_an_interval_of_zero_leaves_it(database: Database, server: PgServer) -> None:
    left = _ask(server, "left", "SET client_connection_check_interval = 0")
    wait_until(lambda: _list_running(database) == ["left"], "its statement runs")
    left.close()
    gone = _ask(server, "goes", "SET client_connection_check_interval = '100ms'")
    wait_until(lambda: "goes" in _list_running(database), "the other one's runs")
    gone.close()
    wait_until(lambda: "goes" not in _list_running(database), "the other one's has ended")
    assert _list_running(database) == ["left"]


def test_the_check_is_on_by_default(database: Database) -> None:
    with contextlib.closing(database.session("gpudb")) as session:
        assert run(session, "SHOW client_connection_check_interval") == [("1s",)]

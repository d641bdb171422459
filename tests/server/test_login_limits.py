"""Limits of logins: connections of a role, reserved ones, expired passwords, half-open clients, delays, time."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.catalog.roles import Role
from gpudb.config.database import EMBEDDED
from gpudb.config.wire import WireSettings
from gpudb.server.wire.failed_logins import FREE_FAILURES, FailedLogins
from gpudb.server.wire.messages import SSL_REQUEST
from gpudb.server.wire.pending_connections import BURST_S, PendingConnections, get_client_network
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.tls import make_self_signed_context
from gpudb.session.database import Database
from gpudb.values.scram import make_verifier
from tests.support.fake_database import FakeDatabase
from tests.support.oracle.server import Oracle
from tests.support.raw_wire import RawClient, connected, message, startup
from tests.support.sessions import wait_until
from tests.support.wire_server import serving

Serve = Callable[..., PgServer]
MAX_CONNECTIONS = 6


@pytest.fixture(scope="module")
def limited() -> Iterator[PgServer]:
    database = Database(None, replace(EMBEDDED, max_connections=MAX_CONNECTIONS, superuser_reserved_connections=2))
    with serving(database, WireSettings(port=0, max_connections=MAX_CONNECTIONS, failed_login_delay=0)) as server:
        yield server


def connect(server: PgServer, user: str = "gpudb", **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
    host, port = server.address
    given = {"host": host, "port": port, "user": user, "dbname": "gpudb", "connect_timeout": 60, **options}
    return psycopg.connect(autocommit=True, **given)


def refusal(server: PgServer, user: str, **options: Any) -> str:
    with pytest.raises(psycopg.OperationalError) as raised:
        connect(server, user, **options)
    return str(raised.value).rpartition("FATAL:")[2].strip()


def wait_for_sessions(server: PgServer, count: int) -> None:
    wait_until(lambda: len(server.ctxts) == count and len(server.database.sessions()) == count, "sessions have ended")


def log_in_from(server: PgServer, host: str) -> None:
    """Logs in from an address of loopback."""
    client = RawClient.__new__(RawClient)
    client.socket = socket.create_connection(server.address, 10, (host, 0))
    with contextlib.closing(client):
        assert client.login()[-1].kind == "Z"


@contextlib.contextmanager
def administrator(server: PgServer, *statements: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    wait_for_sessions(server, 0)
    with connect(server) as connection:
        for statement in statements:
            connection.execute(statement)
        yield connection


def test_a_role_has_a_connection_limit(limited: PgServer) -> None:
    with administrator(limited, "CREATE ROLE few LOGIN CONNECTION LIMIT 2") as admin:
        with connect(limited, "few"), connect(limited, "few") as second:
            assert refusal(limited, "few") == 'too many connections for role "few"'
            second.close()
            wait_for_sessions(limited, 2)
            connect(limited, "few").close()
        admin.execute("ALTER ROLE few CONNECTION LIMIT 0")
        wait_for_sessions(limited, 1)
        assert refusal(limited, "few") == 'too many connections for role "few"'
        admin.execute("ALTER ROLE few SUPERUSER")
        connect(limited, "few").close()
        admin.execute("ALTER ROLE few NOSUPERUSER CONNECTION LIMIT -1")
        connect(limited, "few").close()
        wait_for_sessions(limited, 1)
        admin.execute("DROP ROLE few")


def test_some_connections_are_for_superusers(limited: PgServer) -> None:
    with administrator(limited, "CREATE ROLE plain LOGIN") as admin, contextlib.ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS - 3):
            stack.enter_context(connect(limited, "plain"))
        expected = "remaining connection slots are reserved for roles with the SUPERUSER attribute"
        assert refusal(limited, "plain") == expected
        for _ in range(2):
            stack.enter_context(connect(limited))
        assert refusal(limited, "gpudb") == "sorry, too many clients already"
        stack.close()
        wait_for_sessions(limited, 1)
        admin.execute("DROP ROLE plain")


def test_a_password_is_valid_until_a_time(limited: PgServer) -> None:
    with administrator(limited, "CREATE ROLE guest LOGIN PASSWORD 'x' VALID UNTIL 'infinity'") as admin:
        connect(limited, "guest", password="x").close()
        admin.execute("ALTER ROLE guest VALID UNTIL '2001-01-01'")
        assert refusal(limited, "guest", password="x") == 'password authentication failed for user "guest"'
        admin.execute("ALTER ROLE guest VALID UNTIL '2200-01-01 00:00+02'")
        connect(limited, "guest", password="x").close()
        admin.execute("ALTER ROLE guest VALID UNTIL '-infinity'")
        assert "password authentication failed" in refusal(limited, "guest", password="x")
        wait_for_sessions(limited, 1)
        admin.execute("DROP ROLE guest")


def test_limits_are_shown_as_in_postgresql(limited: PgServer, oracle: Oracle) -> None:
    statements = (
        "CREATE ROLE shown_a CONNECTION LIMIT 5 VALID UNTIL '2030-06-01 12:00+02'",
        "CREATE ROLE shown_b VALID UNTIL 'infinity'",
        "CREATE ROLE shown_c",
        "ALTER ROLE shown_c CONNECTION LIMIT 7",
    )
    query = "SELECT rolname, rolconnlimit, rolvaliduntil::text FROM pg_roles WHERE rolname LIKE 'shown%' ORDER BY 1"
    drop = "DROP ROLE shown_a, shown_b, shown_c"
    with administrator(limited, *statements) as admin:
        found = [tuple(None if value is None else str(value) for value in row) for row in admin.execute(query)]
        admin.execute(drop)
        error = pytest.raises(psycopg.errors.InvalidParameterValue, match="invalid connection limit: -2")
        with error:
            admin.execute("CREATE ROLE shown_d CONNECTION LIMIT -2")
        with pytest.raises(psycopg.errors.InvalidDatetimeFormat):
            admin.execute("CREATE ROLE shown_d VALID UNTIL 'soon'")
    for statement in statements:
        assert not oracle.execute(statement).failed
    expected = list(oracle.execute(query).rows)
    assert not oracle.execute(drop).failed
    assert found == expected


# ---- clients that have not authenticated


def test_half_open_connections_keep_nobody_out(serve: Serve, tmp_path: Path) -> None:
    """2,000 silent connections, most of them from the very address of a client that logs in, in each state."""
    database = FakeDatabase(Role(10, "gpudb", superuser=True), Role(11, "ann", verifier=make_verifier("secret")))
    server = serve(database, WireSettings(port=0, max_connections=50), tls=make_self_signed_context(tmp_path))
    with contextlib.ExitStack() as stack:
        for number in range(2000):
            made = socket.socket()
            stack.callback(made.close)
            made.bind(("127.0.0.3" if number % 4 == 0 else "127.0.0.1", 0))
            made.settimeout(10)
            made.connect(server.address)
            if number % 3 == 1:
                made.sendall(startup(user="ann", database="gpudb"))
            elif number % 3 == 2:  # within the handshake of TLS
                made.sendall(struct.pack("!II", 8, SSL_REQUEST))
                assert made.recv(1) == b"S"
            if number % 250 == 249:
                started = time.monotonic()
                connect(server, "ann", password="secret").close()
                log_in_from(server, "127.0.0.9")
                assert time.monotonic() - started < 10
        # those that still wait are within the limits, and a statement runs as ever
        wait_until(lambda: len(server.pending) <= 550, "the oldest have ended")
        assert threading.active_count() < 700
        with connect(server, "ann", password="secret") as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    wait_until(lambda: len(server.pending) == 0, "all have gone")


def test_beyond_the_limit_of_an_address_its_oldest_connection_ends(serve: Serve) -> None:
    server = serve(FakeDatabase(), WireSettings(port=0, max_unauthenticated_per_address=3))
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(server.address, login=False)) for _ in range(3)]
        other = stack.enter_context(contextlib.closing(socket.create_connection(server.address, 10, ("127.0.0.2", 0))))
        wait_until(lambda: len(server.pending) == 4, "all have come")
        time.sleep(BURST_S + 0.1)  # until then they are a burst, of which all may stay
        with connected(server.address) as client:
            assert client is not None
            (answer,) = clients[0].to_end()
            assert (answer.fields["S"], answer.fields["C"]) == ("FATAL", "53300")
            for waiting in clients[1:]:
                assert waiting.login()[-1].kind == "Z"
        other.settimeout(0.1)
        with pytest.raises(TimeoutError):
            other.recv(1)


def test_a_burst_of_clients_ends_nobody(serve: Serve) -> None:
    server = serve(
        FakeDatabase(),
        WireSettings(port=0, max_unauthenticated_connections=20, max_unauthenticated_per_address=10),
    )
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(server.address, login=False)) for _ in range(60)]
        for client in clients:
            assert client.login()[-1].kind == "Z"


def test_the_address_with_the_most_gives_way() -> None:
    class Connection:
        ended = False

        def stop(self, error: object, now: bool = False) -> None:
            self.ended = True

    pending = PendingConnections(100, 100)
    few, many = [Connection() for _ in range(2)], [Connection() for _ in range(5)]
    for connection in few:
        pending.add(connection, "10.0.0.1")
    for number, connection in enumerate(many):
        pending.add(connection, f"2001:db8::{number}")
    pending.evict()
    assert [each.ended for each in few + many] == [False, False, True, False, False, False, False]
    pending.remove(many[0], "2001:db8::0")
    assert len(pending) == 6


def test_addresses_of_a_network_count_together() -> None:
    assert get_client_network("10.0.0.1") != get_client_network("10.0.0.2")
    assert get_client_network("::ffff:10.0.0.1") == get_client_network("10.0.0.1")
    assert get_client_network("2001:db8::1") == get_client_network("2001:db8::ffff:1")
    assert get_client_network("2001:db8::1") != get_client_network("2001:db8:0:1::1")


def test_authentication_has_a_time_limit(serve: Serve) -> None:
    database = FakeDatabase(Role(11, "ann", verifier=make_verifier("secret", iterations=100)))
    server = serve(database, WireSettings(port=0, authentication_timeout=0.3))
    with connected(server.address, login=False) as client:
        client.send(startup(user="ann", database="gpudb"))
        assert client.receive().kind == "R"
        answer = client.to_end()[-1]
    assert answer.fields["M"] == "canceling authentication due to timeout"
    assert (answer.fields["S"], answer.fields["C"]) == ("FATAL", "57014")


# ---- failures


def test_failures_of_an_address_are_answered_later_and_later(serve: Serve) -> None:
    database = FakeDatabase(Role(11, "ann", verifier=make_verifier("secret", iterations=100)))
    server = serve(database, WireSettings(port=0, failed_login_delay=0.4))
    waits = []
    for _ in range(FREE_FAILURES + 4):
        started = time.monotonic()
        assert "password authentication failed" in refusal(server, "ann", password="wrong")
        waits.append(time.monotonic() - started)
    assert max(waits[:FREE_FAILURES]) < 0.4
    assert waits[-1] >= 0.4
    assert sum(waits[FREE_FAILURES:]) >= 0.1 + 0.2 + 0.4 + 0.4
    started = time.monotonic()
    connect(server, "ann", password="secret").close()
    assert time.monotonic() - started < 0.4


def test_delays_double_up_to_the_longest_and_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("gpudb.server.wire.failed_logins.time.monotonic", lambda: now)
    failed = FailedLogins(1.0)
    assert [failed.record("10.0.0.1") for _ in range(8)] == [0, 0, 0, 0.1, 0.2, 0.4, 0.8, 1.0]
    assert failed.record("10.0.0.2") == 0
    now += 61
    assert failed.record("10.0.0.1") == 0
    assert [FailedLogins(0).record("10.0.0.1") for _ in range(9)] == [0] * 9


def test_a_client_whose_answer_waits_can_be_ended(serve: Serve) -> None:
    database = FakeDatabase(Role(11, "ann", verifier=make_verifier("secret", iterations=100)))
    server = serve(database, WireSettings(port=0, failed_login_delay=30))
    for _ in range(12):
        server.failed_logins.record("127.0.0.1")
    with connected(server.address, login=False) as client:
        client.send(startup(user="nobody", database="gpudb"))
        client.receive()
        client.send(message("p", b"SCRAM-SHA-256\0\0\0\0\x0an,,n=,r=ab"))
        client.receive()
        client.send(message("p", b"c=biws,r=ab,p=QUJD"))
        time.sleep(0.2)  # until the answer waits, mostly; a client before that can be ended as well
        started = time.monotonic()
        server.pending.evict()
        client.to_end()
        assert time.monotonic() - started < 25

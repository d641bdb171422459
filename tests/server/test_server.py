"""The server on its sockets: start-up, TLS, passwords, cancellation, limits, log and shutdown."""

from __future__ import annotations

import contextlib
import io
import json
import ssl
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from gpudb.catalog.roles import Role
from gpudb.config.wire import WireSettings
from gpudb.errors import SqlError
from gpudb.server.wire.messages import CANCEL_REQUEST, GSSENC_REQUEST, SSL_REQUEST
from gpudb.server.wire.server import PgServer, check_exposure
from gpudb.server.wire.statement_log import StatementLog
from gpudb.server.wire.tls import make_self_signed_context, make_server_context
from gpudb.values.scram import make_verifier
from tests.support import raw_wire
from tests.support.fake_database import FakeDatabase
from tests.support.raw_wire import RawClient, connected, message, query, startup
from tests.support.sessions import wait_until

Serve = Callable[..., PgServer]
Address = tuple[str, int]


def dsn(address: Address, **more: object) -> str:
    known = {"host": address[0], "port": address[1], "user": "gpudb", "dbname": "gpudb", "connect_timeout": 60}
    return " ".join(f"{name}={value}" for name, value in (known | more).items())


def request(code: int, rest: bytes = b"") -> bytes:
    return struct.pack("!II", 8 + len(rest), code) + rest


def eventually(true: Callable[[], bool], within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.01)
    return true()


# ---- start-up


def test_a_client_learns_settings_and_key(address: Address) -> None:
    with connected(address, login=False) as client:
        answers = client.login(application_name="tests")
    assert answers[0].payload == b"\0\0\0\0"
    told = dict(answer.payload[:-1].decode().split("\0") for answer in answers if answer.kind == "S")
    assert told["server_version"] == "16.4"
    assert told["application_name"] == "tests"
    assert [answer.kind for answer in answers[-2:]] == ["K", "Z"]
    assert len(answers[-2].payload) == 8


def test_encryption_is_declined_without_a_certificate(address: Address) -> None:
    with connected(address, login=False) as client:
        client.send(request(SSL_REQUEST))
        assert client.exactly(1) == b"N"
        client.send(request(GSSENC_REQUEST))
        assert client.exactly(1) == b"N"
        assert client.login()[-1].kind == "Z"


def test_newer_minor_versions_are_negotiated_down(address: Address) -> None:
    with connected(address, login=False) as client:
        client.send(startup(196610, user="gpudb", database="gpudb", **{"_pq_.hologram": "on"}))
        answers = client.until()
    assert answers[0].kind == "v"
    assert answers[0].payload == struct.pack("!ii", 196608, 1) + b"_pq_.hologram\0"


@pytest.mark.parametrize(
    ("packet", "sqlstate"),
    [
        (startup(131072, user="gpudb"), "0A000"),
        (startup(80877105), "0A000"),
        (startup(database="gpudb"), "28000"),
        (startup(user="gpudb", database="other"), "3D000"),
        (startup(user="gpudb", database="gpudb", nonsense="1"), "42704"),
        (startup(user="gpudb", database="gpudb", options="-c nonsense=1"), "42704"),
        (startup(user="gpudb", database="gpudb", options="--x"), "42601"),
        (startup(user="gpudb", database="gpudb", replication="true"), "0A000"),
        (startup(user="nobody", database="gpudb"), "28000"),
        (struct.pack("!II", 9, 196608) + b"x", "08P01"),
        (struct.pack("!I", 7), "08P01"),
        (struct.pack("!I", 10_001), "08P01"),
        (b"GET / HTTP/1.1\r\n\r\n", "08P01"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "08P01"),
        (startup(user="\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), database="gpudb"), "28000"),
    ],
)  # fmt: skip
def test_start_ups_that_are_refused(address: Address, packet: bytes, sqlstate: str) -> None:
    with connected(address, login=False) as client:
        client.send(packet)
        answer = client.to_end()[-1]
    assert (answer.fields["S"], answer.fields["C"]) == ("FATAL", sqlstate)


def test_the_database_may_be_left_out_for_the_user_of_its_name(address: Address) -> None:
    with connected(address, login=False) as client:
        client.send(startup(user="gpudb"))
        assert client.until()[-1].kind == "Z"


def test_options_become_settings(address: Address) -> None:
    options = r"-c TimeZone=Asia/Tokyo --extra-float-digits=1 -capplication_name=a\ b"
    with connected(address, login=False) as client:
        told = [answer.payload for answer in client.login(options=options) if answer.kind == "S"]
    assert b"TimeZone\0Asia/Tokyo\0" in told
    assert b"application_name\0a b\0" in told


def test_a_client_that_only_connects_is_let_go(serve: Serve) -> None:
    server = serve(FakeDatabase(), WireSettings(port=0, authentication_timeout=0.2))
    with connected(server.address, login=False) as client:
        assert client.to_end() == []
    with connected(server.address, login=False) as client:
        client.send(b"\0\0")
        assert client.to_end() == []
    with connected(server.address) as client:
        time.sleep(0.4)  # longer than the limit of logins
        client.send(query("select 1"))
        assert client.until()[-1].kind == "Z"


# ---- passwords


def guarded() -> FakeDatabase:
    return FakeDatabase(
        Role(10, "gpudb", superuser=True),
        Role(11, "ann", verifier=make_verifier("sécret", iterations=100)),
        Role(12, "group", login=False, verifier=make_verifier("secret", iterations=100)),
    )


def test_a_password_is_asked_for_and_checked(serve: Serve) -> None:
    address = serve(guarded()).address
    with psycopg.connect(dsn(address, user="ann", password="sécret")) as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    for user, password in (("ann", "wrong"), ("nobody", "sécret")):
        with pytest.raises(psycopg.OperationalError, match=f'password authentication failed for user "{user}"'):
            psycopg.connect(dsn(address, user=user, password=password))
    with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
        psycopg.connect(dsn(address, user="group", password="secret"))
    with psycopg.connect(dsn(address)) as connection:
        assert connection.info.user == "gpudb"


def test_md5_and_other_mechanisms_are_refused(serve: Serve) -> None:
    with connected(serve(guarded()).address, login=False) as client:
        client.send(startup(user="ann", database="gpudb"))
        asked = client.receive()
        assert asked.payload == struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0"
        client.send(message("p", b"SCRAM-SHA-1\0" + struct.pack("!i", -1)))
        assert client.to_end()[0].fields["C"] == "08P01"


@pytest.mark.parametrize("answer", [query("select 1"), b"p\0\1\0\0", b"p\0\0\0\3", message("p", b"x")])
def test_other_answers_to_the_password_question_are_fatal(serve: Serve, answer: bytes) -> None:
    with connected(serve(guarded()).address, login=False) as client:
        client.send(startup(user="ann", database="gpudb"))
        client.receive()
        client.send(answer)
        assert client.to_end()[0].fields["C"] == "08P01"


def test_listening_beyond_loopback_wants_passwords() -> None:
    open_database = FakeDatabase()
    for host in ("0.0.0.0", "", "::"):
        with pytest.raises(SqlError) as raised:
            check_exposure(open_database, host)
        assert raised.value.sqlstate == "F0000"
        assert '"gpudb"' in raised.value.message
    for host in ("127.0.0.1", "localhost", "::1"):
        check_exposure(open_database, host)
    open_database.password("gpudb", make_verifier("secret"))
    check_exposure(open_database, "0.0.0.0")


# ---- TLS


def test_clients_may_encrypt(serve: Serve, tmp_path: Path) -> None:
    address = serve(guarded(), tls=make_self_signed_context(tmp_path)).address
    certificate = tmp_path / "server.crt"
    with psycopg.connect(
        dsn(address, user="ann", password="sécret", sslmode="verify-full", sslrootcert=certificate)
    ) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute("select n from range(100000) t(n)").fetchall()[-1] == (99999,)
    with psycopg.connect(dsn(address, sslmode="disable")) as connection:
        assert not connection.pgconn.ssl_in_use


def test_the_certificate_is_made_once_and_kept_secret(tmp_path: Path) -> None:
    make_self_signed_context(tmp_path)
    made = (tmp_path / "server.key").read_bytes()
    assert (tmp_path / "server.key").stat().st_mode & 0o077 == 0
    context = make_self_signed_context(tmp_path)
    assert (tmp_path / "server.key").read_bytes() == made
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_unusable_certificates_are_refused(tmp_path: Path) -> None:
    certificate, key = tmp_path / "c", tmp_path / "k"
    with pytest.raises(SqlError):
        make_server_context(certificate, key)
    certificate.write_text("no certificate")
    key.write_text("no key")
    key.chmod(0o644)
    with pytest.raises(SqlError) as raised:
        make_server_context(certificate, key)
    assert "access" in raised.value.message
    key.chmod(0o600)
    with pytest.raises(SqlError):
        make_server_context(certificate, key)


def test_what_a_client_sent_before_the_handshake_never_counts(serve: Serve, tmp_path: Path) -> None:
    server = serve(FakeDatabase(), tls=make_self_signed_context(tmp_path))
    with connected(server.address, login=False) as client:
        client.send(request(SSL_REQUEST) + startup(user="gpudb", database="gpudb"))
        assert client.exactly(1) == b"S"
        assert [answer for answer in client.to_end() if answer.kind in "RZ"] == []


# ---- cancel


def test_a_statement_is_cancelled_from_another_connection(address: Address) -> None:
    with psycopg.connect(dsn(address), autocommit=True) as connection:
        timer = threading.Timer(0.2, connection.cancel_safe)
        timer.start()
        started = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("wait 20")
        assert time.monotonic() - started < 20
        timer.join(60)
        assert connection.execute("select 1").fetchone() == (1,)


def test_a_wrong_key_cancels_nothing(address: Address) -> None:
    with connected(address, login=False) as client:
        key = next(answer.payload for answer in client.login() if answer.kind == "K")
        client.send(query("wait 0.5"))
        wrong = key[:4] + bytes([key[4] ^ 1]) + key[5:]
        with connected(address, login=False) as other:
            other.send(request(CANCEL_REQUEST, wrong))
            assert other.to_end() == []
        assert client.receive().kind == "C"


# ---- limits and shutdown


def test_too_many_clients_are_told_so(serve: Serve) -> None:
    address = serve(FakeDatabase(), WireSettings(port=0, max_connections=2)).address
    with connected(address), connected(address) as second:
        with connected(address, login=False) as third:
            third.send(startup(user="gpudb", database="gpudb"))
            assert third.to_end()[-1].fields["C"] == "53300"
        second.send(raw_wire.TERMINATE)
        assert second.to_end() == []
        with connected(address) as fourth:
            fourth.send(query("select 1"))
            assert fourth.until()[-1].kind == "Z"


def test_sessions_are_closed_with_their_connections(fake: tuple[FakeDatabase, PgServer]) -> None:
    database, server = fake
    with connected(server.address, login=False) as client:
        client.login()
        process_id = max(database.sessions)
        assert not database.sessions[process_id].closed
    assert eventually(lambda: database.sessions[process_id].closed)
    assert eventually(lambda: process_id not in server.ctxts)


def test_a_session_that_is_terminated_tells_its_client(fake: tuple[FakeDatabase, PgServer]) -> None:
    database, server = fake
    with connected(server.address) as client:
        terminate = database.sessions[max(database.sessions)].on_terminate
        assert terminate is not None
        terminate()
        (answer,) = client.to_end()
    assert (answer.fields["S"], answer.fields["C"]) == ("FATAL", "57P01")


def test_a_terminated_statement_ends_too(fake: tuple[FakeDatabase, PgServer]) -> None:
    database, server = fake
    with connected(server.address) as client:
        session = database.sessions[max(database.sessions)]
        client.send(query("wait 60"))
        wait_until(lambda: session.is_waiting, "the statement runs")
        assert session.on_terminate is not None
        session.on_terminate()
        answers = client.to_end()
    assert [(answer.fields["S"], answer.fields["C"]) for answer in answers] == [("FATAL", "57P01")]


def test_a_broken_client_harms_nobody(address: Address) -> None:
    with connected(address) as client:
        client.send(query("select n from range(3000000) t(n)"))
        client.receive()
    with connected(address) as client:
        client.send(query("copy t from stdin"))
        client.receive()
    with connected(address) as client:
        client.send(query("select 1")[:-3])
    with connected(address) as client:
        client.send(query("select 1"))
        assert client.until()[-1].kind == "Z"


def test_shutdown_tells_idle_clients_and_lets_statements_end() -> None:
    database = FakeDatabase()
    server = PgServer(database, WireSettings(port=0))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with connected(server.address) as idle, connected(server.address) as busy, connected(server.address) as endless:
        busy.send(query("wait 2"))
        endless.send(query("wait 60"))
        sessions = sorted(database.sessions)[-2:]
        wait_until(lambda: all(database.sessions[each].is_waiting for each in sessions), "both statements run")
        stopper = threading.Thread(target=server.shutdown, args=(5.0,))
        stopper.start()
        assert [answer.fields["C"] for answer in idle.to_end()] == ["57P01"]
        answers = busy.to_end()
        assert [answer.kind for answer in answers] == ["C", "Z", "E"]
        assert answers[-1].fields["C"] == "57P01"
        assert [answer.fields["C"] for answer in endless.to_end()] == ["57P01"]
        stopper.join(60)
        assert not stopper.is_alive()
    thread.join(60)
    assert not thread.is_alive()
    with pytest.raises(ConnectionError):
        RawClient(server.address)


def test_shutdown_before_serving_returns() -> None:
    server = PgServer(FakeDatabase(), WireSettings(port=0))
    server.shutdown(0.1)
    server.serve_forever()


def test_many_clients_at_once(address: Address) -> None:
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(connected(address, login=False)) for _ in range(100)]
        for client in clients:
            client.send(startup(user="gpudb", database="gpudb"))
        for number, client in enumerate(clients):
            client.until()
            client.send(query(f"select {number} as n"))
        for number, client in enumerate(clients):
            assert client.until()[1].values == [b"%d" % number]


def test_a_client_that_idles_in_a_transaction_is_let_go(fake: tuple[FakeDatabase, PgServer]) -> None:
    database, server = fake
    with connected(server.address) as client:
        database.sessions[max(database.sessions)].settings["idle_in_transaction_session_timeout"] = "200"
        client.send(query("select 1"))
        client.until()
        time.sleep(0.4)  # longer than the limit, which is of transactions
        client.send(query("begin"))
        client.until()
        (answer,) = client.to_end()
    assert (answer.fields["S"], answer.fields["C"]) == ("FATAL", "25P03")


# ---- the log


def test_statements_are_logged_as_json_lines(serve: Serve) -> None:
    out = io.StringIO()
    with StatementLog(out) as log:
        address = serve(FakeDatabase(), statement_log=log).address
        with connected(address) as client:
            client.send(query("select 'é' as a; select 2 as b") + query("selec"))
            client.send(query("alter role ann password 'se''cret'"))
            for _ in range(3):
                client.until()
    first, second, third = (json.loads(line) for line in out.getvalue().splitlines())
    assert (first["user"], first["rows"], first["sqlstate"], first["process_id"]) == ("gpudb", 2, "00000", 1)
    assert first["statement"] == "select 'é' as a; select 2 as b"
    assert first["duration_ms"] >= 0
    assert first["time"].endswith("Z")
    assert second["sqlstate"] == "42601"
    assert third["statement"] == "alter role ann password '…'"


def test_faults_are_logged_with_their_traceback_and_not_told(
    address: Address, caplog: pytest.LogCaptureFixture
) -> None:
    with connected(address) as client:
        client.send(query("fault"))
        told = client.until()[0].fields
    number = told["M"].split()[-1]
    assert told["C"] == "XX000"
    assert "secret" not in str(told)
    assert number in caplog.text
    assert "secret of the inside" in caplog.text

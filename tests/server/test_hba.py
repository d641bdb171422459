"""Rules of connections: read as PostgreSQL reads them, matched, shown, and loaded again while clients connect."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.catalog.roles import Role
from gpudb.config.wire import WireSettings
from gpudb.errors import SqlError
from gpudb.server.wire.hba.file import HbaFile
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.tls import make_self_signed_context
from gpudb.session.database import Database
from gpudb.values.scram import make_verifier
from tests.support.fake_database import FakeDatabase
from tests.support.oracle.server import Oracle, start_oracle
from tests.support.oracle.wire import WireClient
from tests.support.sessions import run

UNDELAYED = WireSettings(port=0, failed_login_delay=0)
Serve = Callable[..., PgServer]

SHARED_LINES = r"""
# Lines that mean the same to PostgreSQL and to gpudb.
local   all             all                                     trust
host    all             all             127.0.0.1/32            trust
host    "all",other     "+x",+staff,ann ::1/128                 scram-sha-256
host    sameuser,samerole all           10.0.0.1  255.0.0.0     reject   # a comment
host    a, b ,c         "quo""ted","with blank" fe80::/10       scram-sha-256
hostnossl all           all             all                     scram-sha-256
host    all \
        all             samehost                                trust
host    replication     all             samenet                 trust
hostnogssenc all        all             192.168.0.0/16          trust
hostnope all all all trust
host
host all
host all all
host all all 127.0.0.1
host all all 127.0.0.1/33 trust
host all all 127.0.0.1/x trust
host all all 127.0.0.1/8
host all all 127.0.0.1 ffff:: trust
host all all 127.0.0.1,127.0.0.2 trust
host all all all trust,reject
local,host all all trust
host all all all magic
host all all all trust nonsense
host all all all trust nonsense=1
host all all all trust clientcert=verify-ca
host all all name/8 trust
"""


def write(path: Path, text: str) -> Path:
    file = path / "pg_hba.conf"
    file.write_text(text)
    return file


def test_rules_are_read_and_shown_as_in_postgresql(oracle: Oracle, tmp_path: Path) -> None:
    """PostgreSQL shows the file as it is, and its rules stay those that it has loaded."""
    columns = "rule_number line_number type database user_name address netmask auth_method options error".split()
    file = Path(str(oracle.execute("SHOW hba_file").rows[0][0]))
    before = file.read_text()
    try:
        file.write_text(SHARED_LINES)
        query = f"SELECT to_json(r) FROM (SELECT {', '.join(columns)} FROM pg_hba_file_rules ORDER BY line_number) r"
        with psycopg.connect(oracle.dsn) as connection:
            expected = [row[0] for row in connection.execute(query)]
    finally:
        file.write_text(before)
    path = write(tmp_path, "local all all trust\n")
    hba = HbaFile(path)
    path.write_text(SHARED_LINES)
    found = [{name: row.get(name) for name in columns} for row in hba.read_rows()]
    assert len(expected) > 20
    assert found == expected


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("host all all localhost trust", 'host names are not supported: "localhost"'),
        ("host all all .example.com trust", 'host names are not supported: ".example.com"'),
        ("host all all all password", 'authentication method "password" is not supported: use "scram-sha-256"'),
        ("host all all all md5", 'authentication method "md5" is not supported: use "scram-sha-256"'),
        ("local all all peer", 'invalid authentication method "peer": not supported by this build'),
        ("hostssl all all all cert map=names", 'authentication option "map" is not supported'),
        ("hostssl all all all cert clientname=DN", 'clientname=DN is not supported: use "CN"'),
        ("hostssl all all all cert clientcert=verify-ca", 'clientcert only accepts "verify-full" when using "cert"'),
        ("hostssl all all all trust clientcert=1", 'invalid value for clientcert: "1"'),
        ("host all all all cert", "cert authentication is only supported on hostssl connections"),
        ("hostgssenc all all all trust", "hostgssenc record cannot match"),
        ("include other.conf", '"include" is not supported'),
        ("host @names all all trust", 'a file of names is not supported: "@names"'),
        ("host all /^a all trust", 'a regular expression is not supported: "/^a"'),
    ],
)
def test_a_file_with_another_line_is_refused_naming_line_and_cause(tmp_path: Path, line: str, cause: str) -> None:
    path = write(tmp_path, f"# a comment\nlocal all all trust\n\n{line}\n")
    with pytest.raises(SqlError) as raised:
        HbaFile(path, verifies_certificates=True)
    assert raised.value.sqlstate == "F0000"
    assert f'line 4 of configuration file "{path}"' in raised.value.message
    assert cause in raised.value.message


def test_certificates_need_authorities(tmp_path: Path) -> None:
    path = write(tmp_path, "hostssl all all all cert\n")
    with pytest.raises(SqlError, match="tls_ca"):
        HbaFile(path)
    HbaFile(path, verifies_certificates=True)


def test_every_broken_line_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "host all\nhost all all all trust\nhost x\n")
    with pytest.raises(SqlError, match="line 1") as raised:
        HbaFile(path)
    assert "line 3" in str(raised.value.detail)


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_a_file_without_rules_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SqlError, match="contains no entries"):
        HbaFile(write(tmp_path, text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="No such file"):
        HbaFile(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"host all \xe9 all trust\n")
    with pytest.raises(SqlError, match="UTF-8"):
        HbaFile(tmp_path / "latin")


def is_member(role: str, group: str) -> bool:
    return role == group or (role, group) in {("ann", "staff"), ("ann", "gpudb")}


@pytest.mark.parametrize(
    ("rule", "request_", "matches"),
    [
        ("host all all 10.0.0.0/8 trust", ConnectionRequest("ann", "gpudb", "10.9.9.9"), True),
        ("host all all 10.0.0.0/8 trust", ConnectionRequest("ann", "gpudb", "11.0.0.1"), False),
        ("host all all 10.0.0.0/8 trust", ConnectionRequest("ann", "gpudb", "::ffff:10.0.0.1"), True),
        ("host all all 10.0.0.0/8 trust", ConnectionRequest("ann", "gpudb", "::a00:1"), False),
        ("host all all 10.0.0.5 255.255.255.0 trust", ConnectionRequest("ann", "gpudb", "10.0.0.77"), True),
        ("host all all 0.0.0.0/0 trust", ConnectionRequest("ann", "gpudb", "fe80::1%eth0"), False),
        ("host all all fe80::/10 trust", ConnectionRequest("ann", "gpudb", "fe80::1%eth0"), True),
        ("host all all all trust", ConnectionRequest("ann", "gpudb", "fe80::1"), True),
        ("host all all samehost trust", ConnectionRequest("ann", "gpudb", "127.0.0.1"), True),
        ("host all all samehost trust", ConnectionRequest("ann", "gpudb", "127.0.0.2"), False),
        ("host all all samenet trust", ConnectionRequest("ann", "gpudb", "127.0.0.2"), True),
        ("host all all samenet trust", ConnectionRequest("ann", "gpudb", "203.0.113.9"), False),
        ("local all all trust", ConnectionRequest("ann", "gpudb", "127.0.0.1"), False),
        ("hostssl all all all trust", ConnectionRequest("ann", "gpudb", "::1", encrypted=True), True),
        ("hostssl all all all trust", ConnectionRequest("ann", "gpudb", "::1"), False),
        ("hostnossl all all all trust", ConnectionRequest("ann", "gpudb", "::1"), True),
        ("hostnossl all all all trust", ConnectionRequest("ann", "gpudb", "::1", encrypted=True), False),
        ("host a,gpudb all all trust", ConnectionRequest("ann", "gpudb", "::1"), True),
        ("host a all all trust", ConnectionRequest("ann", "gpudb", "::1"), False),
        ('host "all" all all trust', ConnectionRequest("ann", "gpudb", "::1"), False),
        ('host "all" all all trust', ConnectionRequest("ann", "all", "::1"), True),
        ("host sameuser all all trust", ConnectionRequest("gpudb", "gpudb", "::1"), True),
        ("host sameuser all all trust", ConnectionRequest("ann", "gpudb", "::1"), False),
        ("host samerole all all trust", ConnectionRequest("ann", "gpudb", "::1"), True),
        ("host samegroup all all trust", ConnectionRequest("bob", "gpudb", "::1"), False),
        ("host replication all all trust", ConnectionRequest("ann", "replication", "::1"), False),
        ("host all +staff all trust", ConnectionRequest("ann", "gpudb", "::1"), True),
        ("host all +staff all trust", ConnectionRequest("staff", "gpudb", "::1"), True),
        ("host all +staff all trust", ConnectionRequest("bob", "gpudb", "::1"), False),
        ('host all "+staff" all trust', ConnectionRequest("ann", "gpudb", "::1"), False),
        ("host all bob,ann all trust", ConnectionRequest("ann", "gpudb", "::1"), True),
        ("host all Ann all trust", ConnectionRequest("ann", "gpudb", "::1"), False),
        ('host all "all" all trust', ConnectionRequest("ann", "gpudb", "::1"), False),
    ],
)
def test_what_a_rule_matches(tmp_path: Path, rule: str, request_: ConnectionRequest, matches: bool) -> None:
    hba = HbaFile(write(tmp_path, rule + "\n"))
    assert (hba.find(request_, is_member) is not None) is matches


def test_the_first_rule_that_matches_decides(tmp_path: Path) -> None:
    hba = HbaFile(write(tmp_path, "host all ann all reject\nhost all all all trust\n"))
    rule = hba.find(ConnectionRequest("ann", "gpudb", "127.0.0.1"), is_member)
    assert rule is not None
    assert rule.method == "reject"


# ---- over sockets


def roles() -> FakeDatabase:
    verifier = make_verifier("secret", iterations=100)
    return FakeDatabase(
        Role(10, "gpudb", superuser=True),
        Role(11, "ann", verifier=verifier),
        Role(12, "bob"),
        Role(13, "group", login=False),
        Role(14, "eve", verifier=verifier),
    )


def connect(server: PgServer, **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
    host, port = server.address
    given = {"host": host, "port": port, "user": "gpudb", "dbname": "gpudb", "connect_timeout": 60, **options}
    return psycopg.connect(**given)


def refusal(server: PgServer, **options: Any) -> str:
    with pytest.raises(psycopg.OperationalError) as raised:
        connect(server, **options)
    return str(raised.value).rpartition("FATAL:")[2].strip()


@pytest.fixture
def ruled(serve: Serve, tmp_path: Path) -> tuple[PgServer, Path]:
    path = write(
        tmp_path,
        "host all eve 127.0.0.1/32 reject\n"
        "hostssl all bob 127.0.0.1/32 scram-sha-256\n"
        "hostnossl all bob,gpudb,nobody,group 127.0.0.1/32 trust\n"
        "host gpudb ann 127.0.0.1/32 scram-sha-256\n",
    )
    return serve(roles(), UNDELAYED, hba=HbaFile(path), tls=make_self_signed_context(tmp_path)), path


def test_rules_decide_who_connects(ruled: tuple[PgServer, Path]) -> None:
    server, _ = ruled
    with connect(server, user="gpudb", sslmode="disable") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    with connect(server, user="ann", password="secret") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert refusal(server, user="ann", password="wrong") == 'password authentication failed for user "ann"'
    assert refusal(server, user="bob", sslmode="require", password="x").startswith("password authentication failed")
    assert refusal(server, user="nobody", sslmode="disable") == 'role "nobody" does not exist'
    assert refusal(server, user="group", sslmode="disable") == 'role "group" is not permitted to log in'
    assert refusal(server, user="eve", password="secret", sslmode="disable") == (
        'pg_hba.conf rejects connection for host "127.0.0.1", user "eve", database "gpudb", no encryption'
    )
    assert refusal(server, user="gpudb", sslmode="require") == (
        'no pg_hba.conf entry for host "127.0.0.1", user "gpudb", database "gpudb", SSL encryption'
    )
    assert refusal(server, user="ann", dbname="other", sslmode="disable") == (
        'no pg_hba.conf entry for host "127.0.0.1", user "ann", database "other", no encryption'
    )


def test_rules_are_loaded_again_and_a_broken_file_leaves_them(
    ruled: tuple[PgServer, Path], caplog: pytest.LogCaptureFixture
) -> None:
    server, path = ruled
    assert server.hba is not None
    path.write_text("host all all 127.0.0.1/32 reject\n")
    connect(server, user="gpudb", sslmode="disable").close()
    assert server.hba.reload()
    assert "rejects" in refusal(server, user="gpudb", sslmode="disable")
    path.write_text("host all all all trust\nhost broken\n")
    with caplog.at_level(logging.ERROR):
        assert not server.hba.reload()
    assert "line 2" in caplog.text
    assert "end-of-line before role specification" in caplog.text
    assert "rejects" in refusal(server, user="gpudb", sslmode="disable")
    path.unlink()
    assert not server.hba.reload()
    assert "rejects" in refusal(server, user="gpudb", sslmode="disable")


def test_with_rules_the_server_listens_anywhere(tmp_path: Path) -> None:
    hba = HbaFile(write(tmp_path, "host all all 127.0.0.1/32 trust\n"))
    server = PgServer(roles(), WireSettings(host="0.0.0.0", port=0), hba=hba)
    server.shutdown(0.1)


def test_rules_of_groups_follow_memberships(serve: Serve, tmp_path: Path) -> None:
    """As in PostgreSQL a superuser is no member of what it was not granted."""
    hba = HbaFile(write(tmp_path, "host all root all trust\nhost all +staff all trust\nhost samerole all all trust\n"))
    database = Database(None)
    session = database.session("gpudb")
    run(session, "CREATE ROLE root SUPERUSER LOGIN; CREATE ROLE staff; CREATE ROLE clerks IN ROLE staff")
    run(session, "CREATE ROLE ann LOGIN IN ROLE clerks; CREATE ROLE bob LOGIN; CREATE ROLE boss LOGIN SUPERUSER")
    session.close()
    server = serve(database, UNDELAYED, hba=hba)
    with connect(server, user="root", autocommit=True) as admin:
        connect(server, user="ann").close()
        for user in ("bob", "boss"):
            assert refusal(server, user=user).startswith("no pg_hba.conf entry")
        admin.execute("GRANT staff TO bob WITH INHERIT FALSE, SET FALSE")
        connect(server, user="bob").close()
        admin.execute("REVOKE staff FROM clerks")
        assert refusal(server, user="ann").startswith("no pg_hba.conf entry")


def test_refusals_read_as_in_postgresql(serve: Serve, tmp_path: Path) -> None:
    """PostgreSQL's clients come through a Unix socket here, gpudb's through TCP: the host is not compared."""
    roles_of_both = ("eve", "nobody", "ann", "late", "absent")
    database = FakeDatabase(
        Role(10, "gpudb", superuser=True),
        Role(11, "ann", verifier=make_verifier("secret", iterations=100)),
        Role(12, "eve"),
        Role(13, "late", verifier=make_verifier("secret", iterations=100), valid_until=0),
    )
    text = "{type} all eve {address} reject\n{type} all ann,late {address} scram-sha-256\n{type} all absent {address} trust\n"
    path = write(tmp_path, text.format(type="host", address="all"))
    server = serve(database, UNDELAYED, hba=HbaFile(path))
    found = {name: refusal(server, user=name, password="wrong", sslmode="disable") for name in roles_of_both}
    found["late"] = refusal(server, user="late", password="secret")
    with start_oracle() as own:
        file = Path(str(own.execute("SHOW hba_file").rows[0][0]))
        for statement in (
            "CREATE ROLE ann LOGIN PASSWORD 'secret'",
            "CREATE ROLE eve LOGIN",
            "CREATE ROLE late LOGIN PASSWORD 'secret' VALID UNTIL '1970-01-01'",
        ):
            assert not own.execute(statement).failed
        before = file.read_text()
        file.write_text(text.format(type="local", address="") + "local all gpudb,postgres trust\n")
        assert not own.execute("SELECT pg_reload_conf()").failed
        expected = {}
        for name in roles_of_both:
            password = "secret" if name == "late" else "wrong"
            with pytest.raises(psycopg.OperationalError) as raised:
                psycopg.connect(own.dsn.replace("user=gpudb", f"user={name}"), password=password)
            expected[name] = str(raised.value).rpartition("FATAL:")[2].strip().replace("[local]", "127.0.0.1")
        file.write_text(before)
        with WireClient(own.dsn) as client:
            assert not client.execute("SELECT pg_reload_conf()").failed
    assert found == expected

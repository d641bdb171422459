"""The audit log of a server: who came, who was refused, what changed; and SELECTs of roles that are watched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from gpudb.errors import SqlError
from gpudb.server.wire.audit_log import AuditLog
from gpudb.server.wire.server import PgServer
from gpudb.server.wire.statement_classes import classify_statements
from gpudb.session.database import Database
from tests.support import raw_wire
from tests.support.raw_wire import connected
from tests.support.sessions import wait_until
from tests.support.wire_server import serving

Line = dict[str, Any]


@pytest.fixture
def audited(tmp_path: Path) -> Iterator[tuple[PgServer, Callable[[], list[Line]]]]:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path) as log, serving(Database(None), audit_log=log) as server:
        yield server, lambda: [json.loads(line) for line in path.read_text().splitlines()]


def connect(server: PgServer, user: str = "gpudb", **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
    host, port = server.address
    given = {"host": host, "port": port, "user": user, "dbname": "gpudb", "connect_timeout": 60, **options}
    return psycopg.connect(autocommit=True, **given)


def test_logins_and_their_ends_are_logged(audited: tuple[PgServer, Callable[[], list[Line]]]) -> None:
    server, read = audited
    with connect(server) as connection:
        process_id = connection.info.backend_pid
    with connect(server) as connection:
        connection.execute("CREATE ROLE ann LOGIN PASSWORD 'secret'")
        assert connection.execute("SELECT system_user").fetchone() == (None,)
    with pytest.raises(psycopg.OperationalError):
        connect(server, "ann", password="wrong")
    with pytest.raises(psycopg.OperationalError):
        connect(server, "nobody", password="wrong")
    with connect(server, "ann", password="secret") as connection:
        assert connection.execute("SELECT system_user, upper(SYSTEM_USER)").fetchone() == (
            "scram-sha-256:ann",
            "SCRAM-SHA-256:ANN",
        )
    wait_until(lambda: sum(line["event"] == "disconnect" for line in read()) == 3, "all have left")
    lines = read()
    assert lines[0].items() >= {
        "event": "login", "user": "gpudb", "database": "gpudb", "address": "127.0.0.1", "encrypted": False,
        "process_id": process_id, "method": "trust",
    }.items()  # fmt: skip
    assert lines[0]["time"].endswith("Z")
    failed = [line for line in lines if line["event"] == "login_failed"]
    assert [(line["user"], line["sqlstate"]) for line in failed] == [("ann", "28P01"), ("nobody", "28P01")]
    assert [line["method"] for line in lines if line["event"] == "login" and line["user"] == "ann"] == ["scram-sha-256"]
    ended = next(line for line in lines if line["event"] == "disconnect" and line["process_id"] == process_id)
    assert ended["duration_s"] >= 0
    assert "secret" not in str(lines)
    assert "wrong" not in str(lines)


def test_changes_of_roles_and_objects_are_logged_and_reads_are_not(
    audited: tuple[PgServer, Callable[[], list[Line]]],
) -> None:
    server, read = audited
    statements = (
        ("CREATE ROLE ann LOGIN PASSWORD $$secret$$", "ROLE"),
        ("ALTER ROLE ann VALID UNTIL '2030-01-01'", "ROLE"),
        ("ALTER ROLE ann SET statement_timeout = '5s'", "ROLE"),
        ("CREATE TABLE t (a int)", "DDL"),
        ("INSERT INTO t VALUES (1)", None),
        ("SELECT * FROM t", None),
        ("CREATE TABLE u AS SELECT * FROM t", "DDL"),
        ("UPDATE t SET a = 2", None),
        ("DROP TABLE t, u", "DDL"),
        ("DROP ROLE ann", "ROLE"),
        ("SET TimeZone = 'UTC'", None),
    )
    with connect(server) as connection:
        for statement, _ in statements:
            connection.execute(statement)
        with pytest.raises(psycopg.Error):
            connection.execute("DROP TABLE missing")
        connection.execute("BEGIN; CREATE TABLE v (a int); ALTER ROLE gpudb SET lock_timeout = 0; COMMIT")
    logged = [line for line in read() if line["event"] == "statement"]
    expected = [(classes, statement) for statement, classes in statements if classes is not None]
    assert [(*line["classes"], line["statement"].replace("'…'", "$$secret$$")) for line in logged[:-2]] == expected
    assert logged[0]["statement"] == "CREATE ROLE ann LOGIN PASSWORD '…'"
    assert (logged[-2]["sqlstate"], logged[-2]["statement"]) == ("42P01", "DROP TABLE missing")
    assert logged[-1]["classes"] == ["DDL", "MISC", "ROLE"]


def test_everything_is_logged_of_roles_that_are_watched(audited: tuple[PgServer, Callable[[], list[Line]]]) -> None:
    server, read = audited
    with connect(server) as connection:
        connection.execute("CREATE TABLE t (a int); GRANT SELECT, INSERT ON t TO PUBLIC")
        connection.execute("CREATE ROLE ann LOGIN; CREATE ROLE bob LOGIN")
        connection.execute("ALTER ROLE ann SET \"gpudb.audit\" = 'all'")
    for user in ("ann", "bob"):
        with connect(server, user) as connection:
            assert connection.execute('SHOW "gpudb.audit"').fetchone() == ("all" if user == "ann" else "ddl",)
            connection.execute("SELECT a FROM t WHERE a > %s", [5])
            connection.execute("INSERT INTO t VALUES (1), (2)")
            with connection.cursor().copy("COPY t TO STDOUT") as copy:
                list(copy)
    logged = [line for line in read() if line["event"] == "statement" and line["user"] in ("ann", "bob")]
    assert {line["user"] for line in logged} == {"ann"}
    assert [(*line["classes"], line["statement"]) for line in logged] == [
        ("MISC", 'SHOW "gpudb.audit"'),
        ("READ", "SELECT a FROM t WHERE a > $1"),
        ("WRITE", "INSERT INTO t VALUES (1), (2)"),
        ("READ", "COPY t TO STDOUT"),
    ]


def test_rows_that_a_client_took_are_logged_although_it_never_ends_the_statement(
    audited: tuple[PgServer, Callable[[], list[Line]]],
) -> None:
    server, read = audited
    with connect(server) as connection:
        connection.execute("CREATE ROLE ann LOGIN")
        connection.execute("ALTER ROLE ann SET gpudb.audit = 'all'")
    parts = [raw_wire.parse("SELECT 1 AS part FROM generate_series(1, 9)"), raw_wire.bind(), raw_wire.execute(limit=2)]
    with connected(server.address, login=False) as client:
        client.login(user="ann")
        client.send(b"".join(parts) + raw_wire.FLUSH)
        client.until("s")
        client.send(raw_wire.close("P") + raw_wire.parse("SELECT 2 AS never_run") + raw_wire.SYNC)
        client.until()
        client.send(b"".join(parts) + raw_wire.FLUSH)
        client.until("s")
    with connected(server.address, login=False) as client:
        client.login(user="ann")
        client.send(raw_wire.query("SELECT n AS lost FROM generate_series(1, 5000000) AS n"))
        client.until("D")
    wait_until(lambda: sum(line["event"] == "disconnect" for line in read()) == 3, "all have left")
    logged = [line for line in read() if line["event"] == "statement" and line["user"] == "ann"]
    assert [(line["statement"].split()[3], line["rows"], line["sqlstate"]) for line in logged] == [
        ("part", 2, "00000"),
        ("part", 2, "00000"),
        ("lost", 0, "08006"),
    ]


def test_a_role_that_is_watched_cannot_change_that(audited: tuple[PgServer, Callable[[], list[Line]]]) -> None:
    server, read = audited
    with connect(server) as connection:
        connection.execute("CREATE ROLE ann LOGIN CREATEROLE")
        connection.execute("ALTER ROLE ann SET gpudb.audit = 'all'")
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            connection.execute("ALTER ROLE ann SET gpudb.audit = 'sometimes'")
        with pytest.raises(psycopg.errors.CantChangeRuntimeParam):
            connection.execute("ALTER ROLE ann SET max_connections = 5")
    with pytest.raises(psycopg.OperationalError, match="cannot be changed"):
        connect(server, "ann", options="-c gpudb.audit=ddl")
    with connect(server, "ann") as connection:
        for statement in ("SET gpudb.audit = 'ddl'", "SET LOCAL gpudb.audit = 'ddl'"):
            with pytest.raises(psycopg.errors.CantChangeRuntimeParam):
                connection.execute(statement)
        for statement in ("ALTER ROLE ann SET gpudb.audit = 'ddl'", "ALTER ROLE ann RESET gpudb.audit"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        connection.execute("ALTER ROLE ann RESET ALL")
        connection.execute("DISCARD ALL")
        connection.execute("SELECT 1 AS still_watched")
    with connect(server, "ann") as connection:
        connection.execute("SELECT 2 AS still_watched")
    assert [line["statement"] for line in read() if "still_watched" in line.get("statement", "")] == [
        "SELECT 1 AS still_watched",
        "SELECT 2 AS still_watched",
    ]
    with connect(server) as connection:
        connection.execute("ALTER ROLE ann RESET ALL")
    with connect(server, "ann") as connection:
        connection.execute("SELECT 3 AS no_more")
    assert not any("no_more" in line.get("statement", "") for line in read())


def test_the_log_is_for_its_owner_and_can_be_reopened(tmp_path: Path) -> None:
    path, moved = tmp_path / "audit.jsonl", tmp_path / "audit.1"
    path.touch(mode=0o644)
    with AuditLog(path) as log:
        assert path.stat().st_mode & 0o777 == 0o600
        log.log_reload(succeeded=True)
        path.rename(moved)
        log.log_reload(succeeded=True)
        log.reopen()
        log.log_reload(succeeded=False)
        assert path.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line)["succeeded"] for line in moved.read_text().splitlines()] == [True, True]
    assert [json.loads(line)["succeeded"] for line in path.read_text().splitlines()] == [False]


def test_a_log_that_cannot_be_written_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    with (
        AuditLog(Path("/dev/full")) as log,
        serving(Database(None), audit_log=log) as server,
        connect(server) as connection,
    ):
        connection.execute("CREATE TABLE t (a int)")
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert 'could not write to log file "/dev/full"' in caplog.text


def test_a_log_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SqlError, match="could not open log file") as raised:
        AuditLog(tmp_path / "no folder" / "audit.jsonl")
    assert raised.value.sqlstate == "F0000"


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        ("SELECT 1", ("READ",)),
        ("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", ("WRITE",)),
        ("MERGE INTO t USING u ON true WHEN MATCHED THEN DELETE", ("WRITE",)),
        ("TRUNCATE t", ("WRITE",)),
        ("COPY t FROM STDIN", ("WRITE",)),
        ("COPY t TO STDOUT", ("READ",)),
        ("SELECT 1 INTO t", ("DDL",)),
        ("EXPLAIN ANALYZE DELETE FROM t", ("WRITE",)),
        ("EXPLAIN ANALYZE CREATE TABLE t AS SELECT 1", ("DDL",)),
        ("PREPARE p AS SELECT 1", ("READ",)),
        ("GRANT SELECT ON t TO x", ("ROLE",)),
        ("REVOKE a FROM b", ("ROLE",)),
        ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO x", ("ROLE",)),
        ("REASSIGN OWNED BY a TO b", ("ROLE",)),
        ("ALTER ROLE a RENAME TO b", ("ROLE",)),
        ("SET ROLE a", ("ROLE",)),
        ("RESET ROLE", ("ROLE",)),
        ("SET SESSION AUTHORIZATION a", ("ROLE",)),
        ("SET TimeZone = 'UTC'", ("MISC",)),
        ("ALTER SYSTEM SET statement_timeout = '5s'", ("DDL",)),
        ("ALTER TABLE a RENAME TO b", ("DDL",)),
        ("ALTER TABLE a OWNER TO b", ("DDL",)),
        ("COMMENT ON TABLE a IS 'b'", ("DDL",)),
        ("CALL p()", ("FUNCTION",)),
        ("BEGIN; SELECT 1; COMMIT", ("MISC", "READ")),
        ("CREATE NODE dn1 WITH (TYPE = 'datanode')", ("DDL",)),
        ("this is no SQL", ("MISC",)),
        ("", ()),
    ],
)
def test_classes_of_statements(text: str, classes: tuple[str, ...]) -> None:
    assert classify_statements(text) == classes

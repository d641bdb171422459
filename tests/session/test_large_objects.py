"""Large objects between sessions: locks, snapshots, conflicts, reopening; and by FunctionCall, psql and dumps."""

from __future__ import annotations

import contextlib
import random
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import pq

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.client_programs import run as run_program
from tests.support.raw_wire import RawClient, message, query
from tests.support.server_program import Program, running_server
from tests.support.session_fixtures import Connect, connect, database, other, session  # noqa: F401
from tests.support.sessions import run, state, value, wait_until


@pytest.fixture
def written(session: Session) -> Iterator[int]:  # noqa: F811
    """The OID of a large object `abcdef`, dropped at the end."""
    oid = value(session, "SELECT lo_from_bytea(0, 'abcdef')")
    yield oid
    run(session, "ROLLBACK")
    run(session, f"SELECT lo_unlink(oid) FROM pg_largeobject_metadata WHERE oid = {oid}")


def test_writers_wait_and_see_what_was_written(session: Session, other: Session, written: int) -> None:  # noqa: F811
    run(session, "BEGIN")
    run(session, f"SELECT lo_put({written}, 0, 'X')")
    assert value(other, f"SELECT lo_get({written})") == b"abcdef"
    done: list[Any] = []
    waiting = threading.Thread(target=lambda: done.append(run(other, f"SELECT lo_put({written}, 5, 'Y')")))
    waiting.start()
    wait_until(lambda: value(session, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 1, "a waiting writer")
    run(session, "COMMIT")
    waiting.join(60)
    assert done == [[("",)]]
    assert value(session, f"SELECT lo_get({written})") == b"XbcdeY"


def test_a_kept_snapshot_is_read_and_not_written(session: Session, other: Session, written: int) -> None:  # noqa: F811
    run(session, "BEGIN ISOLATION LEVEL REPEATABLE READ")
    assert value(session, f"SELECT lo_get({written})") == b"abcdef"
    run(other, f"SELECT lo_put({written}, 0, 'new')")
    assert value(session, f"SELECT lo_get({written})") == b"abcdef"
    assert value(session, f"SELECT convert_from(data, 'UTF8') FROM pg_largeobject WHERE loid = {written}") == "abcdef"
    assert state(session, f"SELECT lo_put({written}, 9000, 'far')") == "40001"
    run(session, "ROLLBACK")
    assert value(session, f"SELECT lo_get({written})") == b"newdef"


def test_a_dropped_object_is_not_written(session: Session, other: Session, written: int) -> None:  # noqa: F811
    run(session, "BEGIN")
    run(session, f"SELECT lo_open({written}, 131072)")
    run(other, f"SELECT lo_unlink({written})")
    assert state(session, "SELECT lowrite(0, 'x')") == "42704"


def test_first_objects_of_a_database_at_the_same_time() -> None:
    database = Database(None)  # noqa: F811
    sessions = [database.session("gpudb") for _ in range(4)]
    for each in sessions:
        run(each, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
    oids = [value(each, f"SELECT lo_from_bytea(0, 'object {number}')") for number, each in enumerate(sessions)]
    for each in sessions:
        run(each, "COMMIT")
    texts = [value(sessions[0], f"SELECT lo_get({oid})") for oid in oids]
    assert texts == [f"object {number}".encode() for number in range(4)]
    for each in sessions:
        each.close()
    database.close()


def test_plans_outlive_changes_of_large_objects(session: Session, database: Database) -> None:  # noqa: F811
    run(session, "SELECT lo_create(0)")
    before = database.store.catalog("gpudb").version
    oid = value(session, "SELECT lo_from_bytea(0, 'x')")
    run(session, f"SELECT lo_put({oid}, 1, 'y')")
    assert value(session, f"SELECT count(*) FROM pg_largeobject_metadata WHERE oid = {oid}") == 1
    run(session, f"SELECT lo_unlink({oid})")
    assert value(session, f"SELECT count(*) FROM pg_largeobject_metadata WHERE oid = {oid}") == 0
    assert database.store.catalog("gpudb").version == before


def test_their_table_is_nobodys(session: Session) -> None:  # noqa: F811
    run(session, "SELECT lo_from_bytea(0, 'x')")
    assert state(session, "DELETE FROM pg_toast.pg_largeobject") == "42809"
    assert state(session, "TRUNCATE pg_toast.pg_largeobject") == "42809"
    assert state(session, "DROP TABLE pg_toast.pg_largeobject") == "3F000"
    assert state(session, "ALTER TABLE pg_toast.pg_largeobject ADD COLUMN a int") == "42501"


def test_random_writes_are_those_of_a_file(session: Session) -> None:  # noqa: F811
    draw, content = random.Random(7), bytearray()
    oid = value(session, "SELECT lo_create(0)")
    for step in range(60):
        if step % 9 == 8:
            size = draw.randrange(len(content) + 3000)
            run(session, f"BEGIN; SELECT lo_open({oid}, 131072); SELECT lo_truncate(0, {size}); COMMIT")
            content[size:] = b""
            content.extend(bytes(size - len(content)))
        else:
            start, data = draw.randrange(len(content) + 5000), draw.randbytes(draw.choice((1, 700, 2048, 9000)))
            run(session, f"SELECT lo_put({oid}, {start}, '\\x{data.hex()}')")
            content.extend(bytes(max(start + len(data) - len(content), 0)))
            content[start : start + len(data)] = data
        start, count = draw.randrange(len(content) + 10), draw.randrange(6000)
        assert value(session, f"SELECT lo_get({oid}, {start}, {count})") == content[start : start + count]
    assert value(session, f"SELECT lo_get({oid})") == content
    run(session, f"SELECT lo_unlink({oid})")
    assert run(session, f"SELECT 1 FROM pg_largeobject WHERE loid = {oid}") == []


# ---- FunctionCall


def _call(oid: int, *values: bytes | None, formats: tuple[int, ...] = (1,), result_format: int = 1) -> bytes:
    arguments = b"".join(struct.pack("!i", -1 if each is None else len(each)) + (each or b"") for each in values)
    head = struct.pack(f"!IH{len(formats)}h", oid, len(formats), *formats)
    return message("F", head + struct.pack("!H", len(values)) + arguments + struct.pack("!h", result_format))


@pytest.fixture
def raw(connect: Connect) -> Iterator[RawClient]:  # noqa: F811
    info = connect().info
    client = RawClient((info.host, info.port))
    client.login(user="gpudb", database="gpudb")
    yield client
    client.close()


def _answer(client: RawClient, data: bytes) -> list[tuple[str, bytes]]:
    client.send(data)
    return [(each.kind, each.payload) for each in client.until()]


_INT4PL, _LENGTH, _LO_GET = 177, 1317, 3458


def test_function_calls(raw: RawClient) -> None:
    four, five = struct.pack("!i", 4), struct.pack("!i", 5)
    assert _answer(raw, _call(_INT4PL, four, five)) == [("V", four + struct.pack("!i", 9)), ("Z", b"I")]
    text = _call(_INT4PL, b"4", b"5", formats=(), result_format=0)
    assert _answer(raw, text) == [("V", struct.pack("!i", 1) + b"9"), ("Z", b"I")]
    mixed = _call(_INT4PL, b"4", five, formats=(0, 1), result_format=0)
    assert _answer(raw, mixed)[0] == ("V", struct.pack("!i", 1) + b"9")
    assert _answer(raw, _call(_LENGTH, None)) == [("V", struct.pack("!i", -1)), ("Z", b"I")]


@pytest.mark.parametrize(
    ("data", "sqlstate"),
    [
        (_call(_INT4PL, b"\0\0\0\1"), b"08P01"),
        (_call(_INT4PL, b"\0\0\0\1", b"\0\0\0\1", formats=(1, 1, 1)), b"08P01"),
        (_call(_INT4PL, b"\0", b"\0\0\0\1"), b"22P03"),
        (_call(_INT4PL, b"\x7f\xff\xff\xff", b"\0\0\0\1"), b"22003"),
        (_call(_INT4PL, b"\0\0\0\1", b"\0\0\0\1", result_format=7), b"22023"),
        (_call(4294967000), b"42883"),
        (_call(_LO_GET, struct.pack("!I", 99999999)), b"42704"),
        (message("F", b"\0\0"), b"08P01"),
    ],
)
def test_invalid_function_calls(raw: RawClient, data: bytes, sqlstate: bytes) -> None:
    (kind, payload), *_, ready = _answer(raw, data)
    assert (kind, ready) == ("E", ("Z", b"I"))
    assert b"C" + sqlstate in payload.split(b"\0")
    assert _answer(raw, query("SELECT 1"))[-1] == ("Z", b"I")


def test_function_calls_belong_to_the_open_transaction(raw: RawClient) -> None:
    _answer(raw, query("BEGIN"))
    (kind, payload), ready = _answer(raw, _call(957, struct.pack("!i", -1)))
    assert (kind, ready) == ("V", ("Z", b"T"))
    made = payload[4:]
    assert _answer(raw, _call(_LO_GET, made)) == [("V", struct.pack("!i", 0)), ("Z", b"T")]
    assert _answer(raw, _call(_INT4PL, b"\x7f\xff\xff\xff", b"\0\0\0\1"))[-1] == ("Z", b"E")
    assert b"C25P02" in _answer(raw, _call(_LO_GET, made))[0][1].split(b"\0")
    _answer(raw, query("ROLLBACK"))
    assert b"C42704" in _answer(raw, _call(_LO_GET, made))[0][1].split(b"\0")


# ---- programs


def test_psql_and_dumps(tmp_path: Path) -> None:
    content = random.Random(1).randbytes(300_000)
    (tmp_path / "in").write_bytes(content)
    with running_server(tmp_path / "data") as dsn:
        script = (
            f"\\lo_import '{tmp_path}/in' 'a picture'",
            "SELECT :LASTOID AS made \\gset",
            "\\lo_list",
            f"\\lo_export :made '{tmp_path}/out'",
            "GRANT SELECT ON LARGE OBJECT :made TO PUBLIC;",
            "\\dl+",
        )
        (tmp_path / "script").write_text("\n".join(script))
        shown = run_program(dsn, "psql", "-XAt", "-v", "ON_ERROR_STOP=1", "-f", str(tmp_path / "script"))
        assert (tmp_path / "out").read_bytes() == content
        assert "|gpudb|a picture" in shown
        assert "=r/gpudb" in shown
        run_program(dsn, "psql", "-Xqc", "CREATE DATABASE copied")
        copied = dsn.replace("dbname=gpudb", "dbname=copied")
        expected = "SELECT oid, lomacl, sha256(lo_get(oid)), obj_description(oid, 'pg_largeobject') FROM pg_largeobject_metadata"
        before = run_program(dsn, "psql", "-XAtc", expected)
        for form in ("plain", "custom"):
            file = tmp_path / form
            run_program(dsn, "pg_dump", "-F", form, "-f", str(file))
            if form == "plain":
                run_program(copied, "psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-f", str(file))
            else:
                run_program(dsn, "pg_restore", "--exit-on-error", "-d", "copied", str(file))
            assert run_program(copied, "psql", "-XAtc", expected) == before
            oid = before.partition("|")[0]
            run_program(copied, "psql", "-Xqc", f"\\lo_unlink {oid}")
            assert run_program(copied, "psql", "-XAtc", expected) == ""


def test_committed_ones_outlive_a_kill(tmp_path: Path) -> None:
    content = random.Random(2).randbytes(6_000_000)
    with (
        Program(tmp_path / "data") as program,
        contextlib.closing(psycopg.connect(program.dsn, autocommit=True)) as connection,
    ):
        made = connection.execute("SELECT lo_from_bytea(0, %b)", [content]).fetchone()
        connection.execute("BEGIN")
        connection.execute("SELECT lo_put(oid, 0, 'lost') FROM pg_largeobject_metadata")
        program.kill()
    assert made is not None
    with running_server(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.pgconn.status == pq.ConnStatus.OK
        assert connection.execute("SELECT lo_get(%s::oid)", made).fetchone() == (content,)
        connection.execute("SELECT lo_put(%s::oid, 5999999, 'tail')", made)
    with running_server(tmp_path / "data") as dsn, psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute("SELECT lo_get(%s::oid)", made).fetchone() == (content[:-1] + b"tail",)

"""Statements, tabs, downloads and documents of the console, over a real socket."""

from __future__ import annotations

import http.client
import io
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID
from gpudb.session.database import Database
from gpudb.storage.backup.destination import open_destination
from gpudb.storage.backup.manifest import find_manifest
from gpudb.storage.backup.restore import restore
from tests.support.console_client import API, Client, iter_frames
from tests.support.http_client import wait_for
from tests.support.server_program import Program

ENDLESS = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"


@pytest.fixture(scope="module")
def admin(server: Program) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT g AS a, g * 1.5 AS b FROM generate_series(1, 100000) g")
        yield connection


def test_a_text_of_several_statements(client: Client) -> None:
    answer = client.run(
        "CREATE TEMP TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL); TABLE t; SET x.y = 1"
    )
    assert [each["tag"] for each in answer.of("complete")] == ["CREATE TABLE", "INSERT 0 2", "SELECT 2", "SET"]
    assert [each["statement"] for each in answer.events[:-1]] == [0, 1, 2, 2, 3]
    assert [each["rows"] for each in answer.of("complete")] == [0, 2, 2, 0]
    assert answer.rows() == [(1, "x"), (2, None)]
    assert answer.events[-1] == {"event": "end", "transaction": "idle", "notifications": []}
    complete = answer.of("complete")[2]
    assert complete["engine"] == "cpu"
    assert 0 <= complete["first_row_ms"] <= complete["ms"]
    assert client.run("SELECT count(*) FROM t").rows() == [(2,)]
    assert client.run("").of("complete")[0]["tag"] == ""


GRID = """
SELECT true AS a, 1::int2 AS b, 2 AS c, 3::int8 AS d, 1.5::float4 AS e, 2.5::float8 AS f, 'x'::text AS g,
    date '2024-02-29' AS h, timestamp '2024-02-29 12:30:00.25' AS i, timestamptz '2024-02-29 12:30:00+02' AS j,
    1.50::numeric(10,2) AS k, 10/3.0 AS l, interval '1 mon 2 days 03:04:05.5' AS m, ARRAY[1, NULL] AS n,
    '{"a": 1}'::jsonb AS o, 'ab'::char(3) AS p, '12:30'::time AS q, 'v'::varchar(5) AS r, NULL::int AS s,
    '\\x00ff'::bytea AS t, int4range(1, 5) AS u
"""


def test_forms_of_values(client: Client) -> None:
    answer = client.run(GRID)
    table = answer.tables[0]
    kinds = [str(kind) for kind in table.schema.types]
    native = ["bool", "int16", "int32", "int64", "float", "double", "string", "date32[day]"]
    assert kinds == [*native, "timestamp[us]", "timestamp[us, tz=UTC]", *["string"] * 8, "int32", "string", "string"]
    row = table.to_pylist()[0]
    assert [row[name] for name in "klmnopqrtu"] == [
        "1.50", "3.3333333333333333", "1 mon 2 days 03:04:05.5", "{1,NULL}", '{"a": 1}', "ab ", "12:30:00", "v",
        "\\x00ff", "[1,5)",
    ]  # fmt: skip
    columns = answer.events[0]["columns"]
    assert columns[10] == {"name": "k", "type": "numeric(10,2)", "oid": 1700, "align": "right"}
    assert columns[13] == {"name": "n", "type": "integer[]", "oid": 1007, "align": "left"}
    chart = client.run(GRID, form="chart").tables[0]
    assert [str(chart.schema.field(name).type) for name in "klm"] == ["double", "double", "double"]
    row = chart.to_pylist()[0]
    assert (row["k"], row["l"], row["m"]) == (1.5, pytest.approx(10 / 3), 32 * 86400 + 3 * 3600 + 4 * 60 + 5.5)
    client.run("SET TIME ZONE 'Asia/Tokyo'", tab="tokyo")
    assert client.run("SELECT ARRAY[timestamptz '2024-01-01 00:00+00']", tab="tokyo").rows() == [
        ('{"2024-01-01 09:00:00+09"}',)
    ]
    at = "SELECT timestamptz '2024-01-01 00:00+00' AS at"
    assert str(client.run(at, tab="tokyo").tables[0].schema.field("at").type) == "timestamp[us, tz=Asia/Tokyo]"
    assert str(client.run(at, tab="tokyo", form="chart").tables[0].schema.field("at").type) == "timestamp[us, tz=UTC]"
    client.run("SET TIME ZONE 9", tab="tokyo")
    assert str(client.run(at, tab="tokyo").tables[0].schema.field("at").type) == "timestamp[us, tz=UTC]"


def test_empty_and_many_rows(client: Client, admin: psycopg.Connection) -> None:
    answer = client.run("SELECT a, b, b::text || 'x' AS c, interval '1 s' AS d FROM numbers WHERE a < 0", form="chart")
    assert (answer.tables[0].num_rows, answer.tables[0].schema.names) == (0, ["a", "b", "c", "d"])
    table = client.run("SELECT a, b FROM numbers ORDER BY a").tables[0]
    assert table["a"].to_pylist() == list(range(1, 100_001))
    assert table["b"][99_999].as_py() == "150000.0"
    reply = client.post("statements", {"tab": "t", "id": "1", "sql": "SELECT a, b FROM numbers"})
    assert sum(kind == b"A" for kind, _ in iter_frames(reply.content)) > 3


def test_a_limit_of_rows(client: Client, admin: psycopg.Connection) -> None:
    answer = client.run("SELECT a FROM numbers; SELECT 1", rows=7)
    assert [(each["rows"], each.get("truncated", False)) for each in answer.of("complete")] == [(7, True), (1, False)]
    assert [each.num_rows for each in answer.tables] == [7, 1]
    answer = client.run(
        "CREATE TEMP TABLE r (a int); INSERT INTO r SELECT g FROM generate_series(1, 50) g RETURNING a", rows=3
    )
    assert answer.of("complete")[1]["tag"] == "INSERT 0 50"
    assert (answer.tables[0].num_rows, client.run("SELECT count(*) FROM r").rows()) == (3, [(50,)])


def test_parameters(client: Client) -> None:
    answer = client.run("SELECT $1::int + 1 AS a, $2 AS b, $3::date AS c", parameters=["41", None, "2024-01-31"])
    assert json.loads(json.dumps(answer.rows(), default=str)) == [[42, None, "2024-01-31"]]
    assert client.run("SELECT $1::int", parameters=["x"]).error["sqlstate"] == "22P02"
    assert client.run("SELECT $1::int, $2::int", parameters=["1"]).error["sqlstate"] == "08P01"
    assert client.run("SELECT 1; SELECT $1", parameters=["1"]).error["sqlstate"] == "42601"
    client.run("CREATE TEMP TABLE p (a numeric)")
    assert client.run("INSERT INTO p VALUES ($1)", parameters=["1.25"]).of("complete")[0]["tag"] == "INSERT 0 1"
    assert client.run("SELECT a FROM p").rows() == [("1.25",)]


def test_errors_and_transactions(client: Client) -> None:
    answer = client.run("SELECT 1;\n  SELECT nothing FROM pg_class")
    assert answer.error | {"notices": []} == {
        "event": "error", "severity": "ERROR", "sqlstate": "42703", "message": 'column "nothing" does not exist',
        "detail": None, "hint": None, "position": 20, "statement": 1, "notices": [],
    }  # fmt: skip
    assert len(answer.tables) == 1
    assert client.run("BEGIN; CREATE TEMP TABLE gone (a int)").transaction == "in"
    assert client.run("SELECT 1/0").transaction == "failed"
    assert client.run("SELECT 1").error["sqlstate"] == "25P02"
    assert client.run("ROLLBACK").transaction == "idle"
    assert client.run("SELECT * FROM gone").error["sqlstate"] == "42P01"
    assert (
        client.run("CREATE TEMP TABLE u (a int PRIMARY KEY); INSERT INTO u VALUES (1), (1)").error["sqlstate"]
        == "23505"
    )
    notices = client.run("DROP TABLE IF EXISTS nowhere").of("complete")[0]["notices"]
    assert (notices[0]["severity"], notices[0]["sqlstate"]) == ("NOTICE", "00000")
    client.run("CREATE TEMP TABLE c (a int)")
    for sql in ("COPY c TO STDOUT", "COPY c FROM STDIN"):
        assert client.run(sql).error["sqlstate"] == "0A000"
    assert client.run("SELECT 1").rows() == [(1,)]


def test_notifications(client: Client, admin: psycopg.Connection) -> None:
    client.run("LISTEN news", tab="listens")
    admin.execute("NOTIFY news, 'hello'")
    ends = client.run("SELECT 1", tab="listens").of("end")
    assert [(each["channel"], each["payload"]) for each in ends[0]["notifications"]] == [("news", "hello")]


def _wait_until_active(admin: psycopg.Connection, text: str, count: int = 1) -> None:
    sql = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s AND pid <> pg_backend_pid()"
    wait_for(lambda: admin.execute(sql, (f"{text}%",)).fetchone() == (count,))


def test_cancel_leaves_the_tab_usable(client: Client, server: Program, admin: psycopg.Connection) -> None:
    client.run("CREATE TEMP TABLE kept AS SELECT 1 AS a", tab="busy")
    found = []
    thread = threading.Thread(target=lambda: found.append(client.run(ENDLESS, tab="busy", number="7")))
    thread.start()
    _wait_until_active(admin, ENDLESS)
    assert client.post("statements", {"tab": "busy", "id": "8", "sql": "SELECT 1"}).status_code == 409
    assert client.run("SELECT 1", tab="another").rows() == [(1,)]
    assert client.post("cancel", {"tab": "busy", "id": "6"}).status_code == 204
    assert client.post("cancel", {"tab": "nowhere", "id": "7"}).status_code == 204
    assert thread.is_alive()
    assert client.post("cancel", {"tab": "busy", "id": "7"}).status_code == 204
    thread.join(30)
    assert (found[0].error["sqlstate"], found[0].transaction) == ("57014", "idle")
    assert client.run("SELECT a FROM kept", tab="busy").rows() == [(1,)]


@pytest.mark.parametrize(
    "path, body",
    [
        ("statements", {"tab": "leaves", "id": "1", "sql": ENDLESS}),
        ("statements", {"tab": "leaves", "id": "1", "sql": "SELECT g, g::text FROM generate_series(1, 100000000) g"}),
        ("exports", {"tab": "leaves", "sql": "SELECT g FROM generate_series(1, 100000000) g", "format": "csv"}),
        ("mosaic", {"type": "arrow", "sql": ENDLESS}),
    ],
)
def test_a_client_that_leaves_ends_its_statement(
    client: Client, admin: psycopg.Connection, path: str, body: dict[str, str]
) -> None:
    text = "%" + body["sql"][:30]
    leaving = _send_unread(client, path, body)
    _wait_until_active(admin, text)
    leaving.close()
    _wait_until_active(admin, text, 0)
    assert client.run("SELECT 1", tab="leaves").rows() == [(1,)]


def _send_unread(client: Client, path: str, body: dict[str, str]) -> http.client.HTTPConnection:
    """Returns the connection of a request whose answer is not read."""
    connection = http.client.HTTPConnection(client.http.base_url.host, client.http.base_url.port or 80)
    cookie = f"gpudb_console={client.http.cookies['gpudb_console']}"
    headers = {"content-type": "application/json", "cookie": cookie, **client.csrf}
    connection.request("POST", f"{API}/{path}", json.dumps(body), headers)
    return connection


@pytest.mark.parametrize("path", ["statements", "exports"])
def test_an_answer_that_nobody_reads_is_cancelled(client: Client, admin: psycopg.Connection, path: str) -> None:
    sql = "SELECT g AS unread FROM generate_series(1, 100000000) g"
    body = {"tab": "unread", "id": "1", "sql": sql, **({"format": "csv"} if path == "exports" else {})}
    unread = _send_unread(client, path, body)
    try:
        _wait_until_active(admin, "%AS unread%")
        assert client.post("cancel", {"tab": "unread", "id": "1"}).status_code == 204
        _wait_until_active(admin, "%AS unread%", 0)
        assert client.run("SELECT 1", tab="unread").rows() == [(1,)]
    finally:
        unread.close()


def test_tabs_are_sessions(client: Client, admin: psycopg.Connection) -> None:
    client.run("SET application_name = 'one'; CREATE TEMP TABLE own (a int)", tab="one")
    client.run("SET application_name = 'two'", tab="two")
    assert client.run("SHOW application_name", tab="one").rows() == [("one",)]
    assert client.run("SELECT * FROM own", tab="two").error["sqlstate"] == "42P01"
    assert client.delete("tabs/one").status_code == 204
    wait_for(lambda: admin.execute("SELECT 1 FROM pg_stat_activity WHERE application_name = 'one'").fetchone() is None)
    assert client.run("SELECT * FROM own", tab="one").error["sqlstate"] == "42P01"
    pid = client.run("SELECT pg_backend_pid()", tab="two").rows()[0][0]
    admin.execute("SELECT pg_terminate_backend(%s)", (pid,))
    reply = client.post("statements", {"tab": "two", "id": "1", "sql": "SELECT 1"})
    assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (400, "57P01")
    assert client.run("SHOW application_name", tab="two").rows() == [("gpudb console",)]
    client.run("SET idle_in_transaction_session_timeout = '200ms'; BEGIN", tab="idle")
    pid = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
    wait_for(lambda: admin.execute(pid).fetchone() == (0,))
    reply = client.post("statements", {"tab": "idle", "id": "1", "sql": "COMMIT"})
    assert reply.json()["error"]["sqlstate"] == "25P03"


def test_statements_are_recorded(client: Client, admin: psycopg.Connection) -> None:
    client.run("SELECT 1 * 2 * 3 * 4 * 5; SELECT 5 * 6 * 7 * 8 * 9")
    client.chart("SELECT 1 * 2 * 3 * 4 * 5")
    sql = "SELECT calls FROM pg_stat_statements WHERE query = 'SELECT $1 * $2 * $3 * $4 * $5'"
    wait_for(lambda: admin.execute(sql).fetchall() == [(3,)])


def test_downloads(client: Client, admin: psycopg.Connection) -> None:
    client.run("CREATE TEMP TABLE d AS SELECT 1 AS a, 'it''s, \"x\"' AS b, 1.50::numeric(4,2) AS c", tab="d")

    def export(form: str, sql: str = "SELECT * FROM d; ") -> httpx.Response:
        return client.post("exports", {"tab": "d", "sql": sql, "format": form})

    reply = export("csv")
    assert reply.text == 'a,b,c\n1,"it\'s, ""x""",1.50\n'
    assert reply.headers["content-disposition"] == 'attachment; filename="gpudb.csv"'
    assert pq.read_table(io.BytesIO(export("parquet").content)).to_pylist() == [
        {"a": 1, "b": 'it\'s, "x"', "c": Decimal("1.50")}
    ]
    assert pa.ipc.open_stream(export("arrow").content).read_all()["a"].to_pylist() == [1]
    lines = export("csv", "SELECT a, b FROM numbers ORDER BY a -- all").text.splitlines()
    assert (len(lines), lines[-1]) == (100_001, "100000,150000.0")
    for sql, sqlstate in (
        ("SELECT nothing FROM d", "42703"),
        ("SELECT 1) TO STDOUT; DROP TABLE d; --", "42601"),
        ("SELECT 1; SELECT 2", "42601"),
        ("DROP TABLE d", "42601"),
        ("SELECT 1/(a - 1) FROM d", "22012"),
    ):
        reply = export("csv", sql)
        assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (400, sqlstate), sql
    assert export("pdf").status_code == 400
    assert client.run("SELECT a FROM d", tab="d").rows() == [(1,)]


def test_documents(client: Client, server: Program, admin: psycopg.Connection) -> None:
    admin.execute("CREATE ROLE ann LOGIN PASSWORD 'a'; CREATE ROLE ben LOGIN PASSWORD 'b'")
    with Client(server.http, "ann", "a") as ann, Client(server.http, "ben", "b") as ben:
        body = {"sql": "SELECT '☃'", "views": [1, None]}
        own = ann.post("documents", {"kind": "query", "name": "mine", "shared": False, "body": body}).json()
        shared = ann.post("documents", {"kind": "dashboard", "name": "ours", "shared": True, "body": []}).json()
        assert [each["name"] for each in ben.http.get(f"{API}/documents").json()] == ["ours"]
        assert {each["name"] for each in client.http.get(f"{API}/documents").json()} == {"mine", "ours"}
        found = ann.http.get(f"{API}/documents/{own['id']}").json()
        assert (found["body"], found["owner"], found["kind"], found["shared"]) == (body, "ann", "query", False)
        assert ben.http.get(f"{API}/documents/{own['id']}").status_code == 400
        assert ben.put(f"documents/{shared['id']}", {"body": 1}).json()["error"]["sqlstate"] == "42501"
        assert ben.delete(f"documents/{shared['id']}").json()["error"]["sqlstate"] == "42501"
        assert ben.delete(f"documents/{own['id']}").json()["error"]["sqlstate"] == "42704"
        assert client.put(f"documents/{shared['id']}", {"name": "all's"}).json()["owner"] == "ann"
        assert ann.put(f"documents/{shared['id']}", {"shared": False, "body": {"x": 1}}).json()["name"] == "all's"
        assert ben.http.get(f"{API}/documents").json() == []
        for wrong in ({"name": ""}, {"name": 1}, {"shared": "yes"}, {"name": "x" * 300}):
            assert ann.put(f"documents/{own['id']}", wrong).status_code == 400
        assert ann.post("documents", {"kind": "virus", "name": "x", "shared": False, "body": 1}).status_code == 400
        assert ann.delete(f"documents/{own['id']}").status_code == 204
        assert [each["name"] for each in ann.http.get(f"{API}/documents").json()] == ["all's"]
        admin.execute("ALTER ROLE ann RENAME TO anna")
        assert client.http.get(f"{API}/documents").json()[0]["owner"] == "anna"


def test_documents_are_in_backups(client: Client, tmp_path: Path) -> None:
    document = {"kind": "query", "name": "kept", "shared": True, "body": {"sql": "SELECT 1"}}
    identifier = client.post("documents", document).json()["id"]
    assert client.run(f"SELECT gpudb_backup('{tmp_path / 'backup'}')").error is None
    backup = str(tmp_path / "backup")
    restore(backup, find_manifest(open_destination(backup)), tmp_path / "data")
    database = Database(tmp_path / "data")
    try:
        found = database.store.catalog().documents[identifier]
        assert (found.name, found.owner, json.loads(found.body)) == ("kept", BOOTSTRAP_ROLE_OID, document["body"])
    finally:
        database.close()

"""Statements, tabs, downloads and documents of the console, over a real socket."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpudb.catalog.model import BOOTSTRAP_ROLE_OID
from gpudb.catalog.roles import Role
from gpudb.errors import GpudbError, InternalError
from gpudb.server.http.console.answers import start_run
from gpudb.server.http.console.channel import Channel
from gpudb.server.http.console.console import Console
from gpudb.server.http.console.kept_results import Collector, KeptResult, KeptResults
from gpudb.server.http.console.logins import ConsoleLogin
from gpudb.server.http.console.tabs import Tab
from gpudb.server.http.login import Sources
from gpudb.server.wire.hba.matching import ConnectionRequest
from gpudb.session.database import Database
from gpudb.session.interfaces import Network
from gpudb.session.results import ResultColumn
from gpudb.storage.backup.destination import open_destination
from gpudb.storage.backup.manifest import find_manifest
from gpudb.storage.backup.restore import restore
from gpudb.types import SqlType
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
    cookie = f"{client.cookie}={client.http.cookies[client.cookie]}"
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


def test_downloads_that_run_again_only_read(client: Client, admin: psycopg.Connection) -> None:
    admin.execute("CREATE SEQUENCE drawn; CREATE TABLE shrinks AS SELECT 1 AS a")

    def export(sql: str) -> httpx.Response:
        return client.post("exports", {"tab": "again", "sql": sql, "format": "csv"})

    for within, status in ((False, "idle"), (True, "in")):
        if within:
            client.run("BEGIN; INSERT INTO shrinks VALUES (2)", tab="again")
        for sql in ("SELECT nextval('drawn')", "DELETE FROM shrinks RETURNING a"):
            assert export(sql).json()["error"]["sqlstate"] == "25006", sql
        assert export("SELECT 1/0").json()["error"]["sqlstate"] == "22012"
        assert export("SELECT count(*) FROM shrinks").text == f"count\n{1 + within}\n"
        assert client.run("SELECT count(*) FROM shrinks", tab="again").transaction == status
    assert client.run("INSERT INTO shrinks VALUES (3); COMMIT", tab="again").error is None
    assert admin.execute("SELECT count(*), nextval('drawn') FROM shrinks").fetchone() == (3, 1)


def test_downloads_and_charts_take_kept_rows(client: Client, server: Program, admin: psycopg.Connection) -> None:
    admin.execute("CREATE SEQUENCE numbered")
    sql = """
        SELECT nextval('numbered') AS n, 7 / 2 AS whole, 10 / 4.0 AS quotient, random() AS r, 'x' AS text, NULL AS nothing,
            interval '1 mon 2 days' AS span, timestamptz '2024-01-01 00:00+00' AS at, ARRAY[1, 2] AS list, 1 AS n
        FROM generate_series(1, 3)"""
    answer = client.run(f"SET TimeZone = 'Asia/Tokyo'; {sql}", tab="kept", keep=True)
    (_, complete), (table,) = answer.of("complete"), answer.tables
    drawn = table["r"].to_pylist()

    def export(form: str, **more: str) -> httpx.Response:
        return client.post("exports", {"tab": "kept", "result": complete["kept"], "format": form, **more})

    lines = export("csv").text.splitlines()
    assert lines[0] == "n,whole,quotient,r,text,nothing,span,at,list,n"
    assert [float(each.split(",")[3]) for each in lines[1:]] == drawn
    assert lines[1].startswith("1,3,2.5000000000000000,")
    assert lines[3].endswith(',x,,1 mon 2 days,2024-01-01 09:00:00+09,"{1,2}",1')
    assert pa.ipc.open_stream(export("arrow").content).read_all().column(3).to_pylist() == drawn
    kept = f'(SELECT c2 AS whole, c3 AS quotient, c4 AS r FROM "gpudb result {complete["kept"]}")'
    chart = {"type": "json", "sql": f"SELECT sum(whole) AS s, avg(quotient) AS q, max(r) AS r FROM {kept}"}
    assert client.post("mosaic", {**chart, "result": complete["kept"]}).json() == [{"s": 9, "q": 2.5, "r": max(drawn)}]
    assert client.post("mosaic", chart).json()["error"]["sqlstate"] == "42P01"
    assert admin.execute("SELECT last_value FROM numbered").fetchone() == (3,)
    assert "kept" not in client.run("SELECT 1", tab="other").of("complete")[0]
    truncated = client.run("SELECT generate_series(1, 9)", tab="other", rows=3, keep=True)
    assert "kept" not in truncated.of("complete")[0]
    assert "kept" not in client.run("SET x.y = 1", tab="other", keep=True).of("complete")[0]
    returned = client.run("CREATE TEMP TABLE w (a int); INSERT INTO w VALUES (5) RETURNING a", tab="other", keep=True)
    token = returned.of("complete")[1]["kept"]
    assert client.post("exports", {"result": token, "format": "csv"}).text == "a\n5\n"
    with Client(server.http) as stranger:
        for path, body in (("exports", {"format": "csv"}), ("mosaic", {"type": "json", "sql": "SELECT 1"})):
            reply = stranger.post(path, {**body, "result": token})
            assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (400, "42704")
    client.run("SELECT 1", tab="kept", keep=True)  # another text of the tab
    assert export("csv").json()["error"]["sqlstate"] == "42704"
    client.delete("tabs/other")
    assert client.post("exports", {"result": token, "format": "csv"}).json()["error"]["sqlstate"] == "42704"


def test_kept_results_have_a_limit(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.server.http.console.kept_results.MAX_RESULT", 1000)
    monkeypatch.setattr("gpudb.server.http.console.kept_results.MAX_ALL", 1500)
    columns = (ResultColumn("a", SqlType("int4")),)

    def make(rows: int) -> KeptResult | None:
        collector = Collector()
        for _ in range(2):
            collector.add(pa.record_batch([pa.array(range(rows), pa.int32())], ["c1"]))
        return collector.finish(columns, "UTC")

    assert make(130) is None
    store, login = KeptResults(), make_login()
    made = [each for each in (make(100), make(100), make(100)) if each is not None]
    assert [each.rows.num_rows for each in made] == [200, 200, 200]
    store.put(login, "t", made[0])
    assert store.find(login, made[0].token) is made[0]
    store.put(login, "t", made[1])
    assert store.find(login, made[1].token) is made[1]
    for gone in (made[0].token, "nothing"):
        with pytest.raises(GpudbError, match="does not keep"):
            store.find(login, gone)
    login.is_ended = True
    store.drop_ended()
    with pytest.raises(GpudbError, match="does not keep"):
        store.find(login, made[1].token)
    again = make_login()
    store.put(again, "closed", made[0])  # by a run that has ended later than its tab
    store.drop_ended()
    with pytest.raises(GpudbError, match="does not keep"):
        store.find(again, made[0].token)


def test_many_small_results_are_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudb.server.http.console.kept_results.MAX_KEPT", 3)
    store, login, columns = KeptResults(), make_login(), (ResultColumn("a", SqlType("int4")),)
    tokens = []
    for _ in range(5):
        collector = Collector()
        collector.add(pa.record_batch([pa.array([1], pa.int32())], ["c1"]))
        kept = collector.finish(columns, "UTC")
        assert kept is not None
        tokens.append(store.put(login, "t", kept))
    for gone in tokens[:2]:
        with pytest.raises(GpudbError, match="does not keep"):
            store.find(login, gone)
    assert [store.find(login, each).token for each in tokens[2:]] == tokens[2:]


def test_a_kept_part_of_a_batch_does_not_keep_the_rest() -> None:
    whole = pa.record_batch([pa.array(range(100_000), pa.int32()), pa.array(["é", None] * 50_000)], ["c1", "c2"])
    collector = Collector()
    collector.add(whole.slice(77_777, 2))
    collector.add(whole.slice(99_999, 1))
    kept = collector.finish((ResultColumn("a", SqlType("int4")), ResultColumn("b", SqlType("text"))), "UTC")
    assert kept is not None
    assert kept.rows.to_pydict() == {"c1": [77_777, 77_778, 99_999], "c2": [None, "é", None]}
    assert kept.rows.get_total_buffer_size() < 10_000


class BrokenTab:
    """A tab that is not there: what runs in it raises where nothing handles it."""

    def __init__(self, *, fails: bool) -> None:
        self.fails, self.failed = fails, list[str]()

    def check(self) -> None:
        """Nothing is cancelled."""

    def fail(self, run: int, error: GpudbError) -> None:
        self.failed.append(f"{run}: {error.sqlstate}")
        if self.fails:
            raise OSError("the session does not end")


@pytest.mark.parametrize("fails", [False, True])
def test_a_task_that_raises_ends_its_answer(fails: bool) -> None:
    async def ask() -> list[str]:
        tab, ended = BrokenTab(fails=fails), asyncio.Event()

        def task(channel: Channel) -> None:
            raise ZeroDivisionError

        channel = start_run(Console(lambda: None, 60), cast("Tab", tab), 7, task, ended.set)
        with pytest.raises(InternalError, match="internal error"):
            await asyncio.wait_for(channel.read_first(), 60)
        await asyncio.wait_for(ended.wait(), 60)
        return tab.failed

    assert asyncio.run(ask()) == ["7: XX000"]


def test_a_tab_that_a_task_has_left_ends(tmp_path: Path) -> None:
    database = Database(tmp_path / "data")
    server = SimpleNamespace(statement_log=None, audit_log=None, recorder=None)
    sources = cast("Sources", SimpleNamespace(database=database, server=server))
    try:
        tab = Tab(sources, make_login().request, Network(), "trust")
        first = tab.begin("first")
        tab.finish()
        error = InternalError("internal error 1")
        tab.begin("second")
        tab.fail(first, error)  # it has ended before
        assert not tab.has_ended
        tab.fail(tab.find_run("second") or 0, error)
        assert tab.is_idle
        with pytest.raises(InternalError, match="internal error 1"):
            tab.begin("third")
    finally:
        database.close()


def make_login() -> ConsoleLogin:
    role = Role("gpudb", 10, superuser=True)
    return ConsoleLogin(ConnectionRequest("gpudb", "gpudb", "127.0.0.1", False), Network(), role, "trust")


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


def test_documents_of_a_role_have_a_limit_together(server: Program, admin: psycopg.Connection) -> None:
    admin.execute("CREATE ROLE hoarder LOGIN PASSWORD 'h'; CREATE ROLE frugal LOGIN PASSWORD 'f'")
    large = {"kind": "query", "name": "large", "shared": False, "body": {"sql": "x" * (3 << 20)}}
    with Client(server.http, "hoarder", "h") as hoarder, Client(server.http, "frugal", "f") as frugal:
        replies = [hoarder.post("documents", large) for _ in range(22)]
        assert [reply.status_code for reply in replies] == [200] * 21 + [400]
        error = replies[-1].json()["error"]
        assert (error["sqlstate"], "64 MB" in error["message"], bool(error["hint"])) == ("54000", True, True)
        small = hoarder.post("documents", {**large, "body": {"sql": ""}}).json()["id"]
        grown = hoarder.put(f"documents/{small}", {"body": large["body"]})
        assert grown.json()["error"]["sqlstate"] == "54000"
        assert hoarder.put(f"documents/{small}", {"name": "renamed"}).status_code == 200
        assert frugal.post("documents", large).status_code == 200
        assert hoarder.delete(f"documents/{replies[0].json()['id']}").status_code == 204
        assert hoarder.put(f"documents/{small}", {"body": large["body"]}).status_code == 200
        for each in hoarder.http.get(f"{API}/documents").json():
            hoarder.delete(f"documents/{each['id']}")


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

"""FOR SYSTEM_TIME AS OF reads tables as they were, whatever has happened since; a snapshot can be the table's again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gpudb.config.database import EMBEDDED
from gpudb.errors import GpudbError
from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.server_program import Program
from tests.support.sessions import run

STEPS = (
    "CREATE TABLE t (a int PRIMARY KEY, b text)",
    "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
    "UPDATE t SET b = 'z' WHERE a = 1",
    "ALTER TABLE t ADD COLUMN c int DEFAULT 7",
    "ALTER TABLE t ALTER a TYPE text USING 'n' || a",
    "ALTER TABLE t RENAME TO renamed",
    "ALTER TABLE renamed RENAME TO t",
    "DELETE FROM t WHERE b = 'y'",
)
STATES = (
    [],
    [(1, "x"), (2, "y")],
    [(1, "z"), (2, "y")],
    [(1, "z", 7), (2, "y", 7)],
    [("n1", "z", 7), ("n2", "y", 7)],
    [("n1", "z", 7), ("n2", "y", 7)],
    [("n1", "z", 7), ("n2", "y", 7)],
    [("n1", "z", 7)],
)


@pytest.fixture(scope="module", params=["cpu", "twin"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    directory = tmp_path_factory.mktemp(request.param) / "data"
    with Program(directory, "--engine", request.param) as program:
        yield program


@pytest.fixture(scope="module")
def times(server: Program) -> list[dt.datetime]:
    """Makes the table step by step; the time after each step."""
    found = []
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for step in STEPS:
            connection.execute(step)  # type: ignore[call-overload]
            found += connection.execute("SELECT clock_timestamp()").fetchone() or ()
    return found


@pytest.fixture
def client(server: Program) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


def test_each_state(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    client.execute("SET gpudb.fallback = off")
    for moment, expected in zip(times, STATES, strict=True):
        literal = f"SELECT * FROM t FOR SYSTEM_TIME AS OF '{moment}' ORDER BY 1"
        assert client.execute(literal).fetchall() == expected  # type: ignore[call-overload]


def test_parameters(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    sent = "SELECT x.* FROM public.t FOR SYSTEM_TIME AS OF %s x ORDER BY 1"
    for _ in range(2):
        for moment, expected in list(zip(times, STATES, strict=True))[4:]:
            assert client.execute(sent, (moment,), prepare=True).fetchall() == expected
        # It has no value yet when the statement is described, with the columns of now.
        with pytest.raises(psycopg.Error) as raised:
            client.execute(sent, (times[1],), prepare=True)
        assert raised.value.sqlstate == "0A000"
    counted = "SELECT count(*), %s::text FROM t FOR SYSTEM_TIME AS OF %s - interval '0 s'"
    assert [client.execute(counted, ("q", moment)).fetchone() for moment in times[:3]] == [(0, "q"), (2, "q"), (2, "q")]


def test_together_with_the_table_of_now(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    text = (
        f"SELECT old.a, new.b FROM t FOR SYSTEM_TIME AS OF '{times[1]}' AS old LEFT JOIN t AS new"
        " ON new.a = 'n' || old.a WHERE old.b <> 'q' ORDER BY 1 LIMIT 5"
    )
    assert client.execute(text).fetchall() == [(1, "z"), (2, None)]  # type: ignore[call-overload]
    counts = (
        f"SELECT (SELECT count(*) FROM t FOR SYSTEM_TIME AS OF '{times[1]}'), count(*),"
        f" (SELECT count(*) FROM t FOR SYSTEM_TIME AS OF '{times[0]}') FROM t"
    )
    assert client.execute(counts).fetchall() == [(2, 1, 0)]  # type: ignore[call-overload]


def test_expressions_and_other_clauses(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    at = f"'{times[2]}'::timestamptz"
    for text, expected in (
        (f"SELECT b FROM t FOR SYSTEM_TIME AS OF {at} - interval '0 s' + (interval '1 us') * 0 ORDER BY b", ["y", "z"]),
        (f"SELECT b FROM t FOR SYSTEM_TIME AS OF {at} QUALIFY row_number() OVER (ORDER BY b) = 1", ["y"]),
        (f"SELECT b FROM t FOR SYSTEM_TIME AS OF left('{times[2]}xx', -2)::timestamptz u(k, b) WHERE k = 1", ["z"]),
        (f"SELECT b FROM (SELECT * FROM t FOR SYSTEM_TIME AS OF {at}) s WHERE a = 2", ["y"]),
        (f"WITH w AS (SELECT * FROM t FOR SYSTEM_TIME AS OF {at}) SELECT b FROM w WHERE a = 2", ["y"]),
        (f"SELECT DISTINCT max(b) OVER () FROM t FOR SYSTEM_TIME AS OF {at} WHERE a < 3 FOR UPDATE", None),
        (f"SELECT u.b FROM t FOR SYSTEM_TIME AS OF {at} u, t FOR SYSTEM_TIME AS OF {at} v WHERE u.a < v.a", ["z"]),
        ("SELECT system_time FROM (SELECT 'for system_time as of' AS system_time) q", ["for system_time as of"]),
    ):
        if expected is not None:
            assert [row[0] for row in client.execute(text).fetchall()] == expected, text  # type: ignore[call-overload]


def test_by_number(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    listed = client.execute(
        "SELECT snapshot_id, rows, current, committed_at, \"table\"::text FROM gpudb_snapshots('t') ORDER BY committed_at"
    ).fetchall()
    assert [row[1] for row in listed] == [0, 2, 2, 2, 2, 1]
    assert [row[2] for row in listed] == [False] * 5 + [True]
    assert listed[1][3] < times[1] < listed[2][3]
    assert {row[4] for row in listed} == {"t"}
    for row, expected in zip(listed[1:3], STATES[1:3], strict=True):
        text = f"SELECT * FROM t FOR SYSTEM_VERSION AS OF {row[0]} ORDER BY 1"
        assert client.execute(text).fetchall() == expected  # type: ignore[call-overload]
    assert client.execute("SELECT count(*) FROM gpudb_snapshots WHERE \"table\" = 't'::regclass").fetchone() == (6,)


def test_views_and_copies(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    client.execute(f"CREATE VIEW before AS SELECT a, b FROM t FOR SYSTEM_TIME AS OF '{times[1]}'")  # type: ignore[call-overload]
    try:
        assert client.execute("SELECT * FROM before ORDER BY 1").fetchall() == STATES[1]
    finally:
        client.execute("DROP VIEW before")
    client.execute(f"CREATE TABLE copied AS SELECT * FROM t FOR SYSTEM_TIME AS OF '{times[2]}'")  # type: ignore[call-overload]
    client.execute(f"INSERT INTO copied SELECT a + 10, b FROM t FOR SYSTEM_TIME AS OF '{times[1]}'")  # type: ignore[call-overload]
    found = client.execute("SELECT * FROM copied ORDER BY 1").fetchall()
    assert found == [*STATES[2], (11, "x"), (12, "y")]
    client.execute("DROP TABLE copied")


def test_own_changes_are_not_past(client: psycopg.Connection, times: list[dt.datetime]) -> None:
    with client.transaction(force_rollback=True):
        client.execute("INSERT INTO t VALUES ('own', 'w')")
        assert client.execute("SELECT count(*) FROM t").fetchone() == (2,)
        assert client.execute("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF 'infinity'").fetchone() == (1,)
        assert client.execute("SELECT count(*) FROM t FOR SYSTEM_TIME AS OF %s", (times[1],)).fetchone() == (2,)


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF '2020-01-01'", "72000"),
        ("SELECT * FROM t FOR SYSTEM_VERSION AS OF 12", "42704"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF NULL", "22004"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF 'then'", "22007"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF 12", "42846"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF (SELECT now())", "0A000"),
        ("SELECT * FROM t u, t FOR SYSTEM_TIME AS OF u.b::timestamptz v", "42P01"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF (random_normal() || nextval('s')::text)::timestamptz", "0A000"),
        ("SELECT * FROM pg_views FOR SYSTEM_TIME AS OF now()", "42501"),
        ("WITH w AS (SELECT 1) SELECT * FROM w FOR SYSTEM_TIME AS OF now()", "42P01"),
        ("SELECT * FROM nothing FOR SYSTEM_TIME AS OF now()", "42P01"),
        ("SELECT * FROM t u FOR SYSTEM_TIME AS OF now()", "42601"),
        ("SELECT * FROM generate_series(1, 2) FOR SYSTEM_TIME AS OF now()", "42601"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF", "42601"),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF now() now() now()", "42601"),
        ("DELETE FROM t FOR SYSTEM_TIME AS OF now()", "42601"),
        ("SELECT * FROM gpudb_snapshots('nothing')", "42P01"),
        ("SELECT * FROM gpudb_snapshots('t', 1)", "42883"),
    ],
)
def test_errors(client: psycopg.Connection, times: list[dt.datetime], text: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        client.execute(text)  # type: ignore[call-overload]
    assert raised.value.sqlstate == sqlstate


def test_a_temporary_table_has_no_snapshots(client: psycopg.Connection) -> None:
    client.execute("CREATE TEMPORARY TABLE kept (a int)")
    with pytest.raises(psycopg.Error) as raised:
        client.execute("SELECT * FROM kept FOR SYSTEM_TIME AS OF now()")
    assert raised.value.sqlstate == "55000"


def test_privileges(client: psycopg.Connection, server: Program, times: list[dt.datetime]) -> None:
    client.execute("CREATE ROLE reader LOGIN")
    past = f"FROM t FOR SYSTEM_TIME AS OF '{times[1]}'"
    with psycopg.connect(server.dsn.replace("user=gpudb", "user=reader"), autocommit=True) as reader:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"SELECT b {past}")  # type: ignore[call-overload]
        assert reader.execute("SELECT count(*) FROM gpudb_snapshots('t')").fetchone() == (0,)
        client.execute("GRANT SELECT (b) ON t TO reader")
        assert reader.execute(f"SELECT b {past} ORDER BY 1").fetchall() == [("x",), ("y",)]  # type: ignore[call-overload]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.execute(f"SELECT a {past}")  # type: ignore[call-overload]
    client.execute("DROP OWNED BY reader; DROP ROLE reader")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with_data = Database(tmp_path / "data")
    yield with_data
    with_data.close()


def _number(session: object, table: str, rows: int) -> int:
    asked = f"SELECT min(snapshot_id) FROM gpudb_snapshots('{table}') WHERE rows = {rows}"
    ((number,),) = run(session, asked)  # type: ignore[arg-type]
    return int(number)


def test_a_table_is_restored(database: Database) -> None:
    session = database.session("gpudb")
    for text in (
        "CREATE TABLE p (a int PRIMARY KEY, b text)",
        "INSERT INTO p VALUES (1, 'x'), (2, 'y')",
        "CREATE TABLE c (a int REFERENCES p)",
        "DELETE FROM p",
        "INSERT INTO p VALUES (3, 'z')",
    ):
        run(session, text)
    whole = _number(session, "p", 2)
    assert run(session, f"SELECT gpudb_restore_snapshot('p', {whole})") == [(2,)]
    assert run(session, "SELECT * FROM p ORDER BY a") == [(1, "x"), (2, "y")]
    # The restoring is a commit like any other, and can be undone in turn.
    run(session, f"BEGIN; SELECT gpudb_restore_snapshot('public.p', {_number(session, 'p', 1)})")
    assert run(session, "SELECT * FROM p") == [(3, "z")]
    run(session, "ROLLBACK")
    run(session, "INSERT INTO c VALUES (2)")
    with pytest.raises(GpudbError) as raised:
        run(session, f"SELECT gpudb_restore_snapshot('p', {_number(session, 'p', 1)})")
    assert raised.value.sqlstate == "23503"
    assert run(session, "SELECT count(*) FROM p") == [(2,)]


def test_a_snapshot_that_violates_a_constraint_is_refused(database: Database) -> None:
    session = database.session("gpudb")
    run(session, "CREATE TABLE p (a int, b text); INSERT INTO p VALUES (1, NULL), (1, 'y')")
    number = _number(session, "p", 2)
    run(session, "DELETE FROM p")
    for alter, sqlstate in (
        ("ADD CHECK (a > 1)", "23514"),
        ("ALTER b SET NOT NULL", "23502"),
        ("ADD UNIQUE (a)", "23505"),
        ("ALTER b TYPE int USING 1", "55000"),
        ("DISTRIBUTE BY HASH (a)", "55000"),
    ):
        run(session, f"BEGIN; ALTER TABLE p {alter}; COMMIT")
        with pytest.raises(GpudbError) as raised:
            run(session, f"SELECT gpudb_restore_snapshot('p', {number})")
        assert raised.value.sqlstate == sqlstate, alter
        run(session, "DROP TABLE p; CREATE TABLE p (a int, b text); INSERT INTO p VALUES (1, NULL), (1, 'y')")
        number = _number(session, "p", 2)
        run(session, "DELETE FROM p")
    assert run(session, f"SELECT gpudb_restore_snapshot('p', {number})") == [(2,)]


def test_the_retention_is_a_setting_and_vacuum_honours_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "data", replace(EMBEDDED, snapshot_retention=7200, snapshot_limit=50))
    try:
        session = database.session("gpudb")
        assert run(session, "SHOW gpudb.snapshot_retention") == [("2h",)]
        assert run(session, "SHOW gpudb.snapshot_limit") == [("50",)]
        for text in ("SET gpudb.snapshot_retention = '1d'", "ALTER ROLE gpudb SET gpudb.snapshot_retention = '1d'"):
            with pytest.raises(GpudbError) as raised:
                run(session, text)
            assert raised.value.sqlstate == "55P02"
        run(session, "CREATE TABLE a (n int)")
        run(session, "CREATE TABLE b (n int)")
        for number in range(4):
            run(session, f"INSERT INTO a VALUES ({number}); INSERT INTO b VALUES ({number})")
        counted = "SELECT count(*) FILTER (WHERE \"table\" = 'a'::regclass), count(*) FROM gpudb_snapshots"
        assert run(session, "VACUUM") + run(session, counted) == [(5, 10)]
        run(session, "ALTER SYSTEM SET gpudb.snapshot_limit = 3")
        assert run(session, "VACUUM a") + run(session, counted) == [(3, 8)]
        run(session, "ALTER SYSTEM SET gpudb.snapshot_retention = 0")
        assert run(session, "VACUUM") + run(session, counted) == [(1, 2)]
    finally:
        database.close()
    database = Database(tmp_path / "data")
    try:
        assert run(database.session("gpudb"), "SHOW gpudb.snapshot_retention") == [("0",)]
        assert not database.store.retention.keeps_past
    finally:
        database.close()


def test_what_a_definition_says_of_old_files_stays_true(tmp_path: Path) -> None:
    """Labels, distributions and types are those of their time, also after a start, and when a type is gone."""
    answers = []
    queries: list[str] = []
    for _ in range(2):
        database = Database(tmp_path / "data")
        session = database.session("gpudb")
        try:
            if not answers:
                queries = _change_definitions(session)
            answers.append([run(session, text) for text in queries])
        finally:
            database.close()
    assert answers[0] == answers[1]
    assert answers[0] == [[("ok", 50), ("sad", 50)], [("blue", 50), ("ok", 50)], [(100, 297)], [(100, 297)], [(100,)]]


def _change_definitions(session: Session) -> list[str]:
    def now() -> str:
        ((found,),) = run(session, "SELECT clock_timestamp()::text")
        return f"t FOR SYSTEM_TIME AS OF '{found}'"

    run(session, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
    run(session, "CREATE TABLE t (a int, b int, m mood, c numeric(5, 1)) DISTRIBUTE BY HASH (a)")
    rows = "SELECT i, i % 7, CASE i % 2 WHEN 0 THEN 'sad' ELSE 'ok' END::mood, i FROM generate_series(1, 100) i"
    run(session, f"INSERT INTO t {rows}")
    first = now()
    run(session, "ALTER TABLE t DISTRIBUTE BY HASH (b)")
    run(session, "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'")
    second = now()
    for text in ("ALTER TABLE t DROP COLUMN m", "DROP TYPE mood", "ALTER TABLE t ALTER c TYPE numeric(8, 1)"):
        run(session, text)
    return [
        f"SELECT m::text, count(*) FROM {first} GROUP BY m ORDER BY m",
        f"SELECT m::text, count(*) FROM {second} GROUP BY m ORDER BY m",
        f"SELECT count(*), sum(x.b) FROM {first} x JOIN t y USING (a)",
        f"SELECT count(*), sum(x.b) FROM {second} x JOIN t y USING (a)",
        f"SELECT max(c)::int FROM {first}",
    ]

"""Changes that the catalog follows: transactions, search paths, temporary tables, renames, comments, sessions."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.support.catalog_sides import Side
from tests.support.oracle.wire import Outcome, WireClient


@pytest.fixture(params=["postgresql", "gpudb"])
def client(request: pytest.FixtureRequest) -> Iterator[WireClient]:
    """A session on each server in turn: the expectations below are PostgreSQL's."""
    side: Side = request.getfixturevalue(request.param)
    with WireClient(side.dsn) as made:
        yield made


def _rows(client: WireClient, sql: str) -> list[tuple[str | None, ...]]:
    outcome = client.execute(sql)
    assert not outcome.failed, f"{sql}: {outcome.sqlstate} {outcome.message}"
    return list(outcome.rows)


def _run(client: WireClient, *statements: str) -> Outcome:
    made = Outcome()
    for sql in statements:
        made = client.execute(sql)
        assert not made.failed, f"{sql}: {made.sqlstate} {made.message}"
    return made


def test_own_transaction(client: WireClient) -> None:
    """An uncommitted table is visible to its own session only, and gone after a rollback."""
    _run(client, "BEGIN", "CREATE TABLE pending (x integer)")
    seen = "SELECT relname FROM pg_class WHERE relname = 'pending'"
    assert _rows(client, seen) == [("pending",)]
    with WireClient(client.dsn) as other:
        assert _rows(other, seen) == []
    _run(client, "ROLLBACK")
    assert _rows(client, seen) == []


def test_search_path(client: WireClient) -> None:
    """The search path decides what a name refers to and how it is displayed."""
    _run(
        client, "CREATE SCHEMA path_a", "CREATE TABLE path_a.customers (z integer)", "SET search_path = path_a, public"
    )
    try:
        assert _rows(client, "SELECT 'customers'::regclass, 'public.customers'::regclass") == [
            ("customers", "public.customers")
        ]
        visible = (
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relname = 'customers'"
        )
        assert _rows(client, f"{visible} AND pg_table_is_visible(c.oid)") == [("path_a",)]
        _run(client, "SET search_path = public")
        assert _rows(client, "SELECT 'path_a.customers'::regclass, to_regclass('customers')") == [
            ("path_a.customers", "customers")
        ]
        assert _rows(client, f"{visible} AND pg_table_is_visible(c.oid)") == [("public",)]
    finally:
        _run(client, "RESET search_path", "DROP SCHEMA path_a CASCADE")


def test_temporary_table(client: WireClient) -> None:
    """Temporary tables are in a schema of the session, which is searched first."""
    _run(client, "CREATE TEMPORARY TABLE passing (x integer)")
    found = "SELECT table_type, table_schema ~ '^pg_temp_' FROM information_schema.tables WHERE table_name = 'passing'"
    assert _rows(client, found) == [("LOCAL TEMPORARY", "t")]
    assert _rows(client, "SELECT relpersistence, pg_table_is_visible(oid) FROM pg_class WHERE relname = 'passing'") == [
        ("t", "t")
    ]
    assert _rows(client, "SELECT 'passing'::regclass") == [("passing",)]
    assert _rows(client, "SELECT nspname ~ '^pg_temp_' FROM pg_namespace WHERE oid = pg_my_temp_schema()") == [("t",)]
    _run(client, "DROP TABLE passing")


def test_changes(client: WireClient) -> None:
    """Renames, comments, added and dropped columns are visible at once; the table keeps its OID."""
    _run(client, "CREATE TABLE moving (a integer PRIMARY KEY, b text)")
    ((oid,),) = _rows(client, "SELECT 'moving'::regclass::oid")
    _run(
        client,
        "ALTER TABLE moving RENAME TO moved",
        "ALTER TABLE moved RENAME COLUMN b TO c",
        "ALTER TABLE moved ADD COLUMN d numeric(5,1)",
        "COMMENT ON TABLE moved IS 'one'",
        "COMMENT ON COLUMN moved.c IS 'two'",
    )
    assert _rows(client, f"SELECT {oid}::regclass, obj_description({oid}, 'pg_class')") == [("moved", "one")]
    columns = (
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull, col_description(attrelid, attnum)"
        " FROM pg_attribute WHERE attrelid = 'moved'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    assert _rows(client, columns) == [
        ("a", "integer", "t", None),
        ("c", "text", "f", "two"),
        ("d", "numeric(5,1)", "f", None),
    ]
    _run(client, "COMMENT ON TABLE moved IS NULL", "ALTER TABLE moved DROP COLUMN c")
    assert _rows(client, "SELECT obj_description('moved'::regclass)") == [(None,)]
    assert [row[0] for row in _rows(client, columns)] == ["a", "d"]
    assert _rows(client, "SELECT indexdef FROM pg_indexes WHERE tablename = 'moved'") == [
        ("CREATE UNIQUE INDEX moving_pkey ON public.moved USING btree (a)",)
    ]
    _run(client, "DROP TABLE moved")
    assert _rows(client, "SELECT count(*) FROM pg_class WHERE relname ~ '^mov'") == [("0",)]


def test_statistics(client: WireClient) -> None:
    """Row counts and sizes are up to date; in gpudb also without an ANALYZE."""
    _run(client, "CREATE TABLE counted (a integer)")
    counted = "SELECT reltuples FROM pg_class WHERE relname = 'counted'"
    assert _rows(client, counted) == [("-1",)]
    _run(client, "INSERT INTO counted VALUES (1), (2), (3)", "ANALYZE counted")
    assert _rows(client, counted) == [("3",)]
    assert _rows(client, "SELECT pg_relation_size('counted') > 0, pg_table_size('counted') > 0") == [("t", "t")]
    _run(client, "DROP TABLE counted")


def test_distinct_values(client: WireClient) -> None:
    """ANALYZE fills pg_stats; n_distinct of a column that grows with the table is negative: a share of its rows."""
    kinds = "a integer PRIMARY KEY, b text, c numeric, d integer[], e jsonb, f boolean, g json"
    _run(client, f"CREATE TABLE told ({kinds})")
    some = "CASE WHEN i % 4 > 0 THEN 'name ' || i % 4 END, i % 5 / 2.0, ARRAY[i % 2], jsonb_build_object('k', i % 3)"
    _run(client, f"INSERT INTO told SELECT i, {some}, i < 9, '{{}}' FROM generate_series(1, 4000) i", "ANALYZE told")
    shown = (
        "SELECT attname, inherited, round(null_frac::numeric, 2), avg_width, round(n_distinct::numeric, 1), correlation"
        " IS NULL OR correlation <= 1 FROM pg_stats WHERE tablename = 'told' AND attname NOT IN ('c', 'd', 'e', 'g')"
    )
    assert sorted(_rows(client, shown)) == [
        ("a", "f", "0.00", "4", "-1.0", "t"),
        ("b", "f", "0.25", "7", "3.0", "t"),
        ("f", "f", "0.00", "1", "2.0", "t"),
    ]
    counts = "SELECT n_distinct FROM pg_stats WHERE tablename = 'told' AND attname IN ('c', 'd', 'e') ORDER BY attname"
    assert _rows(client, counts) == [("5",), ("2",), ("3",)]
    _run(client, "UPDATE told SET b = NULL", "ANALYZE told (b)")
    assert _rows(client, "SELECT null_frac, n_distinct FROM pg_stats WHERE attname = 'b' AND tablename = 'told'") == [
        ("1", "0")
    ]
    _run(client, "DROP TABLE told")
    assert _rows(client, "SELECT count(*) FROM pg_stats WHERE tablename = 'told'") == [("0",)]


def test_joined_with_tables(client: WireClient) -> None:
    """One statement can read tables and the catalog, and store the result."""
    _run(
        client, "CREATE TABLE wanted (name text)", "INSERT INTO wanted VALUES ('pg_class'), ('customers'), ('nothing')"
    )
    joined = "SELECT w.name, c.relkind FROM wanted w LEFT JOIN pg_class c ON c.relname = w.name ORDER BY 1"
    assert _rows(client, joined) == [("customers", "r"), ("nothing", None), ("pg_class", "r")]
    _run(client, "CREATE TABLE kept AS SELECT relname::text AS name FROM pg_class WHERE relname = 'customers'")
    assert _rows(client, "SELECT name FROM kept") == [("customers",)]
    _run(client, "DROP TABLE wanted", "DROP TABLE kept")


def test_session_state(client: WireClient) -> None:
    """A session finds itself, its settings and its prepared statements in the catalog."""
    own = (
        "SELECT usename, state, query ~ 'pg_stat_activity', datname FROM pg_stat_activity WHERE pid = pg_backend_pid()"
    )
    assert _rows(client, own) == [("gpudb", "active", "t", "gpudb")]
    _run(client, "SET search_path = sales", "PREPARE known (integer) AS SELECT $1 + 1")
    assert _rows(client, "SELECT setting, source FROM pg_settings WHERE name = 'search_path'") == [("sales", "session")]
    assert _rows(client, "SELECT name, parameter_types, from_sql FROM pg_prepared_statements") == [
        ("known", "{integer}", "t")
    ]
    _run(client, "DEALLOCATE known")


def test_functions_by_name(client: WireClient) -> None:
    """A function is found by its schema and by any spelling of its types; its schema is shown if off the path."""
    _run(
        client,
        "CREATE SCHEMA named_here",
        "CREATE FUNCTION named_here.twice(a integer, b numeric[]) RETURNS integer LANGUAGE sql AS 'SELECT a'",
        "CREATE FUNCTION named_here.lone(a integer) RETURNS integer LANGUAGE sql AS 'SELECT a'",
        "CREATE FUNCTION public.twice(a text) RETURNS text LANGUAGE sql AS 'SELECT a'",
    )
    try:
        typed = "named_here.twice(int, pg_catalog.numeric [])"
        assert _rows(client, f"SELECT 'named_here.twice'::regproc, '{typed}'::regprocedure") == [
            ("named_here.twice", "named_here.twice(integer,numeric[])")
        ]
        assert _rows(client, "SELECT 'twice'::regproc, 'twice(text)'::regprocedure, to_regproc('lone')") == [
            ("twice", "twice(text)", None)
        ]
        assert _rows(client, "SELECT to_regprocedure('twice(int)'), to_regproc('named_here.now')") == [(None, None)]
        definition = (
            "SELECT pg_get_functiondef('named_here.lone'::regproc) LIKE '%FUNCTION named_here.lone(a integer)%'"
        )
        assert _rows(client, definition) == [("t",)]
        _run(client, "SET search_path = named_here")
        assert _rows(client, "SELECT 'lone'::regproc, 'twice(integer, decimal[])'::regprocedure") == [
            ("lone", "twice(integer,numeric[])")
        ]
    finally:
        _run(client, "DROP SCHEMA named_here CASCADE", "DROP FUNCTION public.twice(text)")


def test_settings_shown(client: WireClient) -> None:
    """Settings show their units; preset settings are shown; psql's \\password reads one."""
    _run(client, "SET work_mem = '12MB'", "SET statement_timeout = '90s'", "SET lock_timeout = '2h'")
    names = "'work_mem', 'statement_timeout', 'lock_timeout', 'segment_size', 'block_size', 'search_path', 'jit'"
    assert _rows(client, f"SELECT name, current_setting(name) FROM pg_settings WHERE name IN ({names}) ORDER BY 1") == [
        ("block_size", "8192"),
        ("jit", "on"),
        ("lock_timeout", "2h"),
        ("search_path", '"$user", public'),
        ("segment_size", "1GB"),
        ("statement_timeout", "90s"),
        ("work_mem", "12MB"),
    ]
    assert _rows(client, "SHOW block_size") == [("8192",)]
    assert _rows(client, "SHOW password_encryption") == [("scram-sha-256",)]


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("SELECT * FROM pg_catalog.nothing", "42P01"),
        ("SELECT nothing FROM pg_class", "42703"),
        ("SELECT 'nothing'::regclass", "42P01"),
        ("SELECT 'nothing'::regtype", "42704"),
        ("SELECT 'nothing'::regnamespace", "3F000"),
        ("SELECT 'nothing'::regrole", "42704"),
        ("SELECT 'nothing'::regproc", "42883"),
        ("SELECT 'upper'::regproc", "42725"),
        ("SELECT pg_table_size('nothing')", "42P01"),
    ],
)
def test_errors(sql: str, sqlstate: str, client: WireClient) -> None:
    """Errors have PostgreSQL's SQLSTATEs."""
    assert client.execute(sql).sqlstate == sqlstate


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO pg_class (relname) VALUES ('x')", "DELETE FROM pg_class", "UPDATE pg_type SET typname = 'x'"],
)
def test_nobody_writes(sql: str, gpudb: Side) -> None:
    """Only DDL changes the catalog: gpudb refuses even superusers, whom PostgreSQL allows to damage it."""
    assert gpudb.client.execute(sql).sqlstate == "42501"


def test_other_roles(gpudb: Side) -> None:
    """Only superusers see passwords and other users' statements."""
    _run(gpudb.client, "CREATE ROLE curious LOGIN PASSWORD 'x'")
    port = dict(part.split("=", 1) for part in gpudb.dsn.split())["port"]
    with WireClient(f"host=127.0.0.1 port={port} user=curious password=x dbname=gpudb connect_timeout=60") as other:
        assert other.execute("SELECT rolname FROM pg_roles WHERE rolname = 'curious'").rows == (("curious",),)
        assert other.execute("SELECT usename, passwd FROM pg_user WHERE usename = 'curious'").rows == (
            ("curious", "********"),
        )
        for sql in ("SELECT rolpassword FROM pg_authid", "SELECT passwd FROM pg_shadow"):
            assert other.execute(sql).sqlstate == "42501"
        seen = other.execute("SELECT DISTINCT query FROM pg_stat_activity WHERE usename = 'gpudb'").rows
        assert set(seen) == {("<insufficient privilege>",)}
    stored = _rows(gpudb.client, "SELECT rolpassword ~ '^SCRAM-SHA-256' FROM pg_authid WHERE rolname = 'curious'")
    assert stored == [("t",)]
    _run(gpudb.client, "DROP ROLE curious")


def test_many_at_once(gpudb: Side) -> None:
    """Sessions read the catalog while others change it."""
    failures: list[str] = []

    def change(number: int) -> None:
        with WireClient(gpudb.dsn) as session:
            for turn in range(6):
                for sql in (f"CREATE TABLE busy_{number}_{turn} (a integer)", f"DROP TABLE busy_{number}_{turn}"):
                    outcome = session.execute(sql)
                    if outcome.failed and outcome.sqlstate != "40001":
                        failures.append(f"{sql}: {outcome.sqlstate} {outcome.message}")

    def read() -> None:
        with WireClient(gpudb.dsn) as session:
            for _ in range(8):
                outcome = session.execute("SELECT relname, oid::regclass FROM pg_class WHERE relname ~ '^customers'")
                if len(outcome.rows) != 2:
                    failures.append(f"read: {outcome}")

    threads = [threading.Thread(target=change, args=(number,)) for number in range(2)]
    threads += [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []

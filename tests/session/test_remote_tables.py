"""Foreign tables of postgres_fdw: a real PostgreSQL is read, and sent what it can compute as well."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import psycopg
import pytest

from gpudb.session.session import Session
from tests.support.oracle.server import Oracle
from tests.support.session_fixtures import Connect
from tests.support.sessions import fails, run

SCHEMA = "elsewhere"
SETUP = f"""
CREATE SCHEMA {SCHEMA};
CREATE TABLE {SCHEMA}.rides AS SELECT i AS id, 'cab ' || i % 3 AS cab, i * 0.25 AS fare, date '2024-01-01' + i AS day,
    timestamptz '2024-01-01 00:00+00' + i * interval '1 hour' AS at, ARRAY[i, NULL] AS tags, i % 2 = 0 AS even,
    CASE WHEN i % 10 > 0 THEN i END AS maybe FROM generate_series(1, 1000) AS i;
"""
COLUMNS = "id int, cab text, fare numeric, day date, at timestamptz, tags int[], even boolean, maybe int"


@pytest.fixture
def remote(session: Session, oracle: Oracle) -> Iterator[Session]:
    """A session with the foreign table rides of a server that is a real PostgreSQL."""
    info = psycopg.conninfo.conninfo_to_dict(oracle.dsn)
    with psycopg.connect(oracle.dsn, autocommit=True) as admin:
        admin.execute(SETUP)
        run(
            session,
            "CREATE EXTENSION postgres_fdw; CREATE SERVER pg FOREIGN DATA WRAPPER postgres_fdw"
            f" OPTIONS (host '{info['host']}', dbname '{info['dbname']}');"
            f"CREATE USER MAPPING FOR gpudb SERVER pg OPTIONS (user '{info['user']}');"
            f"CREATE FOREIGN TABLE rides ({COLUMNS}) SERVER pg OPTIONS (schema_name '{SCHEMA}')",
        )
        yield session
        session.sync()
        run(session, "RESET ROLE; DROP EXTENSION postgres_fdw CASCADE")
        admin.execute(f"DROP SCHEMA {SCHEMA} CASCADE")


def _sent(session: Session, query: str) -> str:
    lines = [line.strip() for (line,) in run(session, f"EXPLAIN {query}")]
    return next(line.removeprefix("Remote SQL: ") for line in lines if line.startswith("Remote SQL: "))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM rides",
        "SELECT count(*) FROM rides",
        "SELECT cab, sum(fare), min(at), max(day) FROM rides WHERE even AND id > 500 GROUP BY cab",
        "SELECT id, tags FROM rides WHERE cab = 'cab 1' AND (day < '2024-02-01' OR maybe IS NULL)",
        "SELECT id FROM rides WHERE maybe IN (1, 2, NULL) OR NOT (id <> 7)",
        "SELECT id FROM rides WHERE cab > 'cab 0' AND fare = 2.5 AND at >= '2024-01-01 05:00+02'",
        "SELECT a.id, b.id FROM rides a LEFT JOIN rides b ON b.id = a.id + 990 WHERE b.maybe IS NULL AND a.id > 985",
        "SELECT id, (SELECT count(*) FROM rides b WHERE b.id < a.id) FROM rides a WHERE a.id < 5",
        "SELECT cab FROM rides WHERE cab = E'it''s \\\\' OR id = 3",
        "SELECT a.id FROM rides a JOIN generate_series(1, 3) AS s (n) ON a.id = s.n WHERE a.fare < 100",
    ],
)
def test_a_query_has_the_same_rows_as_there(remote: Session, oracle: Oracle, query: str) -> None:
    here = run(remote, f"SELECT q::text FROM ({query}) AS q")
    with psycopg.connect(f"{oracle.dsn} options='-c search_path={SCHEMA}'") as there:
        expected = there.execute(f"SELECT q::text FROM ({query}) AS q").fetchall()
    assert sorted(here) == sorted(expected)


def test_columns_conditions_and_limits_are_sent(remote: Session) -> None:
    table = f'"{SCHEMA}"."rides"'
    for query, sent in (
        ("SELECT fare FROM rides", f'SELECT "fare" FROM {table}'),
        ("SELECT count(*) FROM rides", f"SELECT NULL FROM {table}"),
        (
            "SELECT id FROM rides WHERE id = 5 LIMIT 3",
            f"""SELECT "id" FROM {table} WHERE ("id" = E'5'::pg_catalog.int4) LIMIT 3""",
        ),
        ("SELECT id FROM rides ORDER BY id LIMIT 3", f'SELECT "id" FROM {table}'),
        ("SELECT id FROM rides WHERE cab > 'a' LIMIT 3", f'SELECT "id", "cab" FROM {table}'),
        (
            "SELECT a.id FROM rides a WHERE a.maybe IS NOT NULL AND upper(a.cab) = 'X'",
            f'SELECT "id", "cab", "maybe" FROM {table} WHERE ("maybe" IS NOT NULL)',
        ),
    ):
        assert _sent(remote, query) == sent
    outer = "SELECT b.id FROM generate_series(1, 2) AS s (n) LEFT JOIN rides b ON b.id = s.n WHERE b.even IS NULL"
    assert _sent(remote, outer) == f'SELECT "id", "even" FROM {table}'


def test_the_sessions_time_zone_counts(remote: Session, oracle: Oracle) -> None:
    zone = "SET timezone = 'Asia/Tokyo'"
    run(remote, zone)
    try:
        for condition in (
            "day = timestamptz '2024-01-04 15:00+00'",
            "day IN (timestamptz '2024-01-04 15:00+00', timestamptz '2024-01-05 15:00+00')",
            "day <> at",
            "at >= date '2024-02-11'",
            "at < timestamp '2024-01-01 12:00'",
            "at < timestamptz '2024-01-01 12:00'",
        ):
            query = f"SELECT id FROM rides WHERE {condition} ORDER BY id"
            with psycopg.connect(f"{oracle.dsn} options='-c search_path={SCHEMA}'") as there:
                there.execute(zone)
                assert run(remote, query) == there.execute(query).fetchall() != [], condition
        assert "WHERE" not in _sent(remote, "SELECT id FROM rides WHERE at >= day")
    finally:
        run(remote, "RESET timezone")


def test_names_of_there(remote: Session) -> None:
    run(
        remote,
        "CREATE FOREIGN TABLE other (number int OPTIONS (column_name 'id'), price numeric(8,2) OPTIONS (column_name 'fare'))"
        f" SERVER pg OPTIONS (schema_name '{SCHEMA}', table_name 'rides')",
    )
    assert run(remote, "SELECT price FROM other WHERE number = 10") == [(Decimal("2.50"),)]
    run(remote, "CREATE TABLE copied AS SELECT number FROM other WHERE number <= 3")
    assert run(
        remote, "DELETE FROM copied WHERE number IN (SELECT number FROM other WHERE price > 0.3) RETURNING 1"
    ) == [(1,), (1,)]
    run(remote, "DROP TABLE copied")


def test_errors_of_there(remote: Session) -> None:
    run(remote, "CREATE FOREIGN TABLE absent (a int) SERVER pg")
    error = fails(remote, "SELECT * FROM absent")
    assert (error.sqlstate, error.message) == ("42P01", 'relation "public.absent" does not exist')
    run(remote, "CREATE FOREIGN TABLE wrong (cab int) SERVER pg OPTIONS (schema_name 'elsewhere', table_name 'rides')")
    assert fails(remote, "SELECT sum(cab) FROM wrong").sqlstate == "22P02"
    run(remote, "CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1')")
    run(remote, "CREATE USER MAPPING FOR gpudb SERVER nowhere; CREATE FOREIGN TABLE lost (a int) SERVER nowhere")
    error = fails(remote, "SELECT * FROM lost")
    assert (error.sqlstate, error.message) == ("08001", 'could not connect to server "nowhere"')
    assert fails(remote, "CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (user 'x')").sqlstate == "HV00D"
    assert fails(remote, "INSERT INTO rides VALUES (1)").sqlstate == "0A000"


def test_a_schema_is_imported(remote: Session) -> None:
    run(remote, f"CREATE SCHEMA near; IMPORT FOREIGN SCHEMA {SCHEMA} FROM SERVER pg INTO near")
    assert run(remote, "SELECT sum(fare)::text, max(day)::text FROM near.rides WHERE id <= 4") == [
        ("2.50", "2024-01-05")
    ]
    shown = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'near.rides'::regclass"
    assert run(remote, f"{shown} AND attnum IN (1, 3, 6) ORDER BY attnum") == [
        ("id", "integer"),
        ("fare", "numeric"),
        ("tags", "integer[]"),
    ]
    for statement, state in (
        ("IMPORT FOREIGN SCHEMA nowhere FROM SERVER pg INTO near", "HV00Q"),
        (f"IMPORT FOREIGN SCHEMA {SCHEMA} FROM SERVER pg INTO near", "42P07"),
        (f"IMPORT FOREIGN SCHEMA {SCHEMA} FROM SERVER pg INTO near OPTIONS (speed 'x')", "HV00D"),
    ):
        assert fails(remote, statement).sqlstate == state
    run(remote, f"IMPORT FOREIGN SCHEMA {SCHEMA} EXCEPT (rides) FROM SERVER pg INTO near; DROP SCHEMA near CASCADE")


def test_user_mappings(remote: Session) -> None:
    run(remote, "CREATE ROLE plain; GRANT SELECT ON rides TO plain")
    try:
        run(remote, "SET ROLE plain")
        error = fails(remote, "SELECT * FROM rides")
        assert (error.sqlstate, error.message) == ("42704", 'user mapping not found for user "plain", server "pg"')
        run(remote, "RESET ROLE; CREATE USER MAPPING FOR PUBLIC SERVER pg; SET ROLE plain")
        error = fails(remote, "SELECT * FROM rides")
        assert (error.sqlstate, error.message) == ("2F003", "password is required")
        assert run(remote, "SELECT umoptions FROM pg_user_mappings WHERE usename = 'gpudb'") == [(None,)]
    finally:
        remote.sync()
        run(remote, "RESET ROLE; DROP OWNED BY plain; DROP ROLE plain")


def test_views_and_definers_use_the_user_mapping_of_their_owner(remote: Session) -> None:
    run(
        remote,
        "CREATE ROLE plain; CREATE VIEW shown AS SELECT id FROM rides WHERE id <= 2; GRANT SELECT ON shown TO plain;"
        "CREATE VIEW own WITH (security_invoker) AS TABLE rides; GRANT SELECT ON own, rides TO plain;"
        "CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql SECURITY DEFINER"
        " RETURN (SELECT count(*) FROM rides WHERE id < 10);"
        "CREATE FUNCTION listed() RETURNS SETOF int LANGUAGE sql STABLE SECURITY DEFINER"
        " AS 'SELECT id FROM rides WHERE id < 3';"
        "CREATE FUNCTION called() RETURNS int LANGUAGE plpgsql SECURITY DEFINER"
        " AS 'BEGIN RETURN (SELECT max(id) FROM rides); END';"
        "CREATE MATERIALIZED VIEW kept AS SELECT sum(id) AS total FROM rides",
    )
    try:
        for role in ("plain", "gpudb"):
            run(remote, f"SET ROLE {role}")
            assert run(remote, "SELECT id FROM shown ORDER BY 1") == [(1,), (2,)]
            assert run(remote, "SELECT counted(), called()") == [(9, 1000)]
            assert run(remote, "SELECT count(*) FROM listed()") == [(2,)]
        run(remote, "SET ROLE plain")
        for query in ("TABLE own", "SELECT 1 FROM rides, shown"):
            assert fails(remote, query).message == 'user mapping not found for user "plain", server "pg"'
        run(remote, "RESET ROLE; ALTER VIEW shown OWNER TO plain; CREATE USER MAPPING FOR plain SERVER pg")
        error = fails(remote, "SELECT * FROM shown")
        assert (error.sqlstate, error.message) == ("2F003", "password is required")
    finally:
        remote.sync()
        run(
            remote,
            "RESET ROLE; DROP VIEW shown, own; DROP MATERIALIZED VIEW kept; DROP FUNCTION counted, listed, called;"
            "DROP OWNED BY plain; DROP USER MAPPING IF EXISTS FOR plain SERVER pg; DROP ROLE plain",
        )


def test_a_server_must_ask_a_role_for_its_password(remote: Session, connect: Connect) -> None:
    """Else a role could be anyone, superusers included, on a server that trusts this one."""
    info = connect().info
    run(
        remote,
        "CREATE ROLE plain; CREATE ROLE known LOGIN PASSWORD 'secret'; CREATE TABLE own (a) AS SELECT 7;"
        "CREATE SCHEMA near; GRANT ALL ON SCHEMA near TO plain; GRANT SELECT ON own TO known;"
        "CREATE SERVER here FOREIGN DATA WRAPPER postgres_fdw"
        f" OPTIONS (host '{info.host}', port '{info.port}', dbname 'gpudb');"
        "GRANT USAGE ON FOREIGN SERVER here TO plain; CREATE USER MAPPING FOR plain SERVER here"
        " OPTIONS (user 'gpudb', password 'x'); SET ROLE plain; CREATE FOREIGN TABLE near.own (a int) SERVER here"
        " OPTIONS (schema_name 'public')",
    )
    try:
        for statement in ("SELECT * FROM near.own", "IMPORT FOREIGN SCHEMA public FROM SERVER here INTO near"):
            error = fails(remote, statement)
            assert (error.sqlstate, error.message) == ("2F003", "password is required")
            assert error.detail == "Non-superuser cannot connect if the server does not request a password."
        run(remote, "ALTER USER MAPPING FOR plain SERVER here OPTIONS (SET user 'known', SET password 'secret')")
        assert run(remote, "SELECT * FROM near.own") == [(7,)]
    finally:
        remote.sync()
        run(remote, "RESET ROLE; DROP SERVER here CASCADE; DROP SCHEMA near; DROP TABLE own; DROP ROLE plain, known")

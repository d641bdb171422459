"""Numerics beyond the usual layout are PostgreSQL's on every engine: large averages and quotients, and tiny ones."""

from __future__ import annotations

import concurrent.futures
import time
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import WireClient

SETUP = """
CREATE TABLE wide (id int, k int, b int8, n numeric(38, 0), m numeric(30, 10), s numeric(12, 10));
INSERT INTO wide SELECT g, g % 5,
    CASE WHEN g % 2 = 0 THEN 9223372036854775807 ELSE 9000000000000000000 END - g * 1000003::int8,
    98765432109876543210987654321098765432::numeric - g * 1000003,
    12345678901234567890.0123456789 + g, g * 0.000000001
    FROM generate_series(1, 300) g;
INSERT INTO wide VALUES (0, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE precise (a numeric);
INSERT INTO precise VALUES (0.12345678901234567);
"""
SHOWN = (
    "SELECT avg(b) FROM wide",
    "SELECT avg(-b) FROM wide",
    "SELECT k, avg(b) FROM wide GROUP BY k ORDER BY k",
    "SELECT k, avg(b), sum(b), count(*) FROM wide WHERE b > 0 GROUP BY k ORDER BY avg(b) DESC, k",
    "SELECT k, avg(b) FROM wide GROUP BY k HAVING avg(b) > 9000000000000000000 ORDER BY k",
    "SELECT stddev(b / 1000), variance(b / 1000) FROM wide",
    "SELECT k, stddev_pop(b / 1000000), var_pop(b / 1000000) FROM wide GROUP BY k ORDER BY k",
    "SELECT avg(n) FROM wide",
    "SELECT k, avg(n) FROM wide GROUP BY k ORDER BY k",
    "SELECT k, avg(m), avg(m) / 7 FROM wide GROUP BY k ORDER BY k",
    "SELECT id, b::numeric / 7 FROM wide ORDER BY id",
    "SELECT id, n / 7, n / -3 FROM wide ORDER BY id",
    "SELECT id, id * 92233720368547758.5 / 3 FROM wide ORDER BY id",
    "SELECT id, s / 7, s / 1000 FROM wide ORDER BY id",
    "SELECT id, id / 30000.0 FROM wide ORDER BY id",
    "SELECT sum(b::numeric / 7), max(b::numeric / 3), min(-b::numeric / 3) FROM wide",
    "SELECT k, sum(b / 7.0) FROM wide GROUP BY k ORDER BY k",
    "SELECT id, avg(b) OVER (PARTITION BY k ORDER BY id) FROM wide ORDER BY id",
    "SELECT count(*) FROM wide WHERE b::numeric / 3 > 3000000000000000000",
    "SELECT b, avg(id) FROM (SELECT b::numeric / 3 AS b, id FROM wide) q GROUP BY b ORDER BY b",
    "SELECT CASE WHEN id > 2 THEN b::numeric / 3 ELSE n END FROM wide ORDER BY id",
    "WITH q AS (SELECT k, avg(b) AS a FROM wide GROUP BY k) SELECT a, a + 1, a * 2, -a, abs(a) FROM q ORDER BY a",
    "SELECT avg(b) FROM wide UNION ALL SELECT avg(n) FROM wide",
    "SELECT power(2::numeric, 70)",
    "SELECT 0.12 ^ (-20)",
    "SELECT 2::numeric ^ 100",
    "SELECT 1/3e-15",
    "SELECT 1/3e15",
    "SELECT id, power(b::numeric, 2) FROM wide WHERE id < 3 ORDER BY id",
    "SELECT sqrt(n), ln(n), log(n) FROM wide ORDER BY id",
    "SELECT trim_scale(a), b::numeric * 100000 / 7.0 FROM precise, wide WHERE id < 3 ORDER BY id",
    "SELECT trim_scale(a + 0.000000000000000001), avg(b) FROM precise, wide GROUP BY a",
    "WITH RECURSIVE r(x, n) AS (SELECT a, 1 FROM precise UNION ALL SELECT x, n + 1 FROM r WHERE n < 2)"
    " SELECT x, n, (SELECT avg(b) FROM wide) FROM r ORDER BY n",
    "SELECT exp(id * 0.2), exp(-id * 0.2) FROM wide WHERE id BETWEEN 1 AND 20 ORDER BY id",
    "SELECT id, CASE WHEN id = 1 THEN n ELSE id::numeric END / 7 FROM wide ORDER BY id",
    "SELECT max(n) / 3, 1.0 / max(n) FROM wide",
    "SELECT n / 0.003 FROM wide",
)


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


@pytest.fixture(scope="module")
def postgresql(oracle: Oracle) -> Iterator[WireClient]:
    with WireClient(oracle.create_database("numeric_range")) as client:
        assert not client.execute(SETUP).failed
        yield client


def rows(client: psycopg.Connection, sql: str) -> list[tuple[str | None, ...]]:
    """Returns the rows as text."""
    result = client.pgconn.exec_(sql.encode())
    if result.error_message:
        raise AssertionError(result.error_message.decode())
    values = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
    return [tuple(None if value is None else value.decode() for value in row) for row in values]


@pytest.mark.parametrize("sql", SHOWN)
def test_the_digits_are_postgresqls(client: psycopg.Connection, postgresql: WireClient, sql: str) -> None:
    wanted = postgresql.execute(sql)
    assert not wanted.failed, wanted
    for _ in range(2):
        assert rows(client, sql) == list(wanted.rows)


ON_WORKERS = ("SELECT avg(b) FROM wide", "SELECT k, avg(b) FROM wide GROUP BY k", "SELECT id, b::numeric / 7 FROM wide")


@pytest.mark.parametrize("sql", ON_WORKERS)
def test_workers_need_no_fallback(client: psycopg.Connection, postgresql: WireClient, sql: str) -> None:
    client.execute("SET gpudb.fallback = off")
    try:
        found = rows(client, sql)
    finally:
        client.execute("RESET gpudb.fallback")
    assert sorted(found, key=str) == sorted(postgresql.execute(sql).rows, key=str)


def test_a_prepared_statement_gets_small_and_large_values_by_turns(client: psycopg.Connection) -> None:
    sql = "SELECT avg(b::numeric)::text FROM (VALUES (%s::int8), (%s::int8)) v(b)"
    cases = ((1, 2), (2**63 - 1, 2**63 - 3), (1, 4), (-(2**63), -(2**63)), (0, 0), (7, 8))
    wanted = ["1.5000000000000000", "9223372036854775806", "2.5000000000000000"]
    wanted += ["-9223372036854775808", "0.00000000000000000000", "7.5000000000000000"]
    for _ in range(2):
        found = [client.execute(sql, case, prepare=True).fetchone() for case in cases]
        assert found == [(text,) for text in wanted]


@pytest.mark.parametrize("prepare", [False, True])
def test_constants_find_their_layout(client: psycopg.Connection, prepare: bool) -> None:
    sql = "SELECT (9223372036854775807::numeric / 7 + id)::text FROM wide WHERE id < %s ORDER BY id"
    for _ in range(2):
        found = client.execute(sql, (2,), prepare=prepare).fetchall()
        assert found == [("1317624576693539401",), ("1317624576693539402",)]


def test_a_change_that_waited_finds_its_layout(client: psycopg.Connection) -> None:
    info = client.info
    client.execute("CREATE TABLE waited (n numeric(38, 0)); INSERT INTO waited VALUES (1)")
    other = f"host={info.host} port={info.port} user=gpudb dbname=gpudb"
    with psycopg.connect(other) as first, concurrent.futures.ThreadPoolExecutor() as threads:
        first.execute("UPDATE waited SET n = n + 1")
        update = "UPDATE waited SET n = n + (SELECT max(b) + 0 * avg(b) FROM wide)"
        second = threads.submit(client.execute, update)
        time.sleep(0.2)
        first.commit()
        try:
            second.result(60)
        except psycopg.Error as error:
            assert error.sqlstate == "40001"  # noqa: PT017 - the first update won, and the second saw the old row
    client.execute(update)
    client.execute("DROP TABLE waited")


def test_a_late_value_moves_the_next_run_to_its_layout(client: psycopg.Connection) -> None:
    client.execute("CREATE TABLE many AS SELECT i AS id FROM generate_series(1, 400000) AS i")
    sql = "SELECT (CASE WHEN id > 399990 THEN 9223372036854775807::numeric ELSE id + 70 END) / 7.0 FROM many"
    for _ in range(6):
        try:
            found = client.execute(sql).fetchall()
        except psycopg.Error as error:
            # Rows were sent already. A worker that goes on computing them for long, on a busy machine, is replaced.
            assert error.sqlstate in {"22003", "57P01"}  # noqa: PT017
        else:
            break
    else:
        pytest.fail("the statement never found its layout")
    assert len(found) == 400_000
    client.execute("DROP TABLE many")


def test_changes_and_cursors_take_the_layout_of_their_query(client: psycopg.Connection) -> None:
    largest = "SELECT avg(b) FROM wide WHERE b > 9000000000000000000"
    (mean,) = client.execute(largest).fetchone() or ()
    with client.transaction():
        client.execute("CREATE TABLE copied (a numeric(38, 0))")
        client.execute(f"INSERT INTO copied {largest}")
        client.execute(f"UPDATE copied SET a = a - ({largest})")
        assert client.execute("SELECT a FROM copied").fetchall() == [(0,)]
        client.execute(f"DECLARE c CURSOR FOR {largest}")
        assert client.execute("FETCH c").fetchone() == (mean,)
        with client.cursor() as cursor, cursor.copy(f"COPY ({largest}) TO STDOUT") as copy:
            assert b"".join(bytes(part) for part in copy) == f"{mean}\n".encode()
        client.execute("DROP TABLE copied")

"""ASOF joins through a client on every engine, beside PostgreSQL's LATERAL subqueries over the same random rows."""

from __future__ import annotations

import random
from collections.abc import Iterator

import psycopg
import pytest

from tests.support.asof_queries import SETUP, draw_query
from tests.support.lab import ENGINES, client_of_engine
from tests.support.oracle.server import Oracle

HOUR = "interval '1 hour'"
PAIRS = {
    # Snowflake's: the left rows are kept
    "SELECT a.id, q.id, q.t FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t) ON a.k = q.k": (
        "SELECT a.id, q.id, q.t FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        " ORDER BY q.t DESC LIMIT 1) q ON true"
    ),
    "SELECT id, t, q.v FROM trades ASOF JOIN (SELECT k, t AS u, id AS v FROM quotes WHERE b) q"
    " MATCH_CONDITION (t < u) USING (k)": (
        "SELECT a.id, t, q.v FROM trades a LEFT JOIN LATERAL (SELECT t AS u, id AS v FROM quotes q WHERE a.k = q.k"
        " AND a.t < q.t AND b ORDER BY q.t LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.t FROM trades a INNER ASOF JOIN quotes q MATCH_CONDITION (q.t >= a.t) ON a.k = q.k AND a.g = q.g": (
        "SELECT a.id, q.t FROM trades a, LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND q.t >= a.t AND a.g = q.g"
        " ORDER BY q.t LIMIT 1) q"
    ),
    # DuckDB's: the left rows are kept by LEFT alone
    "SELECT a.id, q.t FROM trades a ASOF JOIN quotes q ON a.k = q.k AND a.t > q.t": (
        "SELECT a.id, q.t FROM trades a, LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t > q.t"
        " ORDER BY q.t DESC LIMIT 1) q"
    ),
    "SELECT a.id, k, t, q.id FROM trades a ASOF LEFT JOIN quotes q USING (k, t) WHERE a.id < 400": (
        "SELECT a.id, a.k, a.t, q.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k"
        " AND a.t >= q.t ORDER BY q.t DESC LIMIT 1) q ON true WHERE a.id < 400"
    ),
    # How far the nearest row may be
    f"SELECT a.id, q.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t AND a.t <= q.t + {HOUR}) USING (k)": (
        "SELECT a.id, q.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        f" AND a.t <= q.t + {HOUR} ORDER BY q.t DESC LIMIT 1) q ON true"
    ),
    f"SELECT a.id, q.id FROM trades a INNER ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t AND q.t > a.t - {HOUR})"
    " ON a.k = q.k AND a.b WHERE q.id % 2 = 0": (
        "SELECT a.id, q.id FROM trades a, LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        f" AND q.t > a.t - {HOUR} AND a.b ORDER BY q.t DESC LIMIT 1) q WHERE q.id % 2 = 0"
    ),
    # A second time, from which a row is known
    "SELECT a.id, q.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t AND a.t >= q.known) USING (k)": (
        "SELECT a.id, q.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        " AND a.t >= q.known ORDER BY q.t DESC LIMIT 1) q ON true"
    ),
    f"SELECT a.id, q.id FROM trades a INNER ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t AND a.t >= q.known"
    f" AND a.t - q.t < {HOUR}) USING (k)": (
        "SELECT a.id, q.id FROM trades a, LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        f" AND a.t >= q.known AND a.t - q.t < {HOUR} ORDER BY q.t DESC LIMIT 1) q"
    ),
    # Without keys; other types of times and keys, with ties
    "SELECT a.id, q.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t)": (
        "SELECT a.id, q.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.t >= q.t"
        " ORDER BY q.t DESC LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.x FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.x > q.x) USING (k)": (
        "SELECT a.id, q.x FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.x > q.x"
        " ORDER BY q.x DESC LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.h FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.h <= q.h) ON a.x = q.x": (
        "SELECT a.id, q.h FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.x = q.x AND a.h <= q.h"
        " ORDER BY q.h LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.d FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.d >= q.d AND a.d < q.d + 3) USING (g, b)": (
        "SELECT a.id, q.d FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.g = q.g AND a.b = q.b"
        " AND a.d >= q.d AND a.d < q.d + 3 ORDER BY q.d DESC LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.n FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.n < q.n) USING (n)": (
        "SELECT a.id, NULL::numeric FROM trades a"
    ),
    "SELECT a.id, q.n FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.n >= q.n) ON a.d = q.d": (
        "SELECT a.id, q.n FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.d = q.d AND a.n >= q.n"
        " ORDER BY q.n DESC LIMIT 1) q ON true"
    ),
    # Over other joins, groups, and below them
    "SELECT a.g, count(*), count(q.id), max(q.t - a.t) FROM trades a JOIN (SELECT DISTINCT k FROM quotes) o USING (k)"
    " ASOF JOIN quotes q MATCH_CONDITION (a.t <= q.t) ON o.k = q.k GROUP BY a.g": (
        "SELECT a.g, count(*), count(q.id), max(q.t - a.t) FROM trades a JOIN (SELECT DISTINCT k FROM quotes) o"
        " USING (k) LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE o.k = q.k AND a.t <= q.t ORDER BY q.t LIMIT 1) q"
        " ON true GROUP BY a.g"
    ),
    "SELECT a.id, q.id, r.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t) USING (k)"
    " INNER ASOF JOIN trades r MATCH_CONDITION (q.t < r.t) ON r.k = q.k": (
        "SELECT a.id, q.id, r.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k"
        " AND a.t >= q.t ORDER BY q.t DESC LIMIT 1) q ON true, LATERAL (SELECT * FROM trades r WHERE r.k = q.k"
        " AND q.t < r.t ORDER BY r.t LIMIT 1) r"
    ),
    "SELECT a.id, (SELECT max(q.id) FROM quotes q ASOF JOIN quotes r MATCH_CONDITION (q.t > r.t) USING (k)"
    " WHERE q.k = a.k AND r.b) FROM trades a WHERE a.id < 60": (
        "SELECT a.id, (SELECT max(q.id) FROM quotes q, LATERAL (SELECT * FROM quotes r WHERE r.k = q.k AND q.t > r.t"
        " ORDER BY r.t DESC LIMIT 1) r WHERE q.k = a.k AND r.b) FROM trades a WHERE a.id < 60"
    ),
    # Columns that are computed of matches alone, and an order among rows of one time
    "SELECT a.id, q.x, age, one, w FROM trades a LEFT JOIN LATERAL (SELECT q.x * 2 AS x, a.t - q.t AS age, 1 AS one,"
    " (q.n / a.h)::numeric(9,2) AS w FROM quotes q WHERE q.k = a.k AND q.t <= a.t AND q.t > a.t - interval '3 hours' ORDER BY q.t DESC"
    " LIMIT 1) q ON true WHERE a.h > 0": "",
    "SELECT a.id, q.* FROM trades a CROSS JOIN LATERAL (SELECT q.id, q.id + a.id AS s, 10 / q.id AS r, a.g FROM quotes q"
    " WHERE q.x >= a.x AND q.g = a.g ORDER BY q.x, q.h DESC, q.id LIMIT 1) q": "",
    "SELECT a.id, q.id FROM trades a LEFT JOIN LATERAL (SELECT q.id FROM quotes q WHERE q.d < a.d AND q.g = a.g"
    " ORDER BY q.d DESC, q.t NULLS FIRST, q.id LIMIT 1) q ON true": "",
    # Times of two types, and a condition that is none of the above: computed as a LATERAL subquery
    "SELECT a.id, q.t FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.d >= q.t - interval '60 days') USING (k)": (
        "SELECT a.id, q.t FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k"
        " AND a.d >= q.t - interval '60 days' ORDER BY q.t - interval '60 days' DESC LIMIT 1) q ON true"
    ),
    "SELECT a.id, q.id FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t) ON a.k = q.k AND a.h < q.h": (
        "SELECT a.id, q.id FROM trades a LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t"
        " AND a.h < q.h ORDER BY q.t DESC LIMIT 1) q ON true"
    ),
}
SLOW = 2
"""The number of pairs at the end that are no ASOF joins to an engine."""
ERRORS = {
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.id) USING (k)": ("42804", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t = q.t) USING (k)": ("42601", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= a.t) USING (k)": ("42601", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.k = q.k AND a.t >= q.t)": ("42601", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.g)": ("42883", 64),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.nothing)": ("42703", 67),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (t >= q.t)": ("42702", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t, a.k = q.k)": ("42601", None),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >=)": ("42601", None),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t) USING (known)": ("42703", None),
    "SELECT 1 FROM trades a ASOF JOIN quotes q MATCH_CONDITION (count(*) >= q.id)": ("42803", 60),
    "SELECT 1 FROM trades a ASOF JOIN quotes q ON a.k = q.k": ("42601", 46),
    "SELECT 1 FROM trades a ASOF JOIN quotes q": ("42601", 24),
    "SELECT 1 FROM trades ASOF JOIN quotes ON trades.k = quotes.k AND trades.t > quotes.t": ("42P01", 42),
    "SELECT 1 FROM trades a RIGHT ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t)": ("0A000", None),
    "SELECT 1 FROM trades a ASOF FULL JOIN quotes q MATCH_CONDITION (a.t >= q.t)": ("0A000", None),
    "SELECT 1 FROM trades a NATURAL ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t)": ("0A000", None),
    "SELECT 1 FROM trades a ASOF JOIN (quotes q JOIN quotes r USING (k)) MATCH_CONDITION (a.t >= q.t)": ("0A000", None),
    "SELECT 1 FROM trades a ASOF JOIN LATERAL (SELECT a.t) q MATCH_CONDITION (a.t >= q.t)": ("0A000", None),
}
LATERALS = [each for each in PAIRS.values() if "LATERAL" in each][::3]


@pytest.fixture(scope="module", params=[*ENGINES[:2], *ENGINES[3:]])
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


@pytest.fixture(scope="module")
def postgresql(oracle: Oracle) -> Iterator[psycopg.Connection]:
    with psycopg.connect(oracle.create_database("asof"), autocommit=True) as connection:
        connection.execute(SETUP)
        yield connection


def _rows(connection: psycopg.Connection, sql: str) -> list[str]:
    return sorted(map(str, connection.execute(sql).fetchall()))


@pytest.mark.parametrize("sql", PAIRS)
def test_asof_join_is_the_lateral_subquery(
    client: psycopg.Connection, postgresql: psycopg.Connection, sql: str
) -> None:
    assert _rows(client, sql) == _rows(postgresql, PAIRS[sql] or sql)


@pytest.mark.parametrize("sql", LATERALS)
def test_lateral_subqueries(client: psycopg.Connection, postgresql: psycopg.Connection, sql: str) -> None:
    assert _rows(client, sql) == _rows(postgresql, sql)


@pytest.mark.parametrize("seed", range(16))
def test_random_lateral_subqueries(client: psycopg.Connection, postgresql: psycopg.Connection, seed: int) -> None:
    sql = draw_query(random.Random(seed))
    assert _rows(client, sql) == _rows(postgresql, sql), sql


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as raised:
        client.execute(sql)
    sqlstate, position = ERRORS[sql]
    assert raised.value.sqlstate == sqlstate
    if position is not None:
        assert raised.value.diag.statement_position == str(position)


@pytest.mark.parametrize("sql", [*PAIRS][:-SLOW])
def test_engines_compute_them_as_asof_joins(client: psycopg.Connection, sql: str) -> None:
    """By their plans; DuckDB takes another way for few rows on the left."""
    for each in (sql, *(each for each in (PAIRS[sql],) if "LATERAL" in each)):
        plan = "\n".join(row[0] for row in client.execute(f"EXPLAIN {each}").fetchall())
        assert "AsofJoin" in plan or "arg_max_null" in plan or "arg_min_null" in plan
        assert "Fallback" not in plan


def test_of_equal_times_one_row_is_returned(client: psycopg.Connection) -> None:
    ties = "(VALUES (1, 'x'), (1, 'y'), (2, 'z')) AS b(t, v)"
    for symbol, answers in ((">=", {"x", "y"}), (">", {None}), ("<=", {"x", "y"}), ("<", {"z"})):
        sql = f"SELECT v FROM (VALUES (1), (NULL)) AS a(t) ASOF JOIN {ties} MATCH_CONDITION (a.t {symbol} b.t)"
        one, other = sorted((row[0] for row in client.execute(sql).fetchall()), key=str, reverse=True)
        assert one in answers
        assert other is None or {one, other} <= {None, "x", "y", "z"}
        assert [one, other].count(None) == 1 + (answers == {None})


def test_parameters_and_plain_names(client: psycopg.Connection) -> None:
    """A condition may have parameters, and the words stay names where PostgreSQL's grammar takes them."""
    sql = (
        "SELECT count(q.id) FROM trades a ASOF JOIN quotes q"
        " MATCH_CONDITION (a.t >= q.t AND q.t >= a.t - %s::interval) ON a.k = q.k AND q.id < %s"
    )
    counts = [
        client.execute(sql, parameters, prepare=True).fetchall()[0][0] for parameters in (("1 h", 900), ("1 day", 90))
    ]
    assert counts[0] > 0
    assert counts[1] > 0
    assert counts[0] != counts[1]
    names = "SELECT asof.match_condition FROM (SELECT 1 AS match_condition) asof JOIN (SELECT 1) b ON true"
    assert client.execute(names).fetchall() == [(1,)]


def test_views_and_changes(client: psycopg.Connection, postgresql: psycopg.Connection) -> None:
    for connection, join in (
        (client, "ASOF JOIN quotes q MATCH_CONDITION (a.t >= q.t) USING (k)"),
        (
            postgresql,
            "LEFT JOIN LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND a.t >= q.t ORDER BY q.t DESC LIMIT 1) q ON true",
        ),
    ):
        connection.execute(f"CREATE VIEW joined AS SELECT a.id, q.id AS quote, q.x FROM trades a {join}")
        connection.execute("CREATE TABLE kept AS SELECT * FROM joined")
        connection.execute(f"INSERT INTO kept SELECT a.id + 1000, q.id, q.x FROM trades a {join} WHERE q.b")
    sql = "SELECT * FROM kept UNION ALL SELECT * FROM joined"
    assert _rows(client, sql) == _rows(postgresql, sql)
    for connection in (client, postgresql):
        connection.execute("DROP TABLE kept; DROP VIEW joined")


def test_tables_that_are_distributed_by_the_key(client: psycopg.Connection, postgresql: psycopg.Connection) -> None:
    """Their rows are not moved; equal keys of other types are, to the buckets of the others."""
    client.execute("CREATE TABLE t1 DISTRIBUTE BY HASH (k) AS SELECT * FROM trades")
    client.execute("CREATE TABLE q1 DISTRIBUTE BY HASH (k) AS SELECT id, k::bigint, t FROM quotes")
    try:
        sql = "SELECT a.id, q.id FROM {} a INNER ASOF JOIN {} q MATCH_CONDITION (a.t <= q.t) ON a.k = q.k"
        expected = "SELECT a.id, q.id FROM trades a, LATERAL (SELECT * FROM quotes q WHERE a.k = q.k AND q.t >= a.t"
        expected += " ORDER BY q.t LIMIT 1) q"
        for tables in (("t1", "q1"), ("trades", "q1"), ("t1", "quotes")):
            assert _rows(client, sql.format(*tables)) == _rows(postgresql, expected)
        plan = "\n".join(row[0] for row in client.execute("EXPLAIN " + sql.format("t1", "q1")).fetchall())
        assert "Exchange" not in plan
    finally:
        client.execute("DROP TABLE t1; DROP TABLE q1")

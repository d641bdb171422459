"""PL/CUDA functions and aggregates over a table on every engine: answers, errors, and bodies that do not behave."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

ROWS = 3000
SETUP = f"""
CREATE EXTENSION plcuda;
CREATE TABLE t AS SELECT n, n % 9 AS g, n * 2.0::float8 AS x, CASE WHEN n % 7 > 0 THEN n END AS m,
    date '2024-01-01' + n AS d FROM generate_series(1, {ROWS}) n;
CREATE FUNCTION half(a float8) RETURNS float8 STRICT LANGUAGE plcuda AS 'return a / 2;';
CREATE FUNCTION larger(a int, b int) RETURNS int LANGUAGE plcuda AS $$
  if (a_isnull && b_isnull) RETURN_NULL();
  if (a_isnull) return b;
  return b_isnull ? a : max(a, b);
$$;
CREATE FUNCTION next_day(d date) RETURNS date STRICT LANGUAGE plcuda AS 'return d + 1;';
CREATE FUNCTION inverse(a int) RETURNS float8 STRICT LANGUAGE plcuda AS $$
  if (a == 0) RAISE_ERROR("22012", "no zero, please");
  return 1.0 / a;
$$;
CREATE TYPE mean_state AS (total float8, n int);
CREATE FUNCTION mean_add(s mean_state, x float8) RETURNS mean_state STRICT LANGUAGE plcuda AS
    's.total += x; s.n++; return s;';
CREATE FUNCTION mean_merge(a mean_state, b mean_state) RETURNS mean_state STRICT LANGUAGE plcuda AS
    'return {{a.total + b.total, a.n + b.n}};';
CREATE FUNCTION mean_end(s mean_state) RETURNS float8 STRICT LANGUAGE plcuda AS
    'if (s.n == 0) RETURN_NULL(); return s.total / s.n;';
CREATE AGGREGATE mean(float8) (SFUNC = mean_add, STYPE = mean_state, COMBINEFUNC = mean_merge, FINALFUNC = mean_end,
    INITCOND = '(0,0)');
CREATE FUNCTION loops(x int) RETURNS int LANGUAGE plcuda AS 'volatile int go = 1; while (go) {{ }} return x;';
CREATE FUNCTION writes(x int) RETURNS int LANGUAGE plcuda AS
    'volatile int *at = (int *)(8 + 4 * (long long)x); *at = x; return *at;';
CREATE FUNCTION grows(x int) RETURNS int LANGUAGE plcuda AS $$
  for (;;) {{
    char *more = (char *)malloc(1 << 20);
    if (!more) RAISE_ERROR("53200", "the body is out of memory");
    more[x % 1000] = 1;
  }}
$$;
"""
PAIRS = (
    ("SELECT sum(half(x)), max(next_day(d)), sum(larger(m, 5)) FROM t",
     "SELECT sum(x / 2), max(d) + 1, sum(greatest(m, 5)) FROM t"),
    ("SELECT g, count(*), sum(half(x)) FROM t WHERE half(x) > 9 GROUP BY g ORDER BY g",
     "SELECT g, count(*), sum(x / 2) FROM t WHERE x / 2 > 9 GROUP BY g ORDER BY g"),
    ("SELECT sum(CASE WHEN g > 0 THEN inverse(g) END) FROM t WHERE g = 0 OR inverse(g) > 0.2",
     "SELECT sum(CASE WHEN g > 0 THEN 1.0::float8 / g END) FROM t WHERE g = 0 OR 1.0::float8 / g > 0.2"),
    ("SELECT coalesce(m, larger(g, 3)) AS c, count(*) FROM t WHERE n < 20 GROUP BY 1 ORDER BY 1",
     "SELECT coalesce(m, greatest(g, 3)) AS c, count(*) FROM t WHERE n < 20 GROUP BY 1 ORDER BY 1"),
    ("SELECT a.n, half(b.x) FROM t a JOIN t b ON larger(a.n, 5) = b.n WHERE a.n < 9 ORDER BY 1",
     "SELECT a.n, b.x / 2 FROM t a JOIN t b ON greatest(a.n, 5) = b.n WHERE a.n < 9 ORDER BY 1"),
    ("SELECT g, mean(x) FROM t GROUP BY g ORDER BY g", "SELECT g, avg(x) FROM t GROUP BY g ORDER BY g"),
    ("SELECT mean(x) FILTER (WHERE n > 50), mean(x + 1) FROM t", "SELECT avg(x) FILTER (WHERE n > 50), avg(x + 1) FROM t"),
    ("SELECT n, mean(x) FROM t GROUP BY n ORDER BY n", "SELECT n, x FROM t ORDER BY n"),
    ("SELECT mean(x) FROM t WHERE n < 0", "SELECT avg(x) FROM t WHERE n < 0"),
)  # fmt: skip
RIGHT = "SELECT sum(half(x)) FROM t", [(ROWS * (ROWS + 1) / 2,)]


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines, none of which falls back to the embedded one."""
    with client_of_engine(request.param, SETUP) as connection:
        connection.execute("SET gpudb.fallback = off")
        yield connection


def fetch(client: psycopg.Connection, sql: str) -> list[tuple[Any, ...]]:
    return client.execute(sql).fetchall()  # type: ignore[call-overload]


def test_answers(client: psycopg.Connection) -> None:
    for mine, same in PAIRS:
        found, wanted = fetch(client, mine), fetch(client, same)
        assert len(found) == len(wanted), mine
        for one, other in zip(found, wanted, strict=True):
            assert one == pytest.approx(other, rel=1e-9), mine


def test_errors_of_bodies(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero, match="no zero, please"):
        fetch(client, "SELECT sum(inverse(g)) FROM t")
    assert fetch(client, RIGHT[0]) == RIGHT[1]


def test_a_body_is_replaced(client: psycopg.Connection) -> None:
    client.execute("CREATE FUNCTION changes(a int) RETURNS int STRICT LANGUAGE plcuda AS 'return a;'")
    assert fetch(client, "SELECT max(changes(n)) FROM t") == [(ROWS,)]
    client.execute("CREATE OR REPLACE FUNCTION changes(a int) RETURNS int STRICT LANGUAGE plcuda AS 'return -a;'")
    assert fetch(client, "SELECT max(changes(n)) FROM t") == [(-1,)]
    client.execute("DROP FUNCTION changes(int)")
    with pytest.raises(psycopg.errors.UndefinedFunction):
        fetch(client, "SELECT max(changes(n)) FROM t")


def test_a_body_that_does_not_end_is_stopped_alone(client: psycopg.Connection) -> None:
    others: list[Any] = []

    def run_others() -> None:
        with psycopg.connect(client.info.dsn, autocommit=True) as other:
            others.extend(fetch(other, "SELECT count(*), sum(n) FROM t") for _ in range(20))

    beside = threading.Thread(target=run_others)
    client.execute("SET statement_timeout = '1s'")
    beside.start()
    with pytest.raises(psycopg.errors.QueryCanceled):
        fetch(client, "SELECT max(loops(n)) FROM t")
    client.execute("RESET statement_timeout")
    beside.join()
    assert others == [[(ROWS, ROWS * (ROWS + 1) // 2)]] * 20
    assert fetch(client, RIGHT[0]) == RIGHT[1]


def test_a_write_out_of_bounds_is_one_error(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.SystemError):
        fetch(client, "SELECT max(writes(n)) FROM t")
    assert fetch(client, RIGHT[0]) == RIGHT[1]


def test_a_body_that_takes_all_memory_is_one_error(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.OutOfMemory):
        fetch(client, "SELECT max(grows(n)) FROM t")
    assert fetch(client, RIGHT[0]) == RIGHT[1]

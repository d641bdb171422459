"""Aggregates that PostgreSQL lacks, through a client, on every engine: approx_count_distinct, approx_percentile, median,
arg_max and arg_min.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine
from tests.support.oracle.server import Oracle

ROWS = 30_000
SETUP = f"""
CREATE TABLE visits AS SELECT i AS id, (i * 7919 % {ROWS})::float8 AS ms, 'page ' || i % 700 AS page,
    CASE WHEN i % 13 > 0 THEN i % 5 END AS site, interval '1 hour' * (i % 48) AS stay
    FROM generate_series(1, {ROWS}) AS i
"""
STANDARD_ERROR = 0.01625
MEDIANS = (
    ("SELECT median(ms) FROM visits", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FROM visits"),
    ("SELECT median(stay) FROM visits", "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY stay) FROM visits"),
    (
        "SELECT site, median(ms) FILTER (WHERE id > 100) FROM visits GROUP BY site ORDER BY site",
        "SELECT site, percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) FILTER (WHERE id > 100) FROM visits"
        " GROUP BY site ORDER BY site",
    ),
)
EXTREMES = (
    ("SELECT arg_max(id, ms), arg_min(page, ms) FROM visits",
     "SELECT (array_agg(id ORDER BY ms DESC))[1], (array_agg(page ORDER BY ms))[1] FROM visits"),
    ("SELECT site, arg_max(ms, id) FILTER (WHERE id > 100), arg_min(stay, id) FROM visits GROUP BY site ORDER BY site",
     "SELECT site, (array_agg(ms ORDER BY id DESC) FILTER (WHERE id > 100))[1], (array_agg(stay ORDER BY id))[1]"
     " FROM visits GROUP BY site ORDER BY site"),
    ("SELECT arg_max(site, id), arg_max(id, site * 100000 + id), arg_max(id / 7.0, ms) FROM visits",
     "SELECT (array_agg(site ORDER BY id DESC) FILTER (WHERE site IS NOT NULL))[1],"
     " (array_agg(id ORDER BY site * 100000 + id DESC NULLS LAST))[1], (array_agg(id / 7.0 ORDER BY ms DESC))[1]"
     " FROM visits"),
    ("SELECT arg_max(id, ms) FROM visits WHERE id < 0", "SELECT max(id) FROM visits WHERE id < 0"),
)  # fmt: skip
ERRORS = {
    "SELECT approx_percentile(ms, 1.5) FROM visits": "22003",
    "SELECT approx_percentile(ms, -0.1) FROM visits": "22003",
    "SELECT approx_percentile(ms, array[0.5, 2]) FROM visits": "22003",
    "SELECT approx_percentile(ms, 0.5, 0) FROM visits": "22023",
    "SELECT approx_percentile(ms, 0.5, 1000001) FROM visits": "22023",
    "SELECT approx_percentile(ms, ms) FROM visits": "0A000",
    "SELECT approx_percentile(DISTINCT ms, 0.5) FROM visits": "0A000",
    "SELECT approx_count_distinct(id) OVER () FROM visits": "0A000",
    "SELECT median(ms) OVER () FROM visits": "0A000",
    "SELECT approx_percentile(ms, array[0.4, 0.6]::int[]) FROM visits": "0A000",
    "SELECT approx_count_distinct(array[stay]) FROM visits": "0A000",
    "SELECT approx_percentile(page, 0.5) FROM visits": "42883",
    "SELECT approx_count_distinct() FROM visits": "42883",
    "SELECT approx_count_distinct(json '1')": "42883",
}


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


@pytest.fixture(scope="module")
def postgresql(oracle: Oracle) -> Iterator[psycopg.Connection]:
    with psycopg.connect(oracle.create_database("approximate"), autocommit=True) as connection:
        connection.execute(SETUP)
        yield connection


def test_distinct_values_are_near_their_number(client: psycopg.Connection) -> None:
    sql = (
        "SELECT site, count(DISTINCT id), approx_count_distinct(id), count(DISTINCT page), approx_count_distinct(page)"
        " FROM visits GROUP BY site"
    )
    groups = client.execute(sql).fetchall()
    assert len(groups) == 6
    for _, ids, about_ids, pages, about_pages in groups:
        assert abs(about_ids / ids - 1) < 5 * STANDARD_ERROR
        assert abs(about_pages / pages - 1) < 5 * STANDARD_ERROR


def test_percentiles_are_within_their_accuracy(client: psycopg.Connection) -> None:
    sql = "SELECT approx_percentile(ms, array[0, 0.1, 0.5, 0.99, 1]), approx_percentile(ms, 0.3, 100) FROM visits"
    ((several, one),) = client.execute(sql).fetchall()
    for value, fraction in zip(several, (0, 0.1, 0.5, 0.99, 1), strict=True):
        assert abs(value / (ROWS - 1) - fraction) <= 0.001
    assert abs(one / (ROWS - 1) - 0.3) <= 0.01


def test_no_values(client: psycopg.Connection) -> None:
    sql = "SELECT approx_count_distinct(id), approx_percentile(ms, 0.5), median(ms) FROM visits WHERE id < 0"
    assert client.execute(sql).fetchall() == [(0, None, None)]
    nulls = "SELECT approx_count_distinct(x), approx_percentile(x, 0.5), median(x) FROM (VALUES (NULL::float8)) AS t(x)"
    assert client.execute(nulls).fetchall() == [(0, None, None)]


def test_no_fractions(client: psycopg.Connection) -> None:
    sql = "SELECT approx_percentile(ms, NULL::float8[]), approx_percentile(ms, NULL), count(*) FROM visits"
    assert client.execute(sql).fetchall() == [(None, None, ROWS)]


def test_own_functions_come_first(client: psycopg.Connection) -> None:
    client.execute("CREATE FUNCTION median(float8) RETURNS float8 LANGUAGE sql AS 'SELECT $1 * 100'")
    assert client.execute("SELECT median(2.5::float8), public.median(2.5::float8)").fetchall() == [(250, 250)]
    client.execute("DROP FUNCTION median(float8)")


@pytest.mark.parametrize(("sql", "equivalent"), MEDIANS + EXTREMES)
def test_medians_and_extreme_rows(
    client: psycopg.Connection, postgresql: psycopg.Connection, sql: str, equivalent: str
) -> None:
    assert client.execute(sql).fetchall() == postgresql.execute(equivalent).fetchall()


@pytest.mark.parametrize("sql", ERRORS)
def test_errors(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as error:
        client.execute(sql)
    assert error.value.sqlstate == ERRORS[sql]

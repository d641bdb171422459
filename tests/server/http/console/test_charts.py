"""Mosaic's queries, as its library writes them, answered as DuckDB answers them over the same rows.

`mosaic_statements.json` was written by @uwdata/mosaic-sql 0.33.0, along the marks of @uwdata/mosaic-plot 0.32.0.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from gpudb.server.http.console.dialect.sources import place_source
from tests.support.console_client import Client

STATEMENTS = {
    each["name"]: each["sql"]
    for each in json.loads((Path(__file__).parent / "mosaic_statements.json").read_text(encoding="utf-8"))
}
ROWS = """
SELECT g AS id, ((g * 7919) % 4000)::int AS fare_id, ((g * 7919) % 4001)::int AS distance_id,
    (((g * 37) % 18000) / 100.0)::{numeric}(10,2) AS fare,
    CASE WHEN g % 97 = 0 THEN NULL ELSE ((g * 53) % 3999) / 100.0::{double} END AS distance,
    ((g * 31) % 98 - 37)::int AS delta,
    CASE WHEN g % 13 = 0 THEN NULL ELSE ((g * 11) % 700) / 70.0::{double} END AS tip,
    CASE g % 5 WHEN 0 THEN 'taxi' WHEN 1 THEN 'van' WHEN 2 THEN 'it''s' WHEN 3 THEN 'Truck' END AS kind,
    g % 3 = 0 AS paid,
    TIMESTAMP '2024-01-01' + g * INTERVAL '35 minutes 7.123456 seconds' AS pickup,
    DATE '2023-11-05' + (g % 200)::int AS day,
    CASE g % 3 WHEN 0 THEN {list}['a','b'] WHEN 1 THEN {list}['b','c'] END AS tags
"""


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    rows = ROWS.format(numeric="decimal", double="double", list="")
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE rides AS {rows} FROM range(1, 3001) AS t(g)")
        yield connection


@pytest.fixture(scope="module")
def charts(client: Client) -> Client:
    rows = ROWS.format(numeric="numeric", double="float8", list="ARRAY")
    assert client.run(f"CREATE TABLE rides AS {rows} FROM generate_series(1, 3000) AS t(g)").error is None
    return client


def _normalize(value: object) -> object:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return "NaN" if math.isnan(value) else float(value)
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    return value


def _are_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return one == other


def _sort_key(row: list[object]) -> list[tuple[bool, str]]:
    return [(value is None, f"{value:.6g}" if isinstance(value, float) else str(value)) for value in row]


def _read(client: Client, sql: str) -> pa.Table:
    reply = client.chart(sql)
    assert reply.status_code == 200, reply.text
    return pa.ipc.open_stream(reply.content).read_all()


@pytest.mark.parametrize("name", [name for name in STATEMENTS if not name.startswith("describe")])
def test_answers_are_duckdbs(charts: Client, duck: duckdb.DuckDBPyConnection, name: str) -> None:
    sql = STATEMENTS[name]
    cursor = duck.execute(sql)
    names = [each[0] for each in cursor.description]
    expected = [[_normalize(value) for value in row] for row in cursor.fetchall()]
    table = _read(charts, sql)
    found = [[_normalize(value) for value in row] for row in zip(*(column.to_pylist() for column in table.columns))]
    assert table.schema.names == names
    assert expected
    if "ORDER BY" not in sql.rpartition(" FROM ")[2]:
        expected.sort(key=_sort_key)
        found.sort(key=_sort_key)
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert all(map(_are_same, one, other)), (one, other)


def test_columns_are_described(charts: Client, duck: duckdb.DuckDBPyConnection) -> None:
    sql = STATEMENTS["describe a table"]
    expected = [[*row[:1], row[1].replace("DECIMAL(10,2)", "DOUBLE"), *row[2:]] for row in duck.execute(sql).fetchall()]
    expected[0][1] = "INTEGER"  # generate_series, where DuckDB's range is of BIGINT
    found = [list(row.values()) for row in _read(charts, sql).to_pylist()]
    assert found == expected
    described = _read(charts, STATEMENTS["describe a column"]).to_pylist()
    assert [(each["column_name"], each["column_type"]) for each in described] == [("column", "DOUBLE")]
    described = _read(charts, STATEMENTS["describe an aggregate"]).to_pylist()
    assert [(each["column_name"], each["column_type"]) for each in described] == [("column", "DOUBLE")]


def test_forms_of_answers(charts: Client) -> None:
    reply = charts.chart("SELECT 1 AS a, 'x' AS b, DATE '2024-01-02' AS c, 'NaN'::DOUBLE AS d, NULL AS e", "json")
    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == [{"a": 1, "b": "x", "c": "2024-01-02", "d": None, "e": None}]
    assert charts.chart("SELECT id FROM rides WHERE id < 0", "json").json() == []
    assert len(charts.chart("SELECT id FROM rides", "json").json()) == 3000
    reply = charts.chart("SELECT 1", "exec")
    assert (reply.status_code, reply.content) == (204, b"")
    found = charts.chart("SELECT id / (id - id) AS a, (id - id) / (id - id) AS b, -1 / 0 AS c FROM rides LIMIT 1")
    row = pa.ipc.open_stream(found.content).read_all().to_pylist()[0]
    assert (row["a"], math.isnan(row["b"]), row["c"]) == (math.inf, True, -math.inf)
    table = _read(charts, "SELECT fare, INTERVAL 90 minute AS i, 7 / 2 AS q FROM rides LIMIT 1")
    assert [str(each) for each in table.schema.types] == ["double", "double", "double"]
    assert table.to_pylist() == [{"fare": 0.37, "i": 5400.0, "q": 3.5}]


REFUSED = [
    ("CREATE TABLE IF NOT EXISTS x AS SELECT 1 AS a", "0A000"),
    ("CREATE SCHEMA IF NOT EXISTS mosaic", "0A000"),
    ("CREATE TEMP VIEW v AS SELECT 1 AS a", "0A000"),
    ("DROP TABLE rides", "0A000"),
    ("INSERT INTO rides (id) VALUES (1)", "0A000"),
    ("SET threads = 1", "0A000"),
    ("PRAGMA version", "42601"),
    ("SELECT 1; SELECT 2", "42601"),
    ("SELECT TRY_CAST(kind AS INTEGER) FROM rides", "0A000"),
    ("SELECT * FROM rides TABLESAMPLE (10%)", "0A000"),
    ("SELECT COLUMNS('a.*') FROM rides", "0A000"),
    ("SELECT regexp_matches(kind, 'a', 'x') FROM rides", "0A000"),
    ("SELECT skewness(fare) FROM rides", "42883"),
    ("SELECT nothing FROM rides", "42703"),
    ("SELECT fare AS a, b + 1 AS b FROM rides", "42703"),
    ("SELECT fare FROM nowhere", "42P01"),
    ("SELECT 1 // 0 AS y", "22012"),
    ("WITH a AS (DELETE FROM rides RETURNING id) SELECT id FROM a", "25006"),
]


@pytest.mark.parametrize("form", ["arrow", "exec"])
@pytest.mark.parametrize("sql, sqlstate", REFUSED)
def test_what_is_no_chart_is_refused(charts: Client, sql: str, sqlstate: str, form: str) -> None:
    reply = charts.chart(sql, form)
    assert (reply.status_code, reply.json()["error"]["sqlstate"]) == (400, sqlstate)
    assert reply.json()["error"]["message"]


def test_a_chart_sets_nothing_for_the_next(charts: Client) -> None:
    for _ in range(9):  # each session of the login's charts
        assert charts.chart("SELECT set_config('default_transaction_read_only', 'off', false) AS s").status_code == 200
        reply = charts.chart("WITH a AS (DELETE FROM rides RETURNING id) SELECT id FROM a")
        assert reply.json()["error"]["sqlstate"] == "25006"
    assert charts.chart("SELECT current_setting('TimeZone') AS zone", "json").json() == [{"zone": "UTC"}]
    charts.run("CREATE ROLE lesser")
    for _ in range(9):
        assert (
            charts.chart("SELECT set_config('role', 'lesser', false) AS r, pg_advisory_lock(4711)").status_code == 200
        )
        assert charts.chart("SELECT current_user AS u", "json").json() == [{"u": "gpudb"}]
    locks = "SELECT count(*) AS n FROM pg_locks WHERE locktype = 'advisory'"
    assert charts.chart(locks, "json").json() == [{"n": 0}]
    charts.run("DROP ROLE lesser")


def test_charts_are_computed_side_by_side(charts: Client) -> None:
    def ask(number: int) -> Any:
        return charts.chart(f"SELECT sum(delta) + {number} AS s FROM rides", "json").json()[0]["s"]

    with ThreadPoolExecutor(12) as threads:
        found = list(threads.map(ask, range(24)))
    assert [each - found[0] for each in found] == list(range(24))
    rows = charts.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gpudb console'").rows()
    assert 2 <= rows[0][0] <= 9  # eight for charts, and the tab


def test_a_name_of_the_list_loses_to_a_column(charts: Client) -> None:
    """DuckDB looks for columns first, as PostgreSQL does; for names of the list only then."""
    table = _read(charts, "SELECT fare * 0 AS id, id + 1 AS next, next + 1 AS last FROM rides ORDER BY next LIMIT 1")
    assert table.to_pylist() == [{"id": 0.0, "next": 2, "last": 3}]


def test_a_source_is_in_the_own_dialect(charts: Client) -> None:
    def ask(sql: str, source: str, form: str = "json") -> Any:
        return charts.post("mosaic", {"type": form, "sql": sql, "source": source}).json()

    source = "SELECT id, id / 2 AS half, 'x \"gpudb source\" y' AS text FROM rides WHERE id <= 3 -- all;\n;"
    assert ask('SELECT sum(half) AS s, sum(id / 2) AS q FROM "gpudb source" AS source', source) == [{"s": 2, "q": 3.0}]
    twice = 'SELECT count(*) AS n, max(a.text) AS t FROM "gpudb source" a JOIN "gpudb source" b ON a.id = b.id'
    assert ask(twice, source) == [{"n": 3, "t": 'x "gpudb source" y'}]
    alias = 'SELECT half AS h, half + 1 AS next FROM "gpudb source" AS source WHERE next > 1 ORDER BY 1 LIMIT 1'
    assert ask(alias, source) == [{"h": 1, "next": 2}]
    described = ask('DESCRIBE SELECT * FROM "gpudb source" AS result', source)
    assert [each["column_type"] for each in described] == ["INTEGER", "INTEGER", "VARCHAR"]
    count = 'SELECT count(*) FROM "gpudb source"'
    for wrong, sqlstate in (
        ("SELECT 1) t; DROP TABLE rides; --", "42601"),
        ("SELECT 1; SELECT 2", "42601"),
        ("", "0A000"),
        ("DROP TABLE rides", "0A000"),
        ("SELECT nothing FROM rides", "42703"),
        ("WITH gone AS (DELETE FROM rides RETURNING id) SELECT id FROM gone", "0A000"),
    ):
        assert ask(count, wrong)["error"]["sqlstate"] == sqlstate, wrong
    assert ask("SELECT count(*) FROM rides", source) == [{"count": 3000}]


def test_positions_around_a_source() -> None:
    placed = place_source('SELECT é, x FROM "gpudb source" a, "gpudb source" b WHERE y', "SELECT 1 -- c")
    assert placed.text == "SELECT é, x FROM (SELECT 1 -- c\n) a, (SELECT 1 -- c\n) b WHERE y"
    before = 'SELECT é, x FROM "gpudb source" a, "gpudb source" b WHERE y'
    for name in ("é", "x", " a", " b", "y"):
        assert placed.find_position(placed.text.rindex(name) + 1) == before.rindex(name) + 1, name
    assert placed.find_position(placed.text.index("1") + 1) is None
    assert placed.find_position(placed.text.rindex("1") + 1) is None
    assert place_source("SELECT 1", "SELECT 2").text == "SELECT 1"

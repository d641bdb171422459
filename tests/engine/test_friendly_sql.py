"""SQL that analysts know from DuckDB: every engine returns DuckDB's own columns and rows for the same statement."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

TABLE = "CREATE TABLE sales (id integer, shop text, item text, price {real}, sold date, amounts {list})"
ROWS = [
    (1, "north", "tea", 2.5, "2026-01-05", [1, 2]),
    (2, "north", "cake", 4.0, "2026-01-31", [3, None, 3]),
    (3, "south", "tea", 2.0, "2026-02-01", []),
    (4, "south", "cake", None, "2026-02-14", None),
    (5, "south", "tea", 3.5, "2026-03-31", [5, 4]),
    (6, "west", None, 1.0, None, [7]),
]
STARS = (
    "SELECT * EXCLUDE (price, amounts) FROM sales",
    "SELECT * EXCLUDE id REPLACE (upper(shop) AS shop) RENAME (item AS what) FROM sales",
    "SELECT s.* EXCLUDE (s.id, amounts), t.id FROM sales AS s JOIN sales AS t ON s.id = t.id + 1",
    "SELECT * EXCEPT (amounts) FROM sales",
    "SELECT COLUMNS('^(id|pr.*)$') FROM sales",
    "SELECT max(COLUMNS(* EXCLUDE (amounts))) FROM sales",
    "SELECT min(COLUMNS('^s(.*)$')) AS \"least_\\1\" FROM sales",
    "SELECT shop, count(COLUMNS('i')) FROM sales GROUP BY shop",
    "FROM sales SELECT id, COLUMNS('price') * 2 AS double_price WHERE id > 2",
)
CLAUSES = (
    "SELECT shop, item, sum(price) AS total FROM sales GROUP BY ALL",
    "SELECT sum(price) AS total FROM sales WHERE id > 100 GROUP BY ALL",
    "SELECT shop AS s, count(*) + 1 AS n FROM sales GROUP BY ALL HAVING count(*) > 1",
    "SELECT shop, count(*) AS n FROM sales GROUP BY ALL ORDER BY ALL",
    "SELECT 1 AS one FROM sales GROUP BY ALL",
    "SELECT shop, item FROM sales WHERE item IS NOT NULL ORDER BY ALL DESC",
    "SELECT item, id FROM sales ORDER BY ALL NULLS FIRST",
    "SELECT shop FROM sales UNION SELECT item FROM sales ORDER BY ALL DESC NULLS LAST",
    "FROM sales SELECT id ORDER BY id LIMIT 2",
    "FROM sales SELECT id WHERE price > 3",
    "FROM (FROM sales SELECT shop, price) SELECT shop, max(price) AS most GROUP BY ALL",
    "WITH few AS (FROM sales WHERE id < 3) FROM few SELECT id, shop",
    "FROM sales SELECT id UNION ALL FROM sales SELECT id",
    "FROM sales AS a JOIN sales AS b USING (id) SELECT id, a.shop, b.item",
    "SELECT (FROM sales SELECT max(id)) AS most, EXISTS (FROM sales WHERE id > 9) AS more",
    "SELECT count(*) AS n FROM sales USING SAMPLE 100%",
    "SELECT count(*) AS n FROM sales USING SAMPLE 4 ROWS",
    "SELECT count(*) AS n FROM sales AS a JOIN sales AS b USING (id) USING SAMPLE reservoir(3 ROWS) REPEATABLE (42)",
)
PIVOTS = (
    "PIVOT sales ON item USING sum(price) GROUP BY shop",
    "PIVOT sales ON item IN ('tea', 'cake') USING sum(price) AS total, count(*) AS n GROUP BY shop",
    "PIVOT sales ON item IN ('tea', 'nothing') GROUP BY shop",
    "PIVOT sales ON year(sold) USING count(*) GROUP BY item",
    "PIVOT (SELECT shop, item, price FROM sales) ON item USING max(price)",
    "PIVOT sales ON item USING list(id) GROUP BY shop",
    "PIVOT sales ON shop USING len(list(id)) AS n GROUP BY item",
    "PIVOT sales ON shop USING max_by(item, price), quantile_cont(price, 0.5) AS half",
    "PIVOT sales ON shop, item IN ('tea') USING sum(price) GROUP BY id",
    "FROM (PIVOT sales ON shop USING count(*) GROUP BY item) SELECT item, north ORDER BY ALL",
    "WITH tea AS (FROM sales WHERE item = 'tea') PIVOT tea ON shop USING sum(price) GROUP BY item",
    "SELECT * FROM sales PIVOT (sum(price) FOR item IN ('tea' AS t, 'cake') GROUP BY shop)",
    "SELECT p.shop, p.tea FROM (SELECT shop, item, price FROM sales) PIVOT (max(price) FOR item IN ('tea')) AS p",
    "PIVOT (SELECT nullif(shop, 'west') AS shop, replace(item, 'tea', '') AS item FROM sales) ON item USING count(*) AS n",
    "PIVOT (SELECT replace(item, 'tea', '') AS item, price FROM sales) ON item IN ('', 'cake') USING sum(price)",
    'PIVOT (SELECT id AS "$value1", 2 AS "$source", id AS "$group0", item FROM sales) ON item USING count(*)',
    'PIVOT (SELECT id AS "$on0", shop AS pivoted, item FROM sales) ON item USING sum("$on0") GROUP BY pivoted',
    'UNPIVOT (SELECT id AS "$value1", price, id * 2.0 AS twice FROM sales) ON price, twice',
    'UNPIVOT (SELECT id AS place, shop AS "$source", id AS k1, id AS v1, item AS n FROM sales) ON v1, place',
    "UNPIVOT (SELECT id AS unpivoted, shop AS computed, shop AS places, item AS made FROM sales) ON computed, made",
    "UNPIVOT (SELECT id, price, id * 2.0 AS twice FROM sales) ON price, twice",
    "UNPIVOT (SELECT shop, id, price FROM sales) ON COLUMNS(* EXCLUDE (shop)) INTO NAME what VALUE much",
    "SELECT * FROM (SELECT id, shop, item FROM sales) UNPIVOT (word FOR kind IN (shop, item AS thing))",
    "SELECT * FROM (SELECT id, shop, item FROM sales) UNPIVOT INCLUDE NULLS (word FOR kind IN (shop, item))",
)
FUNCTIONS = (
    "SELECT shop, max_by(item, price) AS m, min_by(id, price) AS n, arg_max(id, sold) AS o FROM sales GROUP BY shop",
    "SELECT count_if(price > 2) AS a, countif(item = 'tea') AS b FROM sales",
    "SELECT shop, count_if(price > 2) FILTER (WHERE id <> 1) AS a FROM sales GROUP BY shop",
    "SELECT quantile_cont(price, 0.25) AS a, quantile_disc(price, 0.5) AS b, mode(item) AS c, median(id) AS d FROM sales",
    "SELECT ifnull(item, 'none') AS a, if(id > 3, 'late', 'early') AS b FROM sales",
    "SELECT year(sold) AS a, month(sold) AS b, day(sold) AS c, quarter(sold) AS d, dayofweek(sold) AS e FROM sales",
    "SELECT dayname(sold) AS a, monthname(sold) AS b, last_day(sold) AS c, dayofyear(sold) AS d FROM sales",
    "SELECT date_diff('day', date '2026-01-01', sold) AS a, datediff('month', date '2025-12-31', sold) AS b,"
    " date_diff('year', date '2025-12-31', sold) AS c, date_diff('week', date '2026-01-04', sold) AS d FROM sales",
    "SELECT date_diff('hour', timestamp '2026-01-01 23:59', sold::timestamp) AS a FROM sales",
    "SELECT time_bucket(interval '10 days', sold) AS a, time_bucket(interval '2 months', sold) AS b,"
    " time_bucket(interval '36 hours', sold::timestamp) AS c FROM sales",
    "SELECT strftime(sold, '%d.%m.%Y, %H:%M, %j %A') AS a FROM sales",
    "SELECT contains(shop, 'or') AS a, ends_with(shop, 'th') AS b, len(shop) AS c, string_split(shop, 't') AS d FROM sales",
    "SELECT regexp_extract(shop, '[a-o]+') AS a, regexp_extract(shop, '(.)(th)', 1) AS b FROM sales",
    "SELECT list_contains(amounts, 3) AS a, len(amounts) AS b, list_sort(amounts) AS c, list_max(amounts) AS d FROM sales",
    "SELECT list_sum(amounts) AS a, list_unique(amounts) AS b, list_reverse(amounts) AS c FROM sales",
    "SELECT list_sort(list(id)) AS a, len(list(DISTINCT shop)) AS b FROM sales",
)
STATEMENTS = (*STARS, *CLAUSES, *PIVOTS, *FUNCTIONS)


def _fill(run: object, real: str, array: str) -> None:
    run(TABLE.format(real=real, list=array))  # type: ignore[operator]
    for row in ROWS:
        cells = [
            "NULL"
            if each is None
            else f"ARRAY{each}::int[]".replace("None", "NULL")
            if isinstance(each, list)
            else repr(each)
            for each in row
        ]
        run(f"INSERT INTO sales VALUES ({', '.join(cells)})")  # type: ignore[operator]


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, "SELECT 1") as connection:
        _fill(connection.execute, "double precision", "integer[]")
        yield connection


@pytest.fixture(scope="module")
def reference() -> Iterator[duckdb.DuckDBPyConnection]:
    """DuckDB with the same table."""
    with duckdb.connect() as connection:
        _fill(connection.execute, "double", "integer[]")
        yield connection


def _plain(value: object) -> object:
    """A value without the differences between the clients' types."""
    match value:
        case bool():
            return value
        case int() | float() | Decimal():
            return round(float(value), 9)
        case dt.datetime():
            return value.replace(tzinfo=None)
        case list() | tuple():
            return [_plain(each) for each in value]
    return value


def _rows(rows: list[tuple[object, ...]], *, ordered: bool) -> list[str]:
    shown = [repr([_plain(each) for each in row]) for row in rows]
    return shown if ordered else sorted(shown)


@pytest.mark.parametrize("sql", STATEMENTS)
def test_same_as_in_duckdb(client: psycopg.Connection, reference: duckdb.DuckDBPyConnection, sql: str) -> None:
    result = client.execute(sql)
    expected = reference.execute(sql)
    assert result.description is not None
    assert expected.description is not None
    assert [each.name for each in result.description] == [each[0] for each in expected.description]
    ordered = "ORDER BY ALL" in sql or "ORDER BY id" in sql
    assert _rows(result.fetchall(), ordered=ordered) == _rows(expected.fetchall(), ordered=ordered)


@pytest.mark.parametrize(
    "sql", ["FROM sales WHERE id = %s", "SELECT * EXCLUDE (id) FROM sales WHERE id > %s ORDER BY ALL"]
)
def test_parameters(client: psycopg.Connection, sql: str) -> None:
    plain = sql.replace("%s", "2")
    assert client.execute(sql, (2,), prepare=True).fetchall() == client.execute(plain).fetchall()


def test_a_pivot_of_found_values_is_described_before_it_runs(client: psycopg.Connection) -> None:
    sql = "PIVOT sales ON shop USING count(*) GROUP BY item ORDER BY ALL"
    prepared = client.execute(sql, prepare=True)
    assert prepared.description is not None
    assert [each.name for each in prepared.description] == ["item", "north", "south", "west"]
    assert prepared.fetchall() == client.execute(sql).fetchall()


def test_summaries(client: psycopg.Connection, reference: duckdb.DuckDBPyConnection) -> None:
    """Names, extremes, counts and shares are DuckDB's; types have PostgreSQL's names."""
    columns = "column_name, min, max, approx_unique, count, null_percentage"
    sql = f"SELECT {columns} FROM (SUMMARIZE SELECT * EXCLUDE (amounts, price) FROM sales)"
    assert _rows(client.execute(sql).fetchall(), ordered=True) == _rows(reference.execute(sql).fetchall(), ordered=True)
    numbers = "SELECT avg::double precision, std::double precision, q25, q50, q75 FROM (SUMMARIZE SELECT id FROM sales)"
    (found,), (wanted,) = client.execute(numbers).fetchall(), reference.execute(numbers).fetchall()
    assert _plain(found[:2]) == _plain(wanted[:2])
    assert found[2:] == ("2", "3", "5")
    whole = client.execute("SUMMARIZE sales")
    assert whole.description is not None
    assert [each.name for each in whole.description] == [
        each[0] for each in reference.execute("SUMMARIZE sales").description or ()
    ]
    types = client.execute("SELECT column_type FROM (SUMMARIZE sales)").fetchall()
    assert [each for (each,) in types] == ["integer", "text", "text", "double precision", "date", "integer[]"]


def test_summaries_of_infinity(client: psycopg.Connection, reference: duckdb.DuckDBPyConnection) -> None:
    """The mean of an infinite date is infinite; DuckDB's is a number's."""
    days = "SELECT unnest(ARRAY['infinity', '2020-01-01', '2020-01-01', NULL])::date AS d"
    shown = f"SELECT min, max, approx_unique, std, q25, count, null_percentage FROM (SUMMARIZE {days})"
    assert _rows(client.execute(shown).fetchall(), ordered=True) == _rows(
        reference.execute(shown).fetchall(), ordered=True
    )
    for kind in ("date", "timestamp", "timestamptz"):
        means = f"SELECT avg FROM (SUMMARIZE SELECT unnest(ARRAY['-infinity', '2020-01-01'])::{kind})"
        assert client.execute(means).fetchall() == [("-infinity",)]
    both = "SELECT avg FROM (SUMMARIZE SELECT unnest(ARRAY['-infinity', 'infinity'])::date)"
    assert client.execute(both).fetchall() == [(None,)]


def test_summaries_of_numerics_without_a_value(client: psycopg.Connection) -> None:
    """Those that DuckDB has no numeric for are counted as others are."""
    client.execute("CREATE TABLE wide (x numeric, y numeric(10, 2))")
    client.execute("INSERT INTO wide VALUES ('NaN', 'NaN'), (1, 2), (1.00, 2), ('-Infinity', NULL)")
    sql = "SELECT min, max, approx_unique, avg, count FROM (SUMMARIZE wide)"
    assert client.execute(sql).fetchall() == [("-Infinity", "NaN", 3, "NaN", 4), ("2.00", "NaN", 2, "NaN", 4)]
    client.execute("DROP TABLE wide")


def test_nothing_is_summarized(client: psycopg.Connection) -> None:
    assert client.execute("SUMMARIZE SELECT FROM sales").fetchall() == []


def test_descriptions(client: psycopg.Connection, reference: duckdb.DuckDBPyConnection) -> None:
    columns = "SELECT * EXCLUDE (column_type) FROM (DESCRIBE SELECT * FROM sales)"
    assert client.execute(columns).fetchall() == reference.execute(columns).fetchall()
    assert client.execute("DESCRIBE sales").fetchall()[3][:2] == ("price", "double precision")
    assert client.execute("SHOW TABLES").fetchall() == reference.execute("SHOW TABLES").fetchall()

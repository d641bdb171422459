"""Equality of matrices on every engine: by the type's operator, never by bytes; refused where it must sort or hash."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.support.lab import ENGINES, client_of_engine

SETUP = """
CREATE TABLE held (id int, m matrix);
INSERT INTO held VALUES (1, '{{0,1}}'), (2, '{{-0,1}}'), (3, 'int4={{0,1}}'), (4, '{{2}}'), (5, NULL), (6, '{{NaN}}');
CREATE TABLE other (m matrix, x int);
INSERT INTO other VALUES ('float4={{-0,1}}', 1), ('int8={{2}}', 2);
CREATE DOMAIN square AS matrix;
"""


@pytest.fixture(scope="module", params=ENGINES)
def client(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """A client of a server with one of the engines."""
    with client_of_engine(request.param, SETUP) as connection:
        yield connection


CONDITIONS = {
    "m IS DISTINCT FROM '{{0,1}}'": [4, 5, 6],
    "m IS NOT DISTINCT FROM '{{0,1}}'": [1, 2, 3],
    "m IS NOT DISTINCT FROM nullif(m, m)": [5],
    "m IS DISTINCT FROM NULL": [1, 2, 3, 4, 6],
    "(m, 1) IS NOT DISTINCT FROM ('{{0,1}}'::matrix, 1)": [1, 2, 3],
    "m IS NOT DISTINCT FROM (SELECT m FROM other WHERE x = 1)": [1, 2, 3],
    "EXISTS (SELECT FROM other WHERE other.m IS NOT DISTINCT FROM held.m)": [1, 2, 3, 4],
    "(SELECT array_matrix(x) FROM other) IS NOT DISTINCT FROM '{{1},{2}}'::matrix AND id < 3": [1, 2],
    "m::square IS NOT DISTINCT FROM '{{0,1}}'": [1, 2, 3],
    "m IN ('{{0,1}}', '{{2}}')": [1, 2, 3, 4],
    "m IN ('{{0,1}}')": [1, 2, 3],
    "m::square IN ('{{0,1}}', '{{2}}')": [1, 2, 3, 4],
    "m NOT IN ('{{0,1}}', '{{2}}')": [6],
    "m NOT IN ('{{0,1}}', NULL)": [],
    "m = ANY (ARRAY['{{0,1}}'::matrix, '{{2}}'])": [1, 2, 3, 4],
    "m <> ALL (ARRAY['{{0,1}}'::matrix, '{{2}}'])": [6],
    "m = ANY ('{\"{{0,1}}\"}'::matrix[])": [1, 2, 3],
    "m IN (SELECT m FROM other)": [1, 2, 3, 4],
    "m NOT IN (SELECT m FROM other)": [6],
    "m NOT IN (SELECT m FROM other WHERE x > 2)": [1, 2, 3, 4, 5, 6],
    "m NOT IN (SELECT m FROM other UNION ALL SELECT NULL)": [],
    "m IN (SELECT m FROM other WHERE x = id)": [1],
    "m = ANY (SELECT m FROM other)": [1, 2, 3, 4],
    "m <> ALL (SELECT m FROM other)": [6],
    "EXISTS (SELECT FROM other WHERE other.m = held.m)": [1, 2, 3, 4],
    "nullif(m, '{{0,1}}') IS NULL": [1, 2, 3, 5],
    "CASE m WHEN '{{0,1}}' THEN 1 WHEN '{{2}}' THEN 2 END = 1": [1, 2, 3],
    "ROW(m, id) = ROW('{{0,1}}'::matrix, id)": [1, 2, 3],
    "(m, id) IN (('{{0,1}}', 2), ('{{2}}', 4))": [2, 4],
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_compare_by_the_operator(client: psycopg.Connection, condition: str) -> None:
    found = client.execute(f"SELECT id FROM held WHERE {condition} ORDER BY id").fetchall()
    assert [number for (number,) in found] == CONDITIONS[condition]


@pytest.mark.parametrize(
    ("join", "unmatched"),
    [
        ("JOIN other ON held.m = other.m", []),
        ("JOIN other USING (m)", []),
        ("NATURAL JOIN other", []),
        ("JOIN other ON held.m IS NOT DISTINCT FROM other.m", []),
        ("LEFT JOIN other ON held.m = other.m", [(5, None), (6, None)]),
        ("FULL JOIN other ON held.m = other.m", [(5, None), (6, None)]),
    ],
)
def test_joins_compare_by_the_operator(
    client: psycopg.Connection, join: str, unmatched: list[tuple[int, int | None]]
) -> None:
    found = client.execute(f"SELECT id, x FROM held {join} ORDER BY id").fetchall()
    assert found == [(1, 1), (2, 1), (3, 1), (4, 2), *unmatched]


def test_a_changing_value_is_compared_once(client: psycopg.Connection) -> None:
    drawn = "matrix_fill(1, 1, (random() < 0.5)::int)"
    sql = f"SELECT count(*) FROM generate_series(1, 400) WHERE {drawn} NOT IN ('{{{{0}}}}', '{{{{1}}}}')"
    assert client.execute(sql).fetchall() == [(0,)]


def test_groups_and_checks_compare_by_the_operator(client: psycopg.Connection) -> None:
    sql = (
        "SELECT x, array_matrix(x) IS DISTINCT FROM '{{1}}', array_matrix(x) IN ('int8={{2}}', '{{3}}') FROM other"
        " GROUP BY x HAVING array_matrix(x) IS DISTINCT FROM '{{7}}' ORDER BY x"
    )
    assert client.execute(sql).fetchall() == [(1, False, False), (2, True, True)]
    client.execute("CREATE TABLE checked (m matrix CHECK (m IS DISTINCT FROM '{{0}}' AND m NOT IN ('{{1}}', '{{2}}')))")
    for text in ("{{-0}}", "int4={{2}}"):
        with pytest.raises(psycopg.errors.CheckViolation):
            client.execute("INSERT INTO checked VALUES (%s)", [text])
    client.execute("INSERT INTO checked VALUES ('{{3}}'), (NULL)")
    client.execute("UPDATE checked SET m = '{{4}}' WHERE m IS NOT DISTINCT FROM 'int4={{3}}'")
    assert client.execute("DELETE FROM checked WHERE m IN ('int8={{4}}', '{{5}}')").rowcount == 1
    client.execute("DROP TABLE checked")
    same = "boolean GENERATED ALWAYS AS (m IS NOT DISTINCT FROM '{{0}}') STORED"
    client.execute(f"CREATE TABLE generated (id int, m matrix, same {same})")
    client.execute("INSERT INTO generated VALUES (1, 'int4={{0}}'), (2, '{{1}}')")
    assert client.execute("SELECT same FROM generated ORDER BY id").fetchall() == [(True,), (False,)]
    client.execute("DROP TABLE generated")


REFUSED = {
    "SELECT greatest(m, m) FROM held": "42883",
    "SELECT least(ARRAY[m]) FROM held": "42883",
    "SELECT ARRAY[m] = ARRAY[m] FROM held": "42883",
    "SELECT ARRAY[m] < ARRAY[m] FROM held": "42883",
    "SELECT ARRAY[m] IS DISTINCT FROM ARRAY[m] FROM held": "42883",
    "SELECT ARRAY[m] IN (ARRAY[m]) FROM held": "42883",
    "SELECT ARRAY[m] IN (SELECT ARRAY[m] FROM other) FROM held": "42883",
    "SELECT ARRAY[m] @> ARRAY[m] FROM held": "42883",
    "SELECT array_position(ARRAY[m], m) FROM held": "42883",
    "SELECT array_remove(ARRAY[m], m) FROM held": "42883",
    "SELECT held = held FROM held": "42883",
    "SELECT held < held FROM held": "42883",
    "SELECT held IS DISTINCT FROM held FROM held": "42883",
    "SELECT held IN (SELECT h FROM held AS h) FROM held": "42883",
    "SELECT (m, id) IN (SELECT m, x FROM other) FROM held": "0A000",
    "SELECT (m, id) < ('{{1}}', 1) FROM held": "42883",
    "SELECT m FROM held ORDER BY ARRAY[m]": "42883",
    "SELECT DISTINCT ON (m) id FROM held": "42883",
    "SELECT m FROM held INTERSECT SELECT m FROM other": "42883",
    "SELECT m FROM held EXCEPT ALL SELECT m FROM other": "42883",
    "WITH RECURSIVE r AS (SELECT m FROM held UNION SELECT m FROM r) SELECT m FROM r": "42883",
    "SELECT rank() OVER (PARTITION BY m) FROM held": "42883",
    "SELECT count(DISTINCT (m, id)) FROM held": "42883",
    "SELECT count(DISTINCT ARRAY[m]) FROM held": "42883",
    "CREATE TABLE keyed (m matrix UNIQUE)": "42704",
    "CREATE TABLE keyed (id int, m matrix, PRIMARY KEY (id, m))": "42704",
    "CREATE TABLE keyed (m square UNIQUE)": "42704",
    "CREATE TABLE keyed (m matrix[] UNIQUE)": "42704",
    "ALTER TABLE held ADD UNIQUE (m)": "42704",
    "CREATE UNIQUE INDEX ON held (m)": "42704",
    "CREATE INDEX ON held (id, m)": "42704",
    "CREATE INDEX ON held USING hash (m)": "42704",
    "INSERT INTO held VALUES (1, '{{1}}') ON CONFLICT (m) DO NOTHING": "42P10",
    "CREATE TABLE parted (m matrix) PARTITION BY HASH (m)": "0A000",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_sorts_or_hashes_is_refused(client: psycopg.Connection, sql: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        client.execute(sql)
    assert caught.value.sqlstate == REFUSED[sql], caught.value


def test_arrays_of_json_have_no_equality(client: psycopg.Connection) -> None:
    for sql in ("SELECT ARRAY['1'::json] = ARRAY['1'::json]", "SELECT greatest('1'::json, '2')"):
        with pytest.raises(psycopg.errors.UndefinedFunction, match="for type json"):
            client.execute(sql)

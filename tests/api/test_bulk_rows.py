"""Rows of a gpudb server, which come as columns of Arrow, beside the same rows as text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

import gpudb
from gpudb.api import Connection
from gpudb.api.placeholders import restore_position
from gpudb.api.remote import RemoteBackend
from gpudb.api.statement_facts import find_query
from gpudb.errors import GpudbError
from tests.support.connection_urls import to_url

VALUES = [
    "1::int2, 2::int4, 3::int8, NULL::int4",
    "1.5::float4, 0.1::float8, 'NaN'::float8, '-Infinity'::float4, 1e-320::float8",
    "1.50::numeric, 1.5::numeric(10, 3), NULL::numeric, 'NaN'::numeric, 1e50::numeric, 0.00::numeric",
    "true, false, NULL::bool",
    "'a'::text, 'b'::varchar(3), 'c'::char(4), 'd'::name, 'e'::\"char\", '\\x00ff'::bytea, ''::text",
    "date '2024-02-29', date 'infinity', date '0044-03-15 BC', time '12:34:56.789', timetz '12:34:56+02'",
    "timestamp '2024-02-29 12:34:56.789', timestamp '-infinity', timestamptz '2024-02-29 12:00:00+02'",
    "interval '1 month 2 days 03:04:05.678', interval '-1 year'",
    "'00000000-0000-0000-0000-000000000001'::uuid, '{\"a\": [1, null]}'::json, '{\"b\": 2}'::jsonb",
    "ARRAY[1, NULL, 3], ARRAY['a', NULL], ARRAY[[1, 2], [3, 4]], ARRAY[1.5, 2.25], '{}'::int4[], ARRAY[date '2024-01-01']",
    "'{a,\"b c\",NULL}'::varchar[], '{1.5,NULL}'::numeric[], ARRAY['[1,2]'::int4range], ARRAY[interval '1 day'], '{t}'::bool[]",
    "'[1,5)'::int4range, 'empty'::int4range, '{[1,2],[4,5]}'::int4multirange, '[1.5,2]'::numrange",
    "'10.00'::money, '10.0.0.1/24'::inet, '10.0.0.0/8'::cidr, B'101', '08:00:2b:01:02:03'::macaddr",
    "'(1,2)'::point, '[1,2,3]'::vector, ROW(1, 'a'), 1::oid, 'pg_class'::regclass",
]
ODD = [
    "SELECT 1 AS a, 2 AS a -- a comment",
    "  /* before */ SELECT 1 AS a;  -- after",
    "VALUES (1, 'a'), (2, NULL)",
    "WITH x AS (SELECT 1 AS n) SELECT n FROM x WHERE false",
    "SELECT n, n::numeric / 3 AS q, NULLIF(n % 3, 0) AS m FROM generate_series(1, 1000) AS g(n)",
    "SELECT FROM generate_series(1, 3)",
    "SHOW server_version",
    "SELECT current_setting('TimeZone'), pg_typeof(1.5), NULL",
    "SELECT relname, relkind, reltuples FROM pg_class WHERE relname = 'pg_type'",
]
PARAMETERS = [
    5, -3, 2**40, 1.5, True, None, "it's $1", Decimal("1.50"), b"\x00\xff", date(2024, 2, 29), datetime(2024, 2, 29, 1, 2),
    datetime(2024, 2, 29, 1, 2, tzinfo=timezone(timedelta(hours=2))), timedelta(days=1), UUID(int=1), [1, 2, None], ["a"],
    {"a": 1},
]  # fmt: skip


@pytest.fixture
def both(gpudb_server: str) -> Iterator[tuple[Connection, Connection]]:
    """Two connections to a server: one takes columns, the other text."""
    with gpudb.connect(to_url(gpudb_server)) as columns, gpudb.connect(to_url(gpudb_server)) as texts:
        assert isinstance(texts._backend, RemoteBackend)
        texts._backend._is_gpudb = False
        yield columns, texts


@pytest.mark.parametrize("query", [*(f"SELECT {each}" for each in VALUES), *ODD])
def test_values_are_the_same_as_of_text(both: tuple[Connection, Connection], query: str) -> None:
    columns, texts = (connection.execute(query) for connection in both)
    assert repr(columns.fetchall()) == repr(texts.fetchall())
    assert columns.tag == texts.tag
    assert columns.columns == texts.columns
    assert [str(kind) for kind in columns.types] == [str(kind) for kind in texts.types]
    assert str(columns) == str(texts)
    assert columns._repr_html_() == texts._repr_html_()


def test_arrays_of_several_dimensions(any_db: Connection) -> None:
    rows = any_db.execute(
        "SELECT ARRAY[[1, 2], [3, NULL]] AS i, ARRAY[[1.5], [2.25]] AS n, ARRAY[[['a']]] AS t, '{}'::int[] AS e"
    )
    assert rows.fetchall() == [([[1, 2], [3, None]], [[Decimal("1.5")], [Decimal("2.25")]], [[["a"]]], [])]
    assert rows.arrow().to_pylist()[0]["i"] == [[1, 2], [3, None]]
    assert [str(kind) for kind in rows.types] == ["integer[]", "numeric[]", "text[]", "integer[]"]


@pytest.mark.parametrize("value", PARAMETERS, ids=repr)
def test_parameters_are_the_same_as_of_text(both: tuple[Connection, Connection], value: object) -> None:
    columns, texts = (connection.execute("SELECT $1 AS a, $2::text AS b", [value, "x"]) for connection in both)
    assert repr(columns.fetchall()) == repr(texts.fetchall())


def test_only_what_copy_sends_is_sent_so(gpudb_server: str) -> None:
    with gpudb.connect(to_url(gpudb_server)) as db:
        db.execute("CREATE TEMPORARY TABLE locked (a int)")
        db.execute("INSERT INTO locked VALUES (1), (2)")
        with db.transaction():
            assert db.execute("SELECT a FROM locked WHERE a = 1 FOR UPDATE").fetchall() == [(1,)]
        changed = db.execute("WITH x AS (UPDATE locked SET a = a + 10 RETURNING a) SELECT a FROM x ORDER BY a")
        assert changed.fetchall() == [(11,), (12,)]
        assert db.execute("SELECT a INTO TEMPORARY made FROM locked").tag == "SELECT 2"
        with pytest.raises(GpudbError) as caught:
            db.execute("SELECT $1::int")
        assert caught.value.sqlstate == "42P02"
        with pytest.raises(GpudbError) as caught:
            db.execute("SELECT $1, $2::text,\n missing", ["a long text", None])
        assert "LINE 2:  missing\n         ^" in str(caught.value)


def test_positions_beside_parameters() -> None:
    query, values = "SELECT $1, '$1', $2 + x", [1, "abc"]
    inserted = "SELECT (CAST('1' AS integer)), '$1', ('abc') + x"
    found = find_query(query)
    assert found is not None
    assert restore_position(found.places, values, inserted.index("SELECT") + 1) == 1
    assert restore_position(found.places, values, inserted.index("integer") + 1) == query.index("$1") + 1
    assert restore_position(found.places, values, inserted.index("abc") + 1) == query.index("$2") + 1
    assert restore_position(found.places, values, inserted.index("x") + 1) == query.index("x") + 1


@pytest.mark.parametrize(
    ("sql", "is_bulk", "is_repeatable"),
    [
        ("SELECT count(*), lower(a) FROM t", True, True),
        ("TABLE t", True, True),
        ("SELECT nextval('s')", True, False),
        ("SELECT * FROM (SELECT random()) AS r", True, False),
        ("SELECT own(1)", True, False),
        ("SELECT public.lower('a')", True, False),
        ("SELECT pg_catalog.lower('a')", True, True),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (10)", True, False),
        ("SELECT a FROM t TABLESAMPLE BERNOULLI (10) REPEATABLE (1)", True, True),
        ("SELECT 1 FROM t FOR SHARE", False, False),
        ("WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x", False, False),
        ("SELECT", False, False),
    ],
)
def test_facts_of_queries(sql: str, is_bulk: bool, is_repeatable: bool) -> None:
    query = find_query(sql)
    assert query is not None
    assert (query.is_bulk, query.is_repeatable) == (is_bulk, is_repeatable)


@pytest.mark.parametrize(
    "sql",
    ["INSERT INTO t SELECT 1", "SELECT 1; SELECT 2", "SELECT 1 INTO t", "SELEC", "", "SHOW x", "SELECT gpudb_pin('t')"],
)
def test_what_is_no_query(sql: str) -> None:
    assert find_query(sql) is None

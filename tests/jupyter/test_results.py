"""Results that may not run again: charts and relations around them read the rows that are here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import gpudb
from gpudb.api.connection import Connection
from gpudb.errors import GpudbError
from gpudb.jupyter.result import Result
from tests.support.connection_urls import to_url

COUNTED = """
SELECT nextval('drawn') AS n, random() AS r, '{"a": 1}'::jsonb AS j, 1.50::numeric(4, 2) AS q, int4range(1, 4) AS i
FROM generate_series(1, $1) AS g(n)"""


@pytest.fixture(params=["embedded", "server"])
def db(request: pytest.FixtureRequest) -> Iterator[Connection]:
    url = ":memory:" if request.param == "embedded" else to_url(request.getfixturevalue("gpudb_server"))
    with gpudb.connect(url) as connection:
        connection.execute("CREATE TEMPORARY SEQUENCE drawn")
        yield connection


def test_what_is_around_kept_rows_does_not_run_the_statement_again(db: Connection) -> None:
    result = Result.run(db, COUNTED, (10,), {})
    (rows,) = result.plot.hist("n", bins=3).to_dict()["datasets"].values()
    assert [(row["start"], row["end"], row["rows"]) for row in rows] == [(1, 4, 3), (4, 7, 3), (7, 10, 4)]
    assert result.filter("n > 8")["r"].fetchall() == [(row[1],) for row in result.fetchall()[8:]]
    assert result.select("j ->> 'a'", "q", "upper(i)").limit(1).fetchall() == [("1", result.fetchall()[0][3], 4)]
    assert [str(each) for each in result.filter("true").types] == [str(each) for each in result.types]
    assert result.describe().filter("\"column\" = 'n'").select("min", "max").fetchall() == [("1", "10")]
    assert result.derive(lambda text, params: f"SELECT sum(n), {len(params)} FROM ({text}) AS t").fetchall() == [
        (55, 0)
    ]
    joined = result[["n", "r"]].asof_join(result[["n", "q"]], "n")
    assert [row[0] for row in joined.order("n").fetchall()] == list(range(1, 11))
    assert db.sql("SELECT nextval('drawn')").fetchall() == [(11,)]
    assert db.sql("SELECT count(*) FROM pg_class WHERE relname LIKE 'gpudb_result%'").fetchall() == [(0,)]


def test_kept_rows_that_are_no_table_are_refused(db: Connection) -> None:
    twice = Result.run(db, "SELECT nextval('drawn') AS n, 2 AS n", (), {})
    with pytest.raises(GpudbError) as caught:
        twice.filter("true").fetchall()
    assert caught.value.sqlstate == "42701"
    with pytest.raises(GpudbError) as caught:
        Result.run(db, "SHOW timezone", (), {}).filter("true")
    assert caught.value.sqlstate == "0A000"
    assert db.sql("SELECT nextval('drawn')").fetchall() == [(2,)]


def test_a_sample_is_drawn_once(db: Connection) -> None:
    db.execute("CREATE TEMPORARY TABLE sampled AS SELECT n FROM generate_series(1, 20000) AS g(n)")
    result = Result.run(db, "SELECT n FROM sampled TABLESAMPLE BERNOULLI (80)", (), {})
    number = len(result.fetchall())
    assert 15_000 < number < 17_000
    assert result.select("count(*)", "sum(n)").fetchall() == [(number, sum(n for (n,) in result.fetchall()))]

"""TPC-H, TPC-DS, SSB and the taxi rides: loaded by COPY into both servers, queried and compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from tests.support import benchmark_tables
from tests.support.oracle.compare import assert_same
from tests.support.oracle.server import Oracle
from tests.support.oracle.wire import Outcome, WireClient

BENCHMARKS = ("tpch", "tpcds", "ssb", "taxi")

TPCDS_SAYING = 60
"""TPC-DS queries that return rows at this scale: their constants are chosen for a hundred times the rows."""

_QUERIES = [query for benchmark in BENCHMARKS for query in benchmark_tables.queries(benchmark)]

Both = tuple[WireClient, WireClient]


def _ordered_values(outcome: Outcome, query: benchmark_tables.Query) -> list[tuple[str | None, ...]]:
    names = takewhile(lambda name: outcome.columns.count(name) == 1, query.order_columns)
    places = [outcome.columns.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in outcome.rows]


def _loaded(dsn: str, benchmark: str, folder: Path) -> WireClient:
    client = WireClient(dsn, benchmark_tables.LOAD_TIMEOUT_S)
    benchmark_tables.create_tables(client, benchmark)
    for table, chunks in benchmark_tables.contents(benchmark, folder):
        benchmark_tables.load(client, table, chunks)
    return client


@pytest.fixture(scope="module")
def oracle_session(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], WireClient]:
    """PostgreSQL with a benchmark's tables, each loaded once."""

    @cache
    def session(benchmark: str) -> WireClient:
        client = _loaded(oracle.dsn, benchmark, tmp_path_factory.mktemp(benchmark))
        if benchmark == "tpch":  # without it the twentieth query takes half a minute
            assert not client.execute("CREATE INDEX ON lineitem (l_partkey, l_suppkey)").failed
        assert not client.execute("ANALYZE").failed
        return client

    return session


@pytest.fixture(scope="module")
def gpudb_session(gpudb_server: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], WireClient]:
    """gpudb with a benchmark's tables, each loaded once."""

    @cache
    def session(benchmark: str) -> WireClient:
        return _loaded(gpudb_server, benchmark, tmp_path_factory.mktemp(benchmark))

    return session


def test_every_query_is_there() -> None:
    assert {name: len(benchmark_tables.queries(name)) for name in BENCHMARKS} == {
        "tpch": 22, "tpcds": 99, "ssb": 13, "taxi": 4,
    }  # fmt: skip


_SAYING = [query for query in _QUERIES if query.benchmark != "tpcds"]


@pytest.mark.parametrize("query", _SAYING, ids=[f"{query.benchmark}-{query.name}" for query in _SAYING])
def test_query_says_something(query: benchmark_tables.Query, oracle_session: Callable[[str], WireClient]) -> None:
    """The query returns rows on PostgreSQL; otherwise a comparison would prove nothing."""
    outcome = oracle_session(query.benchmark).execute(query.sql)
    assert not outcome.failed, outcome.message
    assert outcome.rows


def test_most_of_tpcds_says_something(oracle_session: Callable[[str], WireClient]) -> None:
    """As above, for the queries that return rows at this scale; the long suite compares all of them at scale 1."""
    saying = 0
    for query in benchmark_tables.queries("tpcds"):
        outcome = oracle_session("tpcds").execute(query.sql)
        assert not outcome.failed, f"{query.name}: {outcome.message}"
        saying += any(value not in {None, "0"} for row in outcome.rows for value in row)
    assert saying >= TPCDS_SAYING


@pytest.mark.parametrize("query", _QUERIES, ids=[f"{query.benchmark}-{query.name}" for query in _QUERIES])
def test_same_as_postgresql(
    query: benchmark_tables.Query,
    oracle_session: Callable[[str], WireClient],
    gpudb_session: Callable[[str], WireClient],
) -> None:
    """Both return the same rows, names and types; numerics agree to the last digit."""
    expected = oracle_session(query.benchmark).execute(query.sql)
    actual = gpudb_session(query.benchmark).execute(query.sql)
    assert_same(expected, actual, ordered=False)
    # Rows that tie in the query's order may come in either order, so only the sort columns are compared in order.
    assert _ordered_values(expected, query) == _ordered_values(actual, query)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_same_tables(
    benchmark: str, oracle_session: Callable[[str], WireClient], gpudb_session: Callable[[str], WireClient]
) -> None:
    """COPY loads every row and value: the text of the whole table agrees."""
    table = {"tpch": "lineitem", "tpcds": "customer", "ssb": "customer", "taxi": "trips"}[benchmark]
    for sql in (
        f"SELECT count(*) FROM {table}",
        f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4 LIMIT 500",
    ):
        expected = oracle_session(benchmark).execute(sql)
        assert_same(expected, gpudb_session(benchmark).execute(sql), ordered=True)

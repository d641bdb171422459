"""ibis on gpudb's server and on PostgreSQL: the same expressions give the same frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import psycopg
import pytest

from tests.support.connection_urls import to_url
from tests.support.oracle.server import Oracle

ibis = pytest.importorskip("ibis")

MAKE = """
CREATE TABLE ibis_rides (
    id bigint PRIMARY KEY, cab text, miles numeric(6, 2), started timestamp, is_paid boolean, fare double precision,
    stops text[], finished date
);
INSERT INTO ibis_rides
SELECT i, 'cab ' || i % 3, i / 10.0, timestamp '2026-01-01' + i * interval '1 hour', i % 2 = 0,
       CASE WHEN i % 7 > 0 THEN i * 1.5 END, ARRAY['a', 'b' || i], date '2026-01-01' + i
FROM generate_series(1, 100) AS i;
"""


@pytest.fixture(scope="module")
def backends(gpudb_server: str, oracle: Oracle) -> Iterator[tuple[Any, Any]]:
    """ibis on gpudb and on PostgreSQL, with the same table."""
    urls = [to_url(gpudb_server), to_url(oracle.dsn)]
    connected = []
    for url in urls:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(MAKE)
        connected.append(ibis.connect(url))
    yield connected[0], connected[1]
    for url, backend in zip(urls, connected, strict=True):
        backend.disconnect()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP TABLE ibis_rides")


def compute(backend: Any, expression: Callable[[Any, Any], Any]) -> Any:
    """The value of an expression over the table."""
    value = expression(backend.table("ibis_rides"), backend)
    return value.execute() if hasattr(value, "execute") else value


EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "schema": lambda t, b: str(t.schema()),
    "filter": lambda t, b: t.filter((t.miles > 5) & t.fare.notnull()).order_by("id"),
    "groups": lambda t, b: (
        t.group_by("cab")
        .agg(n=t.count(), miles=t.miles.sum(), fare=t.fare.mean(), last=t.started.max(), cabs=t.cab.nunique())
        .order_by("cab")
    ),
    "windows": lambda t, b: t.mutate(
        rank=ibis.row_number().over(group_by="cab", order_by=ibis.desc("miles")),
        before=t.fare.lag().over(order_by="id"),
        running=t.miles.sum().over(ibis.window(order_by="id", preceding=2, following=0)),
    ).order_by("id"),
    "join": lambda t, b: (
        t.join(ibis.memtable({"cab": ["cab 1", "cab 2"], "name": ["one", "two"]}), "cab")
        .select("id", "name")
        .order_by("id")
    ),
    "dates": lambda t, b: (
        t.group_by(day=t.started.truncate("D"), hour=t.started.hour() % 6).agg(n=t.count()).order_by("day", "hour")
    ),
    "text": lambda t, b: (
        t.select(a=t.cab.upper(), b=t.cab.length(), c=t.cab.re_search("1$"), d=t.cab.replace("cab", "taxi"))
        .order_by("a")
        .limit(3)
    ),
    "cases": lambda t, b: t.select(
        "id", size=ibis.cases((t.miles < 3, "short"), (t.miles < 7, "middle"), else_="long")
    ).order_by("id"),
    "quantile": lambda t, b: t.fare.quantile(0.25),
    "deviation": lambda t, b: round(compute_scalar(t.fare.std()), 9),
    "arrays": lambda t, b: t.select("id", n=t.stops.length(), last=t.stops[1]).order_by("id"),
    "unnested": lambda t, b: t.select("id", stop=t.stops.unnest()).order_by("id", "stop"),
    "described": lambda t, b: t.select("id", "miles", "fare").describe().order_by("pos"),
    "tables": lambda t, b: "ibis_rides" in b.list_tables(),
    "names": lambda t, b: (b.current_catalog is not None, b.current_database, "public" in b.list_databases()),
    "arrow": lambda t, b: t.order_by("id").limit(3).to_pyarrow().to_pylist(),
    "polars": lambda t, b: t.order_by("id").limit(3).to_polars().to_dicts(),
}


def compute_scalar(expression: Any) -> float:
    """The value of a scalar expression."""
    return float(expression.execute())


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_gives_what_postgresql_gives(backends: tuple[Any, Any], name: str) -> None:
    ours, theirs = (compute(backend, EXPRESSIONS[name]) for backend in backends)
    if isinstance(theirs, pd.DataFrame):
        pd.testing.assert_frame_equal(ours, theirs)
        assert len(theirs) > 0
    else:
        assert ours == theirs


def test_tables_and_views_are_made_and_filled(backends: tuple[Any, Any]) -> None:
    for backend in backends:
        rides = backend.table("ibis_rides")
        assert backend.create_table("ibis_paid", rides.filter(rides.is_paid)).count().execute() == 50
        made = backend.create_table("ibis_frame", pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
        backend.insert("ibis_frame", pd.DataFrame({"a": [3], "b": ["y"]}))
        assert made.order_by("a").to_pyarrow().to_pylist() == [
            {"a": 1, "b": "x"},
            {"a": 2, "b": None},
            {"a": 3, "b": "y"},
        ]
        assert backend.create_view("ibis_view", rides.select("id", "cab")).count().execute() == 100
        for statement in ("DROP VIEW ibis_view", "DROP TABLE ibis_frame", "DROP TABLE ibis_paid"):
            backend.raw_sql(statement).close()

"""Tables and statements that reach every kind of stage, for fault tests."""

from __future__ import annotations

from gpudb.session.database import Database
from gpudb.session.session import Session
from tests.support.sessions import run

ROWS = 72_000

STATEMENTS = {
    "hash": "SELECT k, count(*), sum(price) FROM orders GROUP BY k ORDER BY k",
    "broadcast": "SELECT label, count(*) FROM orders JOIN kinds USING (k) GROUP BY label ORDER BY label",
    "gather": "SELECT max(id), count(*) FROM orders WHERE k > 1",
    "stay": "WITH t AS MATERIALIZED (SELECT k, sum(id) AS s FROM orders GROUP BY k)"
    " SELECT a.k, a.s FROM t a JOIN t b ON a.s = b.s ORDER BY a.k",
    "result": "SELECT id, k, price, name FROM orders WHERE id > 0",
}
"""A statement for each kind of stage; the last one's rows are fetched in chunks."""


def cluster_of(database: Database):  # type: ignore[no-untyped-def]
    return database.engine._cluster._cluster  # type: ignore[attr-defined]


def fill(session: Session) -> None:
    """The tables of STATEMENTS."""
    run(
        session,
        "CREATE TABLE orders AS SELECT i AS id, i % 7 AS k, (i % 100) / 4.0::numeric(10,2) AS price,"
        f" 'a rather long name, number ' || i % 1000 AS name FROM generate_series(1, {ROWS}) i",
    )
    run(session, "CREATE TABLE kinds AS SELECT i AS k, 'kind ' || i AS label FROM generate_series(0, 5) i")

"""Estimated cost of statements: moments, short or long, and the bytes that they hold."""

from __future__ import annotations

import pytest

from gpudb.engine.admission import Cost
from gpudb.engine.cpu.cost import COST, estimate_cost
from tests.support.lab import Lab

SERIES = "generate_series(1, {})".format
THREADS = 2


@pytest.fixture(scope="module", autouse=True)
def tables(lab: Lab) -> None:
    lab.run("CREATE TABLE small AS SELECT g AS a, g % 7 AS b, 'x' || g AS c FROM generate_series(1, 3000) g")
    lab.run("CREATE TABLE other AS SELECT * FROM small")


def cost(lab: Lab, sql: str, parameters: tuple[object, ...] = ()) -> Cost:
    return estimate_cost(lab.request(sql, parameters), THREADS)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM small WHERE a > 5",
        "SELECT b, count(*) FROM small GROUP BY b ORDER BY b",
        "SELECT * FROM small JOIN other USING (a) ORDER BY small.c",
        "SELECT * FROM small, other WHERE small.a = other.a AND other.b = 3",
        "SELECT a FROM small WHERE EXISTS (SELECT 1 FROM other WHERE other.a = small.a)",
        "SELECT x FROM small, LATERAL (SELECT max(other.a) x FROM other WHERE other.b = small.b) t",
        "VALUES (1), (2)",
        "WITH w AS (SELECT * FROM small) SELECT * FROM w UNION SELECT * FROM other",
    ],
)
def test_over_few_rows_it_is_moments(lab: Lab, sql: str) -> None:
    assert cost(lab, sql).seconds < 0.01
    assert cost(lab, sql).bytes < 1 << 20


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT x FROM {SERIES(5_000_000)} g(x) ORDER BY -x",
        f"SELECT x % 1000000, count(*) FROM {SERIES(10_000_000)} g(x) GROUP BY 1",
        f"SELECT count(*) FROM {SERIES(4_000_000)} a(x) JOIN {SERIES(4_000_000)} b(x) USING (x)",
        f"SELECT count(*) FROM {SERIES(100_000)} a(x), {SERIES(100_000)} b(y) WHERE (x * y) % 7 = 3",
        f"SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY x) r FROM {SERIES(5_000_000)} g(x)) t",
        f"SELECT DISTINCT x FROM {SERIES(5_000_000)} g(x)",
        f"SELECT count(DISTINCT x) FROM {SERIES(5_000_000)} g(x)",
        f"SELECT a FROM small UNION SELECT x FROM {SERIES(5_000_000)} g(x)",
        "SELECT count(*) FROM small s1, small s2, small s3",
        f"SELECT a FROM small WHERE a IN (SELECT count(*) FROM {SERIES(20_000_000)} g(x) GROUP BY x)",
    ],
)
def test_over_many_rows_it_is_long(lab: Lab, sql: str) -> None:
    assert not cost(lab, sql).short


def test_what_passes_by_is_not_held(lab: Lab) -> None:
    assert cost(lab, f"SELECT sum(x) FROM {SERIES(100_000_000)} g(x)").bytes == 0
    top, whole = (cost(lab, f"SELECT x FROM {SERIES(5_000_000)} g(x) ORDER BY -x{end}") for end in (" LIMIT 10", ""))
    assert top.bytes < 1000 < whole.bytes
    wide, narrow = (cost(lab, f"SELECT {of} FROM small ORDER BY a").bytes for of in ("a, b, c", "a"))
    assert wide > narrow > 0


def test_parameters_and_frames_count_for_each_run(lab: Lab) -> None:
    sql = "SELECT x FROM generate_series(1, $1::int) g(x) ORDER BY -x"
    few, many = cost(lab, sql, (10,)), cost(lab, sql, (10_000_000,))
    assert few.bytes < 10_000 < many.bytes
    request = lab.request(sql, (10,))
    estimate_cost(request, THREADS)
    assert request.query.prepared.get(COST) is None
    fixed = lab.request("SELECT count(*) FROM small")
    assert fixed.query.prepared.get(COST) is None
    assert estimate_cost(fixed, THREADS) == fixed.query.prepared.get(COST)

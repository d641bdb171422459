"""group_before_joins: the right side of a left join is grouped first where each group is one row of the left side."""

from __future__ import annotations

import sys

import pytest

from gpudb.plan.optimize import group_before_joins as rule
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "counted before": (
        "SELECT a.a, count(f.v), min(f.d) FROM dim_a a LEFT JOIN facts f ON f.a = a.a AND f.b > 3 GROUP BY a.a",
        """
        project a, CHOICE, min
          left join a = a
            dim_a(a)
            aggregate by a
              project a, v, d
                facts(a, b, v, d) where int4gt(b, '3')
        """,
    ),
    "not without a key": (
        "SELECT a.b, count(f.v) FROM dim_a a LEFT JOIN facts f ON f.a = a.a GROUP BY a.b",
        """
        aggregate by b
          left join a = a
            dim_a(a, b)
            facts(a, v)
        """,
    ),
    "not what may fail": (
        "SELECT a.a, count(10 / f.b) FROM dim_a a LEFT JOIN facts f ON f.a = a.a GROUP BY a.a",
        """
        aggregate by a
          left join a = a
            dim_a(a)
            facts(a, b)
        """,
    ),
    "not what NULLs give a value": (
        "SELECT a.a, count(coalesce(f.b, 1)) FROM dim_a a LEFT JOIN facts f ON f.a = a.a GROUP BY a.a",
        """
        aggregate by a
          left join a = a
            dim_a(a)
            facts(a, b)
        """,
    ),
    "not what reads both sides": (
        "SELECT a.a, max(f.b + a.b) FROM dim_a a LEFT JOIN facts f ON f.a = a.a GROUP BY a.a",
        """
        aggregate by a
          left join a = a
            dim_a(a, b)
            facts(a, b)
        """,
    ),
}
SETUP = """
CREATE TABLE p (k int PRIMARY KEY, n int);
INSERT INTO p SELECT i, i % 3 FROM generate_series(0, 40) i;
CREATE TABLE c (k int, x int, t text);
INSERT INTO c SELECT nullif(i % 31, 7), nullif(i % 5, 0), 't' || i FROM generate_series(1, 400) i;
CREATE TABLE e (k int, x int, t text)
"""
ANSWERS = (
    "SELECT p.k, p.n, count(c.x), count(*), max(c.t), min(c.x) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k, p.n",
    "SELECT p.k, count(DISTINCT c.x), count(*) FILTER (WHERE c.x > 2) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k",
    "SELECT p.k, count(*), count(e.x), max(e.t) FROM p LEFT JOIN e ON e.k = p.k GROUP BY p.k",
    "SELECT n, count(*) FROM (SELECT p.k, count(c.x) AS n FROM p LEFT JOIN c ON c.k = p.k AND c.t NOT LIKE '%3%'"
    " GROUP BY p.k) q GROUP BY n",
)

FILLED = (
    "SELECT p.k, count(*) FILTER (WHERE c.x IS NULL) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k",
    "SELECT p.k, count(coalesce(c.x, 1)), max(c.x) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k",
    "SELECT p.k, min(coalesce(c.t, 'none')) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k",
    "SELECT p.k, max(CASE WHEN c.x > 2 THEN 1 ELSE 5 END) FROM p LEFT JOIN c ON c.k = p.k GROUP BY p.k",
    "SELECT p.k, count(*) FILTER (WHERE c.x IS NULL OR c.t > 't2') FROM p LEFT JOIN e c ON c.k = p.k GROUP BY p.k",
)
"""Calls with a value for an unmatched row, which has NULLs alone."""


@pytest.mark.parametrize("name", FIXTURES)
def test_shape(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))


def test_a_group_of_no_rows_is_kept() -> None:
    lab = Lab()
    try:
        lab.run("CREATE TABLE p AS SELECT i AS k FROM generate_series(0, 40) i")
        lab.run("CREATE TABLE f AS SELECT 40 AS k, i AS x FROM generate_series(1, 400) i")
        for most, wanted in ((100, ("0", "0")), (10, ("400", "400"))):
            one = f"(SELECT max(k) AS k FROM p HAVING max(k) > {most}) q"
            request = lab.request(f"SELECT count(f.x), count(*) FROM {one} LEFT JOIN f ON f.k = q.k")
            for workers in (1, 3):
                assert local_stages.rows(request, workers, lab.database.cpu) == [wanted]
    finally:
        lab.close()


SPELT = (
    "CREATE TABLE spelt (k jsonb PRIMARY KEY)",
    "INSERT INTO spelt VALUES ('1.0'), ('2'), ('3')",
    "CREATE TABLE of_spelt (k jsonb, v int)",
    "INSERT INTO of_spelt VALUES ('1.00', 1), ('1', 2), ('2', 3)",
)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[rule.__module__], "_MIN_RATIO", 0)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("sql", ANSWERS)
def test_answers(lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    assert "left join" in shape(plan(lab, sql))
    assert "aggregate by k" in shape(plan(lab, sql))
    for workers in (1, 3):
        assert sorted(local_stages.rows(request, workers, lab.database.cpu)) == sorted(embedded(lab, request))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("sql", FILLED)
def test_rows_without_a_partner_are_counted(lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    for workers in (1, 3):
        assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == sorted_rows(embedded(lab, request))


@pytest.mark.usefixtures("few")
def test_keys_may_be_spelt_otherwise_where_they_are_referred_to(lab: Lab) -> None:
    for statement in SPELT:
        lab.run(statement)
    request = lab.request("SELECT count(s.v) FROM spelt k LEFT JOIN of_spelt s ON s.k = k.k GROUP BY k.k")
    assert sorted(embedded(lab, request)) == [("0",), ("1",), ("2",)]
    for workers in (1, 2):
        assert sorted(local_stages.rows(request, workers, lab.database.cpu)) == sorted(embedded(lab, request))

"""defer_strings: strings are fetched after joins that keep few rows; answers equal the embedded engine's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.engine.gpu.explain.plan import render_plan
from gpudb.engine.protocol import PlanNode
from gpudb.plan.optimize.defer_strings import defer_strings
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.gpu.comparison import embedded, sorted_rows
from tests.support.lab import Lab
from tests.support.plan_text import shapes, stages
from tests.support.snapshots import Check

SETUP = (
    "CREATE TABLE big (id int PRIMARY KEY, a int, b int, s text, t varchar(20))",
    "INSERT INTO big SELECT i, i % 1000, i % 7, CASE WHEN i % 11 > 0 THEN 's' || i END, 't' || i % 50"
    " FROM generate_series(1, 60000) i",
    "CREATE TABLE few (a int PRIMARY KEY, s text)",
    "INSERT INTO few SELECT i * 100, 'few' || i FROM generate_series(1, 3) i",
    "CREATE TABLE all_a (a int PRIMARY KEY, k int)",
    "INSERT INTO all_a SELECT i, i % 1000 FROM generate_series(0, 999) i",
)
FIXTURES = {
    "a filter, then a join": (
        "SELECT big.s, big.t, x.k FROM big JOIN all_a x ON big.a = x.a WHERE big.t <> 't1' AND x.k < 5",
        """
        0 broadcast
          all_a(a, k) where int4lt(k, '5')
        1 result
          fetch s, t
            project s, t, k
              inner join a = a
                defer s, t
                  big(a, s, t) where textne(t::text, 't1')
                receive 0
        """,
    ),
    "below what reads them": (
        "SELECT max(big.s || big.t) FROM big JOIN all_a x ON big.a = x.a WHERE big.b >= 0 AND x.k < 5",
        """
        0 broadcast
          project a
            all_a(a, k) where int4lt(k, '5')
        1 gather
          partial by all
            fetch s, t
              project s, t
                inner join a = a
                  project a, s, t
                    defer s, t
                      big(a, s, t, b) where int4ge(b, '0')
                  receive 0
        2 result alone
          final by all
            receive 1
        """,
    ),
    "what a join reads is there before it": (
        "SELECT big.s, y.s FROM big JOIN few y ON y.s = big.t JOIN all_a x ON big.a = x.a WHERE big.b >= 0 AND x.k < 5",
        """
        0 broadcast
          project a
            all_a(a, k) where int4lt(k, '5')
        1 broadcast
          few(s)
        2 result
          project s, s
            inner join t::text = s
              fetch s, t
                inner join a = a
                  project a, s, t
                    defer s, t
                      big(a, s, t, b) where int4ge(b, '0')
                  receive 0
              receive 1
        """,
    ),
    "not for one join": (
        "SELECT big.s FROM big JOIN all_a x ON big.a = x.a WHERE x.k < 5",
        """
        0 broadcast
          project a
            all_a(a, k) where int4lt(k, '5')
        1 result
          project s
            inner join a = a
              big(a, s)
              receive 0
        """,
    ),
    "not where most are left": (
        "SELECT big.s FROM big JOIN all_a x ON big.a = x.a WHERE big.b >= 0",
        """
        0 broadcast
          all_a(a)
        1 result
          project s
            inner join a = a
              project a, s
                big(a, s, b) where int4ge(b, '0')
              receive 0
        """,
    ),
}
MORE = (
    "SELECT big.s, count(*) FROM few LEFT JOIN (SELECT * FROM big WHERE b > 0) big ON big.a = few.a AND big.b = 9 GROUP BY 1",
    "SELECT big.s, big.t FROM big WHERE b < 5 AND a IN (SELECT a FROM few) AND id NOT IN (SELECT k FROM all_a)",
    "SELECT x.s, y.t FROM big x JOIN big y ON x.id = y.id JOIN few ON y.a = few.a WHERE x.b > 1 AND y.b > 1 AND x.s < y.s || 'a'",
    "SELECT upper(big.t), few.s FROM big FULL JOIN few ON big.a = few.a AND big.id < 100 WHERE big.id < 5 OR few.a > 0",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    for statement in SETUP:
        made.run(statement)
    yield made
    made.close()


@pytest.mark.parametrize("name", FIXTURES)
def test_defer_strings(lab: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shapes(defer_strings(stages(lab, sql, Costs(workers=2)))))


@pytest.mark.parametrize("sql", [*(sql for sql, _ in FIXTURES.values()), *MORE])
def test_answers_are_the_embedded_engines(lab: Lab, sql: str) -> None:
    request = lab.request(sql)
    wanted = sorted_rows(embedded(lab, request))
    for workers in (1, 2, 4):
        assert sorted_rows(local_stages.rows(request, workers, lab.database.cpu)) == wanted


def test_explain_tells_of_them(lab: Lab) -> None:
    sql, _ = FIXTURES["a filter, then a join"]

    def told(node: PlanNode) -> list[tuple[str, str]]:
        own = [(node.operator, dict(node.details)["Columns"])] if node.operator in {"Defer", "Fetch"} else []
        return own + [each for below in node.inputs for each in told(below)]

    plan = render_plan(defer_strings(stages(lab, sql, Costs(workers=2))), "", {})
    assert told(plan) == [("Fetch", "s, t"), ("Defer", "s, t")]

"""push_down_filters: conditions reach the scans of their columns, and imply conditions on equal columns."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "below a projection and groups, but not below an aggregate's value": (
        "SELECT s.k FROM (SELECT a + 1 AS k, b, count(*) AS n FROM facts GROUP BY a, b) s"
        " WHERE s.b = 3 AND s.k < 9 AND s.n > 1",
        """
        project int4pl(a, '1')
          filter int84gt(count, '1')
            aggregate by a, b
              facts(a, b) where (int4eq(b, '3') AND int4lt(int4pl(a, '1'), '9'))
        """,
    ),
    "below sets, but not what is of them": (
        "SELECT s.a, s.n FROM (SELECT a, generate_series(1, b) AS n FROM facts) s WHERE s.a = 3 AND s.n > 1",
        """
        project a, generate_series
          filter int4gt(generate_series, '1')
            projectset
              facts(a, b) where int4eq(a, '3')
        """,
    ),
    "what all arms of an OR have in common": (
        "SELECT f.v FROM facts f, dim_a a"
        " WHERE (f.a = a.a AND f.c = 1 AND a.b = 2) OR (f.a = a.a AND f.c = 1 AND a.b = 3)",
        """
        project v
          inner join a = a
            project a, v
              facts(a, v, c) where int4eq(c, '1')
            project a
              dim_a(a, b) where (int4eq(b, '2') OR int4eq(b, '3'))
        """,
    ),
    "what an OR says of each relation": (
        "SELECT f.v FROM facts f, dim_a a WHERE f.a = a.a AND ((f.c = 1 AND a.b = 2) OR (f.c = 2 AND a.b = 3))",
        """
        project v
          inner join a = a if ((int4eq(c, '1') AND int4eq(b, '2')) OR (int4eq(c, '2') AND int4eq(b, '3')))
            facts(a, c, v) where (int4eq(c, '1') OR int4eq(c, '2'))
            dim_a(a, b) where (int4eq(b, '2') OR int4eq(b, '3'))
        """,
    ),
    "below a semi-join": (
        "SELECT f.v FROM facts f, dim_a a WHERE f.a = a.a AND a.a >= 0 AND EXISTS (SELECT FROM dim_b b WHERE b.b = f.b)",
        """
        project v
          inner join a = a
            semi join b = b
              facts(a, b, v) where int4ge(a, '0')
              dim_b(b)
            dim_a(a) where int4ge(a, '0')
        """,
    ),
    "what a condition says of an equal column": (
        "SELECT f.v FROM facts f, dim_a a WHERE f.a = a.a AND a.a < 7",
        """
        project v
          inner join a = a
            facts(a, v) where int4lt(a, '7')
            dim_a(a) where int4lt(a, '7')
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_filters(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

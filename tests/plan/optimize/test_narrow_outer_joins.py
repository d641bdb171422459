"""Outer joins that a condition above them narrows to inner ones, and those that stay."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

LEFT = "SELECT f.v, b.name FROM facts f LEFT JOIN dim_b b ON f.b = b.b WHERE "
FULL = "SELECT f.v, b.name FROM facts f FULL JOIN dim_b b ON f.b = b.b WHERE "
FIXTURES = {
    "a strict condition on the side that is filled up": (
        LEFT + "b.c > 3 AND f.a = 1",
        """
        project v, name
          inner join b = b
            project b, v
              facts(b, v, a) where int4eq(a, '1')
            project b, name
              dim_b(b, c, name) where int4gt(c, '3')
        """,
    ),
    "one that holds for NULL": (
        LEFT + "(b.c > 3 OR b.c IS NULL) AND f.a = 1",
        """
        project v, name
          filter (int4gt(c, '3') OR c IS NULL)
            left join b = b
              project b, v
                facts(b, v, a) where int4eq(a, '1')
              dim_b(b, c, name)
        """,
    ),
    "every arm of an OR": (
        LEFT + "(b.c > f.a AND f.v > 0) OR NOT b.c = 7",
        """
        project v, name
          inner join b = b if ((int4gt(c, a) AND numeric_gt(v, '0')) OR NOT int4eq(c, '7'))
            facts(a, b, v)
            dim_b(b, c, name)
        """,
    ),
    "a FULL join, one side": (
        FULL + "f.a IN (1, 2)",
        """
        project v, name
          left join b = b
            project b, v
              facts(a, b, v) where a IN ('1', '2')
            dim_b(b, name)
        """,
    ),
    "a FULL join, both sides": (
        FULL + "f.a = b.c",
        """
        project v, name
          inner join b = b and a = c
            facts(a, b, v)
            dim_b(b, c, name)
        """,
    ),
    "the value of a correlated subquery": (
        "SELECT v FROM facts f WHERE v > (SELECT max(b.c) FROM dim_b b WHERE b.b = f.b)",
        """
        project v
          inner join b = b if numeric_gt(v, max::numeric)
            facts(b, v)
            aggregate by b
              dim_b(b, c)
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_inner_joins(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

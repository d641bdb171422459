"""prune_empty: LIMIT 0 reads no table, nor does a join whose condition is never true."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "of a whole query": (
        "SELECT a, sum(v) FROM facts GROUP BY a ORDER BY 2 LIMIT 0 OFFSET 3",
        """
        project column1, column2
          filter 'False'
            values
        """,
    ),
    "of a part": (
        "SELECT f.v, q.n FROM facts f LEFT JOIN (SELECT b, name AS n FROM dim_b LIMIT 0) q ON f.b = q.b",
        """
        project v, column2
          left join b = column1
            facts(b, v)
            filter 'False'
              values
        """,
    ),
    "not of a number that is computed": (
        "SELECT v FROM facts ORDER BY v LIMIT 0 + 0",
        """
        sort v first int4pl('0', '0')::bigint
          facts(v)
        """,
    ),
    "of a join that finds no pair": (
        "SELECT f.v FROM facts f JOIN (SELECT b, 1 / b AS n FROM dim_b) q ON f.b = q.b WHERE f.v / 0 = 1 AND false",
        """
        project column3
          filter 'False'
            values
        """,
    ),
    "of the side that finds no partner": (
        "SELECT f.v, q.n FROM facts f LEFT JOIN (SELECT b, 1 / b AS n FROM dim_b) q ON f.b = q.b AND false",
        """
        project v, column2
          left join b = column1 if 'False'
            facts(b, v)
            filter 'False'
              values
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_prune_empty(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

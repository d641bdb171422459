"""share_subplans: repeated subplans are computed once, with the columns that their uses need."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

_TOTALS = "(SELECT f.a, sum(f.v) AS total, count(*) AS n FROM facts f JOIN dim_a x ON f.a = x.a GROUP BY f.a)"
FIXTURES = {
    "groups read twice": (
        f"SELECT s.total, t.total AS next FROM {_TOTALS} s JOIN {_TOTALS} t ON s.a = t.a + 1",
        """
        project sum, sum
          inner join a = int4pl(a, '1')
            shared 1
              aggregate by a
                project a, v
                  inner join a = a
                    facts(a, v)
                    dim_a(a)
            shared 1
              aggregate by a
                project a, v
                  inner join a = a
                    facts(a, v)
                    dim_a(a)
        """,
    ),
    "one that draws is made twice": (
        "SELECT s.r, t.r FROM (SELECT DISTINCT a + random() AS r FROM facts) s,"
        " (SELECT DISTINCT a + random() AS r FROM facts) t",
        """
        project column1, column1
          inner join all
            aggregate by column1
              project float8pl(a::double precision, random(*))
                facts(a)
            aggregate by column1
              project float8pl(a::double precision, random(*))
                facts(a)
        """,
    ),
    "little is made twice": (
        "SELECT s.b FROM (SELECT DISTINCT b FROM dim_a) s JOIN (SELECT DISTINCT b FROM dim_a) t ON s.b = t.b",
        """
        project b
          inner join b = b
            aggregate by b
              dim_a(b)
            aggregate by b
              dim_a(b)
        """,
    ),
    "a WITH query gives what its uses want": (
        "WITH w AS (SELECT a, b, sum(v) AS v, count(*) AS n FROM facts GROUP BY a, b)"
        " SELECT x.a, y.v FROM w x JOIN w y ON x.a = y.b",
        """
        project a, sum
          inner join a = b
            project a
              shared 1
                aggregate by a, b
                  facts(a, b, v)
            project b, sum
              shared 1
                aggregate by a, b
                  facts(a, b, v)
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_shared(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

"""lower_semi_joins: semi-joins below the joins that multiply the rows that they remove."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

FIXTURES = {
    "below the join that multiplies": (
        "SELECT f.v, a.name FROM facts f JOIN dim_a a ON f.a = a.a WHERE a.b IN (SELECT b FROM dim_b WHERE c = 1)",
        """
        project v, name
          inner join a = a
            facts(a, v)
            semi join b = b
              dim_a(a, b, name)
              project b
                dim_b(b, c) where int4eq(c, '1')
        """,
    ),
    "not where its key may fail": (
        "SELECT f.v FROM facts f JOIN dim_a a ON f.a = a.a WHERE 10 / a.b IN (SELECT b FROM dim_b)",
        """
        project v
          semi join int4div('10', b) = b
            project v, b
              inner join a = a
                facts(a, v)
                dim_a(a, b)
            dim_b(b)
        """,
    ),
    "not below a join that leaves little": (
        "SELECT f.v FROM facts f JOIN dim_a a ON f.a = a.a WHERE a.a = 3 AND f.b IN (SELECT b FROM dim_b WHERE c = 1)",
        """
        project v
          semi join b = b
            project b, v
              inner join a = a
                facts(a, b, v) where int4eq(a, '3')
                dim_a(a) where int4eq(a, '3')
            project b
              dim_b(b, c) where int4eq(c, '1')
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_place(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

"""LIMIT 0 reads no table."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.engine.conftest import Lab
from tests.plan.shape import plan, shape

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
}


@pytest.mark.parametrize("name", FIXTURES)
def test_nothing_wanted(star: Lab, name: str) -> None:
    sql, wanted = FIXTURES[name]
    assert shape(plan(star, sql)) == dedent(wanted).strip()

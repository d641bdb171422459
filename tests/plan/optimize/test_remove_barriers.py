"""remove_barriers: conditions over a barrier stay apart from those below it, without its limit."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape
from tests.support.snapshots import Check

_ALL = (1 << 63) - 1

FIXTURES = {
    "the condition above stays above": (
        f"SELECT s.a FROM (SELECT a, b, v FROM facts WHERE b = 3 LIMIT {_ALL}) s WHERE 1 / s.a > 0",
        """
        project a
          filter int4gt(int4div('1', a), '0')
            project a
              facts(a, b) where int4eq(b, '3')
        """,
    ),
    "a limit that a result may reach stays": (
        f"SELECT s.a FROM (SELECT a, b FROM facts WHERE b = 3 LIMIT {_ALL - 1}) s WHERE s.a > 0",
        """
        project a
          filter int4gt(a, '0')
            sort  first '9223372036854775806'
              project a
                facts(a, b) where int4eq(b, '3')
        """,
    ),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_barriers(star: Lab, name: str, snapshot: Check) -> None:
    sql, _ = FIXTURES[name]
    snapshot(shape(plan(star, sql)))

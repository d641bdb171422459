"""Selectivity of conditions, from ranges and numbers of distinct values."""

from __future__ import annotations

import pytest

from gpudb.plan.cost.estimate import estimate
from tests.support.lab import Lab
from tests.support.plan_text import plan

SETUP = """
CREATE TABLE held AS SELECT date '2000-01-01' + i % 1000 AS d, timestamp '2000-01-01' + i % 1000 * interval '1 day' AS t,
    i % 10 AS n, 'k' || i % 5 AS k FROM generate_series(0, 9999) i
"""


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("d >= date '2000-04-10' AND d < date '2000-07-19'", 1000),
        # A date plus an interval, which is a timestamp, is folded too.
        ("d >= date '2000-04-10' AND d < timestamp '2000-07-19'", 1000),
        ("timestamp '2000-07-19' > d AND d >= date '2000-04-10'", 1000),
        ("t >= date '2000-04-10' AND t < date '2000-07-19'", 1000),
        ("d <= timestamp '2001-05-15'", 5000),
        ("d = timestamp '2000-04-10'", 10),
        ("NOT d < timestamp '2000-04-10'", 9000),
        ("d < timestamp '1999-01-01'", 1),
        # No row has two different values in one column.
        ("n = 1 OR n = 2 OR n = 3", 3000),
        ("k = 'k1' OR k = 'k2'", 4000),
        ("n IN (1, 2, 3)", 3000),
        ("n = 1 OR k = 'k2'", 2800),
    ],
)
def test_rows_that_a_condition_is_thought_to_keep(lab: Lab, condition: str, rows: int) -> None:
    assert rows * 0.98 - 1 <= estimate(plan(lab, f"SELECT d FROM held WHERE {condition}")) <= rows * 1.02 + 1


@pytest.mark.parametrize("condition", ["n IN (1, 2, 3)", "n = 1 OR n = 2 OR 3 = n"])
def test_values_that_a_condition_lists_are_those_that_are_left(lab: Lab, condition: str) -> None:
    assert estimate(plan(lab, f"SELECT n, count(*) FROM held WHERE {condition} GROUP BY n")) == 3

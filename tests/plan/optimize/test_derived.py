"""Estimated numbers of groups by fields of dates and by casts, from the columns' ranges."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpudb.plan.cost.estimate import estimate
from tests.support.lab import Lab
from tests.support.plan_text import plan


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    made = Lab()
    made.run(
        "CREATE TABLE t AS SELECT timestamp '2009-03-01' + i * interval '1 hour' AS at, date '2009-03-01' + i / 24 AS d,"
        " i::numeric(10,2) / 100 AS x, i AS n FROM generate_series(0, 49999) i"
    )
    yield made
    made.close()


@pytest.mark.parametrize(
    ("keys", "least", "most"),
    [
        ("extract(year FROM at)", 6, 9),
        ("extract(month FROM at)", 12, 13),
        ("date_part('hour', at)", 24, 25),
        ("date_trunc('month', at)", 69, 80),
        ("date_trunc('day', at)::date", 2084, 2090),
        ("extract(dow FROM d)", 7, 8),
        ("x::int", 500, 503),
        ("extract(year FROM at), x::int", 3000, 4500),
        # These have no known bound.
        ("n % 7", 50000, 50000),
        ("extract(year FROM at + n * interval '1 day')", 200, 201),
    ],
)
def test_groups_are_as_many_as_the_ranges_allow(lab: Lab, keys: str, least: int, most: int) -> None:
    assert least <= estimate(plan(lab, f"SELECT count(*) FROM t GROUP BY {keys}")) <= most

"""A cast that drops a type modifier costs a plan nothing: the plan equals that without the cast."""

from __future__ import annotations

import pytest

from tests.support.lab import Lab
from tests.support.plan_text import plan, shape, shapes, stages

SETUP = """
CREATE TABLE rl (k integer, a varchar(10), c char(3), n numeric(10, 2), t timestamp(3), l varchar(5)[]);
CREATE TABLE ro (a varchar(10), c char(3))
"""
_PAIRS = [
    ("SELECT c::bpchar, sum(n::numeric) FROM rl WHERE a::varchar = 'x' GROUP BY c::bpchar",
     "SELECT c, sum(n) FROM rl WHERE a = 'x' GROUP BY c"),
    ("SELECT x.k FROM rl AS x JOIN ro ON x.a::varchar = ro.a AND x.c::bpchar = ro.c::bpchar",
     "SELECT x.k FROM rl AS x JOIN ro ON x.a = ro.a AND x.c = ro.c"),
    ("SELECT t::timestamp, l::varchar[], a FROM rl WHERE t::timestamp > '2024-01-01' ORDER BY a::varchar LIMIT 3",
     "SELECT t, l, a FROM rl WHERE t > '2024-01-01' ORDER BY a LIMIT 3"),
    ("SELECT s.x, count(*) FROM (SELECT a::varchar AS x FROM rl UNION ALL SELECT a FROM ro) AS s GROUP BY s.x",
     "SELECT s.x, count(*) FROM (SELECT a AS x FROM rl UNION ALL SELECT a FROM ro) AS s GROUP BY s.x"),
]  # fmt: skip


@pytest.mark.parametrize(("cast", "bare"), _PAIRS)
def test_plans_are_those_without_the_casts(lab: Lab, cast: str, bare: str) -> None:
    assert shape(plan(lab, cast)) == shape(plan(lab, bare))
    assert shapes(stages(lab, cast)) == shapes(stages(lab, bare))


def test_a_cast_that_changes_a_value_stays(lab: Lab) -> None:
    assert shape(plan(lab, "SELECT a::varchar(2)::varchar FROM rl")) != shape(plan(lab, "SELECT a FROM rl"))

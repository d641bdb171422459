"""add_dynamic_filters: which scans of stages are filtered by received keys."""

from __future__ import annotations

import pytest

from gpudb.plan.optimize import dynamic_filters
from gpudb.plan.optimize.dynamic_filters import add_dynamic_filters
from gpudb.plan.tree.stages import DynamicFilter
from tests.support.lab import Lab
from tests.support.plan_text import shapes, stages

FIXTURES = {
    "one row of a dimension": (
        "SELECT f.id FROM facts f JOIN dim_a x ON f.a = x.a WHERE x.name = 'a7'",
        {1: (DynamicFilter(0, 0, 0, 1),)},
    ),
    "two dimensions, one of them by a semi-join": (
        "SELECT f.id FROM facts f JOIN dim_a x ON f.a = x.a WHERE x.name = 'a7' AND f.b IN"
        " (SELECT b FROM dim_b WHERE name = 'b3')",
        {2: (DynamicFilter(1, 0, 0, 2), DynamicFilter(0, 0, 0, 1))},
    ),
    "all of a dimension": ("SELECT f.id, x.name FROM facts f JOIN dim_a x ON f.a = x.a", {}),
    "an outer join": ("SELECT f.id, x.name FROM facts f LEFT JOIN dim_a x ON f.a = x.a AND x.name = 'a7'", {}),
    "no table worth it": ("SELECT x.a FROM dim_a x JOIN dim_b y ON x.b = y.b WHERE y.name = 'b3'", {}),
}


@pytest.mark.parametrize("name", FIXTURES)
def test_add_dynamic_filters(star: Lab, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_filters, "MIN_ROWS", 1000)
    sql, wanted = FIXTURES[name]
    made = add_dynamic_filters(stages(star, sql))
    assert {stage.number: stage.dynamic_filters for stage in made if stage.dynamic_filters} == wanted, shapes(made)

"""The number of distinct values of computed columns, by the ranges of the columns that they are computed from."""

from __future__ import annotations

import math

import pytest

from gpudb.plan.cost.derived import max_values
from gpudb.plan.cost.profile import ColumnProfile
from gpudb.sql.bound import Select
from tests.support.lab import Lab

COLUMNS = {"a": (0, 999), "x": (-74.03, -73.75), "n": (0, 100)}


@pytest.mark.parametrize(
    ("expr", "most"),
    [
        ("a + 1", 1000),
        ("floor((x + 74.03) * 714.28)::int", 201),
        ("floor(n::float8 / 5)::int", 22),
        ("floor((x + 74.03) * 714.28)::int + floor(n::float8 / 5)::int * 200", 201 * 22),
        ("(a * -2)::bigint", 1000),
        ("random() * a", math.inf),
        ("x * x", math.inf),
    ],
)
def test_computed_columns(lab: Lab, expr: str, most: float) -> None:
    lab.run("CREATE TABLE IF NOT EXISTS dv (a int, x float8, n numeric(10,2))")
    query = lab.request(f"SELECT {expr} FROM dv").query
    assert isinstance(query, Select)
    profiles = [
        ColumnProfile(distinct=1000.0 if name == "a" else math.inf, low=low, high=high)
        for name, (low, high) in COLUMNS.items()
    ]
    assert max_values(query.targets[0], profiles) == most

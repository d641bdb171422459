"""Integers beyond 38 digits at a numeric's scale: comparisons are exact; results raise 22003."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpudb.engine.gpu.fused.runner import NumpyRunner
from gpudb.errors import GpudbError
from gpudb.plan.physical.exchange_planning import Costs
from tests.support.gpu import local_stages
from tests.support.lab import Lab

SETUP = """
CREATE TABLE wn (id int, n numeric, w numeric(38, 0), d numeric(38, 20), b int8);
INSERT INTO wn VALUES
    (1, 1.5, 99999999999999999999999999999999999999, 999999999999999999.99, 9223372036854775807),
    (2, -1.5, -99999999999999999999999999999999999999, -0.5, -9223372036854775808),
    (3, 2, 2, 2, 2), (4, NULL, 1, 1, NULL)
"""
COMPARED = {
    "n < b, n >= b, n = b, b > n": ("t f f t", "f t f f", "f t t f", "NULL NULL NULL NULL"),
    "d < w, w <= d, d = w, n <> w": ("t f f t", "f t f t", "f t t f", "f t t NULL"),
    "d < b, b IN (n, d), d BETWEEN -1 AND b": ("t f t", "f f f", "f t t", "NULL NULL NULL"),
    "CASE WHEN id IN (1, 2) THEN n ELSE b END": ("1.5", "-1.5", "2", "NULL"),
}
REFUSED = (
    "greatest(n, b)",
    "least(d, w)",
    "CASE WHEN id < 3 THEN b ELSE n END",
    "coalesce(b, n)",
    "n + b",
    "w - d",
    "b::numeric(38, 20)",
)
FUSED = NumpyRunner(local_stages.PACKED)


def _rows(lab: Lab, sql: str, *, fused: bool) -> Sequence[tuple[str | None, ...]]:
    costs, kernels = (Costs(scan=0), FUSED) if fused else (None, None)
    return local_stages.rows(lab.request(sql), 2, lab.database.cpu, costs, kernels=kernels)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("outputs", COMPARED)
def test_what_is_compared_keeps_its_place(lab: Lab, outputs: str, fused: bool) -> None:
    found = _rows(lab, f"SELECT {outputs} FROM wn ORDER BY id", fused=fused)
    assert tuple(" ".join(each or "NULL" for each in row) for row in found) == COMPARED[outputs]


@pytest.mark.parametrize("fused", [False, True])
def test_what_is_compared_filters_and_joins(lab: Lab, fused: bool) -> None:
    assert _rows(lab, "SELECT id FROM wn WHERE n < b", fused=fused) == [("1",)]
    joined = "SELECT x.id, y.id FROM wn AS x JOIN wn AS y ON x.n < y.b AND x.id = y.id"
    assert _rows(lab, joined, fused=fused) == [("1", "1")]
    assert _rows(lab, "SELECT count(*) FROM wn WHERE d < w", fused=fused) == [("1",)]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("output", REFUSED)
def test_what_is_held_has_38_digits(lab: Lab, output: str, fused: bool) -> None:
    for sql in (f"SELECT {output} FROM wn", f"SELECT count(*) FROM wn WHERE {output} > 0"):
        with pytest.raises(GpudbError) as failed:
            _rows(lab, sql, fused=fused)
        assert failed.value.sqlstate == "22003"

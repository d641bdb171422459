"""Vectorised averages equal those that are computed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from gpudb.duckdb.udf.quotient import divide_numeric
from gpudb.engine.gpu.finalize.averages import Array, divide_averages, divide_words


def _one_by_one(totals: Array, counts: Array, scale: int, shown: Array) -> list[tuple[int, int]]:
    rows = zip(totals.tolist(), counts.tolist(), shown.tolist(), strict=True)
    return [divide_numeric(total, scale, count, 0, show) if count else (0, 0) for total, count, show in rows]


@pytest.mark.parametrize("scale", range(21))
def test_averages_are_those_of_one_after_the_other(scale: int) -> None:
    """Edge cases of rounding and of the choice of decimals: powers of ten, halves, zero, equal first digits."""
    draws = np.random.default_rng(scale)
    by_words = 0
    for turn in range(60):
        size = int(draws.integers(1, 90))
        counts = (10.0 ** draws.uniform(0, 9.33, size)).astype(np.int64).clip(1, 2**31 - 1)
        if turn % 4 == 0:
            counts = 10 ** draws.integers(0, 9, size)
        totals = (10.0 ** draws.uniform(0, 17, size)).astype(np.int64).clip(0, 10**17 - 1)
        if turn % 3 == 0:
            totals = counts * draws.integers(0, 1000, size) + counts // 2
        if turn % 5 == 0:
            totals = 10 ** draws.integers(0, 17, size) - draws.integers(0, 2, size)
        counts[draws.random(size) < 0.1] = 0
        totals = np.where(counts == 0, 0, totals * draws.choice([-1, 0, 1, 1], size))
        shown = draws.integers(0, scale + 1, size)
        values, decimals = divide_averages(totals, counts, scale, shown)
        assert list(zip(values.tolist(), decimals.tolist(), strict=True)) == _one_by_one(totals, counts, scale, shown)
        made = divide_words(totals, counts, scale, shown)
        if made is not None:
            by_words += 1
            assert [each.tolist() for each in made] == [values.tolist(), decimals.tolist()]
    assert by_words > 10


@pytest.mark.parametrize(
    ("total", "count"),
    [(10**17, 3), (-(2**63), 700), (2**63 - 1, 1000), (5, 1 << 31), (1, 3 * 10**17), (-(10**25), 10**20)],
)
def test_what_words_do_not_hold_goes_one_by_one(total: int, count: int) -> None:
    totals, counts, shown = np.array([total, 0] * 50), np.array([count, 0] * 50), np.zeros(100, np.int64)
    values, decimals = divide_averages(totals, counts, 0, shown)
    assert list(zip(values.tolist(), decimals.tolist(), strict=True)) == _one_by_one(totals, counts, 0, shown)
    assert totals.dtype == object or counts.dtype == object or divide_words(totals, counts, 0, shown) is None


def test_no_groups_have_no_averages() -> None:
    none = np.array([], np.int64)
    assert [each.tolist() for each in divide_averages(none, none, 2, none)] == [[], []]

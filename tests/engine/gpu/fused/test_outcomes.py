"""Comparison of a kernel's and the NumPy backend's outcomes: NULLs, row order, NaN, 128 bits, a group without rows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.fused.outcomes import outcomes_equal
from gpudb.engine.gpu.fused.numpy_backend.executor import GroupedRows, Outcome

VALUES = np.array([3, 1, 1, 2])
NULLS = np.array([True, False, True, True])
ROWS = [(VALUES, NULLS), (np.array([0.5, np.nan, -0.0, 7.0]), None), (np.array([2**70, 1, -(2**80), 0], object), None)]
ORDER = np.array([2, 0, 3, 1])


def _rows(order: np.ndarray, *, place: int = -1, to: object = 0) -> Outcome:
    made = [(values[order].copy(), None if valid is None else valid[order]) for values, valid in ROWS]
    if place >= 0:
        made[place][0][0] = to
    return Outcome(rows=made)


def _groups(groups: list[int], total: float, code: int = 0) -> Outcome:
    counts, sums = np.full(len(groups), 1), np.full(len(groups), total)
    return Outcome(GroupedRows(np.array([groups], np.int64), (counts, sums)), code=code)


def test_rows_come_in_any_order_and_values_of_nulls_do_not_matter() -> None:
    other = _rows(ORDER)
    other.rows[0][0][3] = 77  # NULL there
    assert outcomes_equal(_rows(np.arange(4)), other)


@pytest.mark.parametrize(("place", "to"), [(0, 9), (1, 0.25), (2, 2**70 + 2**64), (2, -(2**80) + 1)])
def test_one_other_value_is_told(place: int, to: object) -> None:
    assert not outcomes_equal(_rows(ORDER), _rows(ORDER, place=place, to=to))


def test_groups_are_equal_with_their_words_and_errors() -> None:
    assert outcomes_equal(_groups([1, 4], 0.3), _groups([1, 4], 0.1 + 0.2))
    assert not outcomes_equal(_groups([1, 4], 0.3), _groups([1, 5], 0.3))
    assert not outcomes_equal(_groups([1, 4], 0.3), _groups([1, 4], 0.31))
    assert not outcomes_equal(_groups([1], 1.0, code=3), _groups([1], 1.0))
    assert outcomes_equal(_groups([1], 1.0, code=3), _groups([2], 1.0, code=3))
    nothing = Outcome(GroupedRows(np.zeros((1, 1), np.int64), (np.array([0]), np.array([0.0]))))
    assert outcomes_equal(nothing, _groups([], 0.0))

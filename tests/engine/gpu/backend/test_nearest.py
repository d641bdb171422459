"""The search of the nearest rows over arrays, compared with a search row by row."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest

from gpudb.engine.gpu.backend.nearest import NearestJoin, find_nearest, order_integers
from tests.support.lab import ON_GPUS

OPERATORS: tuple[Literal[">=", ">", "<=", "<"], ...] = (">=", ">", "<=", "<")
COMPARE = {">=": np.greater_equal, ">": np.greater, "<=": np.less_equal, "<": np.less}


@pytest.fixture(params=["numpy", pytest.param("cupy", marks=ON_GPUS)])
def arrays(request: pytest.FixtureRequest) -> Any:
    """NumPy, or CuPy on a GPU."""
    return importlib.import_module(request.param)


def _find(arrays: Any, join: NearestJoin, sides: Sequence[tuple[Any, Any]]) -> Any:
    """Returns the places as an array of NumPy."""

    def sort(keys: Sequence[Any]) -> Any:
        return arrays.lexsort(arrays.stack(tuple(reversed(keys))))

    moved = [(arrays.asarray(groups), arrays.asarray(times)) for groups, times in sides]
    places = find_nearest(arrays, join, moved, sort)
    return places if arrays is np else places.get()


def _find_one(group: int, time: int, groups: Any, times: Any, operator: str) -> int | None:
    """Returns the nearest time of a group."""
    near = times[(groups == group) & COMPARE[operator](time, times)]
    if group < 0 or not len(near):
        return None
    return int(near.max() if operator in {">=", ">"} else near.min())


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("span", [5, 1000, 2**62])
@pytest.mark.parametrize("count", [1, 7, 40])
def test_same_as_row_by_row(arrays: Any, operator: Literal[">=", ">", "<=", "<"], span: int, count: int) -> None:
    """With ties, empty groups, rows without a group, and times that do not fit one integer beside the group."""
    drawn = np.random.default_rng(span % 1009 + count)
    mine, groups = drawn.integers(-1, count, 300), drawn.integers(0, max(count - 2, 1), 200)
    wanted, times = drawn.integers(-span, span, 300), drawn.integers(-span, span, 200)
    join = NearestJoin(("g", "g"), count, ("t", "t"), operator, (), inner=False)
    places = _find(arrays, join, [(mine, wanted), (groups, times)])
    assert len(places) == 300
    for group, time, place in zip(mine, wanted, places, strict=True):
        expected = _find_one(group, time, groups, times, operator)
        assert (None if place < 0 else times[place]) == expected
        assert place < 0 or groups[place] == group


def test_of_equal_times_the_last_earlier_and_the_first_later_row(arrays: Any) -> None:
    zeros = np.zeros(4, np.int64)
    sides = [(zeros[:1], np.array([5])), (zeros, np.array([5, 7, 5, 7]))]
    expected = {">=": 2, ">": -1, "<=": 0, "<": 1}
    for operator in OPERATORS:
        join = NearestJoin(None, 1, ("t", "t"), operator, (), inner=False)
        assert _find(arrays, join, sides).tolist() == [expected[operator]]


@pytest.mark.parametrize("rows", [(0, 3), (3, 0), (0, 0)])
def test_no_rows(arrays: Any, rows: tuple[int, int]) -> None:
    sides = [(np.zeros(count, np.int64), np.zeros(count, np.int64)) for count in rows]
    join = NearestJoin(None, 1, ("t", "t"), ">=", (), inner=False)
    assert _find(arrays, join, sides).tolist() == [-1] * rows[0]


def test_floats_as_integers_in_their_order() -> None:
    """-0 and 0 are one time, and NaN is the greatest."""
    values = np.array([-np.inf, -1.5, -0.0, 0.0, 5e-324, 2.0, np.inf, np.nan])
    made = order_integers(np, values)
    assert made[2] == made[3]
    assert np.all(np.diff(np.delete(made, 2)) > 0)
    assert order_integers(np, np.array([-np.nan]))[0] == made[-1]
    assert order_integers(np, np.array([3], np.int16)).dtype == np.int16

"""ASOF joins of frames, on the host and on a GPU: NULLs, texts, floats, and frames without rows or columns."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.backend.host import HostBackend
from gpudb.engine.gpu.backend.nearest import NearestJoin

START = dt.datetime(2024, 1, 1)
LEFT = pl.DataFrame(
    {
        "id": pl.Series([1, 2, 3, 4, 5, 6], dtype=pl.Int32),
        "g": pl.Series([0, 1, None, 0, 7, 0], dtype=pl.Int64),
        "s": [START + dt.timedelta(hours=n) if n is not None else None for n in (5, 5, 5, None, 5, 0)],
        "x": pl.Series([float("nan"), -0.0, 1.0, None, 2.0, float("-inf")], dtype=pl.Float64),
    }
)
RIGHT = pl.DataFrame(
    {
        "g": pl.Series([0, 1, 0, 7, 1], dtype=pl.Int64),
        "t": [START + dt.timedelta(hours=n) for n in (3, 6, 5, 1, 4)],
        "y": pl.Series([1.5, 0.0, float("nan"), 2.0, -1.0], dtype=pl.Float64),
        "v": ["three", None, "five", "ä", ""],
        "w": pl.Series([10**30, 1, None, 0, -1], dtype=pl.Int128),
    }
)
MATCHES: dict[tuple[bool, str, str], dict[int, int | None]] = {
    (True, "t", ">="): {1: 2, 2: 4, 3: None, 4: None, 5: 3, 6: None},
    (True, "t", ">"): {1: 0, 2: 4, 3: None, 4: None, 5: 3, 6: None},
    (True, "t", "<="): {1: 2, 2: 1, 3: None, 4: None, 5: None, 6: 0},
    (True, "t", "<"): {1: None, 2: 1, 3: None, 4: None, 5: None, 6: 0},
    (False, "t", ">="): {1: 2, 2: 2, 3: 2, 4: None, 5: 2, 6: None},
    (True, "y", ">="): {1: 2, 2: 1, 3: None, 4: None, 5: 3, 6: None},
    (True, "y", "<"): {1: None, 2: None, 3: None, 4: None, 5: None, 6: 0},
    (False, "y", "<="): {1: 2, 2: 1, 3: 0, 4: None, 5: 3, 6: 4},
}
"""The place of each left row's match, by whether there are groups, the time and the operator."""


@pytest.fixture(params=["host", pytest.param("gpu", marks=pytest.mark.gpu)])
def backend(request: pytest.FixtureRequest) -> Backend:
    """A backend that computes frames, however few their rows are."""
    return HostBackend() if request.param == "host" else request.getfixturevalue("frames")  # type: ignore[no-any-return]


def _join(
    backend: Backend,
    left: pl.DataFrame,
    right: pl.DataFrame,
    key: tuple[bool, str, Any],
    columns: list[str],
    **more: bool,
) -> pl.DataFrame:
    grouped, time, operator = key
    times = {"t": "s", "y": "x"}[time], time
    join = NearestJoin(("g", "g") if grouped else None, 8 if grouped else 1, times, operator, columns, **more)
    sides = backend.from_host(left), backend.from_host(right)
    return backend.join_nearest(*sides, join).to_polars().sort("id")


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("key", MATCHES)
def test_matches(backend: Backend, key: tuple[bool, str, Literal[">=", ">", "<=", "<"]], inner: bool) -> None:
    columns = ["t", "y", "v", "w"]
    made = _join(backend, LEFT, RIGHT, key, columns, inner=inner)
    places = pl.Series(list(MATCHES[key].values()), dtype=pl.UInt32)
    expected = LEFT.hstack(RIGHT.select(pl.col(columns).gather(places)))
    assert_frame_equal(made, expected.filter(places.is_not_null()) if inner else expected)
    assert backend.take_host_steps() == ()


@pytest.mark.parametrize("rows", [(0, 5), (6, 0), (0, 0)])
@pytest.mark.parametrize("inner", [False, True])
def test_no_rows(backend: Backend, rows: tuple[int, int], inner: bool) -> None:
    left, right = LEFT.head(rows[0]), RIGHT.head(rows[1])
    made = _join(backend, left, right, (True, "t", ">="), ["v", "w"], inner=inner)
    nothing = RIGHT.select("v", "w").clear(left.height)
    assert_frame_equal(made, left.hstack(nothing).clear() if inner else left.hstack(nothing))


def test_no_columns(backend: Backend) -> None:
    made = _join(backend, LEFT, RIGHT, (True, "t", ">="), [], inner=True)
    assert_frame_equal(made, LEFT.filter(pl.col("id").is_in([1, 2, 5])))

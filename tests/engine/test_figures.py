"""Steps of a statement beside its computation are counted once, and by the thread that does them alone."""

from __future__ import annotations

from itertools import count

import pytest

from gpudb.engine import figures
from gpudb.engine.figures import record_steps, sum_steps, track_step


@track_step("loading")
def _load(depth: int) -> int:
    return depth if depth == 0 else _load(depth - 1)


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that advances by a second with each look at it."""
    seconds = count()
    monkeypatch.setattr(figures.time, "perf_counter", lambda: float(next(seconds)))


def test_steps_within_each_other_take_their_time_once() -> None:
    with record_steps() as steps:
        _load(2)
        with track_step("compiling"):
            pass
        with pytest.raises(ZeroDivisionError), track_step("loading"):
            1 / 0  # noqa: B018
    assert sum_steps(steps, "loading") == 1000 * (5 + 1)
    assert sum_steps(steps, "compiling") == 1000


def test_what_nobody_records_is_not_kept() -> None:
    _load(1)
    with record_steps() as steps:
        pass
    assert sum_steps(steps, "loading") == 0

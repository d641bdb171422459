"""The warm-up computes every operator on any backend; an operator that fails is only logged."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.worker import warmup

PLANS = len(list(warmup._sample_plans(warmup._sample_rows().lazy())))


def warm_up(backend: HostBackend, *, stop_after: int | None = None) -> dict[str, float]:
    """Runs pieces as a queue does, which may close after some; the seconds of each operator that succeeded."""
    queue: deque[Callable[[], None]] = deque()

    def submit(work: Callable[[], None]) -> None:
        if done == stop_after:
            raise RuntimeError("cannot schedule new futures after shutdown")
        queue.append(work)

    done = 0
    warm = warmup.WarmUp(backend, submit)
    warm.start()
    while queue:
        assert len(queue) == 1, "a piece waits behind what was queued before it"
        work = queue.popleft()
        done += 1
        work()
    return warm.spent


def test_every_operator_is_computed() -> None:
    assert len(warm_up(HostBackend())) == PLANS > 20


def test_a_closed_queue_ends_it() -> None:
    assert len(warm_up(HostBackend(), stop_after=6)) == 5


def test_one_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(HostBackend):
        def compute(self, lazy: pl.LazyFrame) -> HostFrame:
            if "SORT" in lazy.explain():
                raise RuntimeError("no sorting here")
            return super().compute(lazy)

    with caplog.at_level(logging.WARNING):
        made = warm_up(Failing())
    assert 0 < len(made) < PLANS
    assert "order by k failed: no sorting here" in caplog.text


def test_rows_that_are_not_uploaded_are_told(caplog: pytest.LogCaptureFixture) -> None:
    class Full(HostBackend):
        def from_host(self, frame: pl.DataFrame) -> HostFrame:
            raise MemoryError("no room")

    with caplog.at_level(logging.WARNING):
        assert warm_up(Full()) == {}
    assert "the warm-up failed: no room" in caplog.text


def test_plans_that_fail_are_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def plans(rows: pl.LazyFrame) -> Iterator[tuple[str, pl.LazyFrame]]:
        yield "rows", rows
        raise ValueError("no such column")

    monkeypatch.setattr(warmup, "_sample_plans", plans)
    with caplog.at_level(logging.WARNING):
        assert list(warm_up(HostBackend())) == ["rows"]
    assert "a plan failed: no such column" in caplog.text


def test_caches_lie_together(tmp_path: Path) -> None:
    found = warmup.kernel_cache_variables(tmp_path)
    assert {Path(path).parent for path in found.values()} == {tmp_path}

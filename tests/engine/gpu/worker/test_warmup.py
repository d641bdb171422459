"""The warm-up computes every operator on any backend; an operator that fails is only logged."""

from __future__ import annotations

import logging
from pathlib import Path

import polars as pl
import pytest

from gpudb.engine.gpu.backend.host import HostBackend, HostFrame
from gpudb.engine.gpu.worker import warmup


def test_every_operator_is_computed() -> None:
    plans = len(list(warmup._sample_plans(warmup._sample_rows().lazy())))
    assert warmup.warm_up(HostBackend()) == plans > 20


def test_one_that_fails_is_told(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(HostBackend):
        def compute(self, lazy: pl.LazyFrame) -> HostFrame:
            if "SORT" in lazy.explain():
                raise RuntimeError("no sorting here")
            return super().compute(lazy)

    with caplog.at_level(logging.WARNING):
        made = warmup.warm_up(Failing())
    assert made < len(list(warmup._sample_plans(warmup._sample_rows().lazy())))
    assert "order by k failed: no sorting here" in caplog.text


def test_caches_lie_together(tmp_path: Path) -> None:
    found = warmup.kernel_cache_variables(tmp_path)
    assert {Path(path).parent for path in found.values()} == {tmp_path}

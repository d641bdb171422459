"""Warms a GPU worker up before its first statement: libraries load their kernels on first use.

Loading takes up to seconds per operator. Compiled kernels are cached on disk, in the folders that
`kernel_cache_variables` names.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.engine.gpu.limits import FEW_ROWS

_LOG = logging.getLogger(__name__)


def kernel_cache_variables(root: Path) -> dict[str, str]:
    """Returns the environment variables for the kernel caches of CuPy, libcudf and the driver."""
    return {
        "CUPY_CACHE_DIR": str(root / "cupy"),
        "LIBCUDF_KERNEL_CACHE_PATH": str(root / "libcudf"),
        "CUDA_CACHE_PATH": str(root / "cuda"),
    }


class WarmUp:
    """Computes every common operator over some rows, one after the other. Errors are only logged.

    Each is a piece of work of its own, so that a statement that waits for the same queue waits for one of them at most.
    """

    def __init__(self, backend: Backend, submit: Callable[[Callable[[], None]], object]) -> None:
        """`submit` queues a piece of work behind those that wait already."""
        self._backend, self._submit = backend, submit
        self._plans: Iterator[tuple[str, pl.LazyFrame]] = iter(())
        self.spent: dict[str, float] = {}
        """Seconds of each operator that succeeded."""

    def start(self) -> None:
        """Queues the first piece."""
        self._submit(self._prepare)

    def _prepare(self) -> None:
        try:
            # A GPU's backend computes few rows on the host.
            rows = self._backend.from_host(_sample_rows(FEW_ROWS + 1)).lazy
        except Exception as error:
            _LOG.warning("the warm-up failed: %s", error)
            return
        self._plans = _sample_plans(rows)
        self._submit_next(self._compute_next)

    def _compute_next(self) -> None:
        try:
            name, lazy = next(self._plans, ("", None))
        except Exception as error:
            _LOG.warning("the warm-up ended, a plan failed: %s", error)
            return
        if lazy is None:
            slowest = sorted(self.spent.items(), key=lambda each: -each[1])[:5]
            shown = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in slowest)
            _LOG.info("warmed up %d operators in %.1f s: %s", len(self.spent), sum(self.spent.values()), shown)
            return
        started = time.perf_counter()
        try:
            self._backend.compute(lazy)
            self.spent[name] = time.perf_counter() - started
        except Exception as error:
            _LOG.warning("the warm-up of %s failed: %s", name, error)
        self._backend.take_host_steps()
        self._submit_next(self._compute_next)

    def _submit_next(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the queue has been closed meanwhile
            self._submit(work)


def _sample_rows(count: int = 6) -> pl.DataFrame:
    """At least `count` rows. Each has a number `i` and a text `u` of its own, by which joins make no more rows."""
    few = pl.DataFrame(
        {
            "k": pl.Series([1, 2, 3, 1, None, 2], dtype=pl.Int32),
            "n": pl.Series([10, 20, None, 40, 50, 60], dtype=pl.Int64),
            "w": pl.Series([1, 2, 3, 4, 5, 6], dtype=pl.Int128),
            "x": [0.5, 1.5, None, 3.5, 4.5, 5.5],
            "t": ["a", "bc", None, "a", "def", "bc"],
            "d": pl.Series([0, 1, 2, 3, 4, None], dtype=pl.Int32).cast(pl.Date),
        }
    )
    many = pl.concat([few] * -(-count // few.height))
    return many.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("i")).with_columns(u=pl.col("i").cast(str))


def _sample_plans(rows: pl.LazyFrame) -> Iterator[tuple[str, pl.LazyFrame]]:
    k, n, t = pl.col("k"), pl.col("n"), pl.col("t")
    other = rows.select("i", other="n")
    yield "filters", rows.filter((n > 15) & (t != "zz") & pl.col("x").is_not_null())
    yield "patterns", rows.filter(t.str.contains("(?s)^a.*$"))
    yield "arithmetic", rows.select(n + 1, (n * 2).alias("p"), (n // 3).alias("q"), pl.col("x") / 2.0, pl.col("w") + 1)
    yield "casts", rows.select(n.cast(pl.Int32), k.cast(pl.Float64), pl.col("w").cast(pl.Int64, strict=False))
    yield "branches", rows.select(pl.when(n > 20).then(n).otherwise(None).alias("b"), pl.coalesce(n, 0).alias("c"))
    yield "dates", rows.select(pl.col("d").dt.year(), pl.col("d").dt.month().alias("m"))
    for key in ("k", "t", "w"):
        calls = [n.sum(), n.min().alias("lo"), n.max().alias("hi"), pl.len().alias("all"), n.count().alias("some")]
        yield f"groups by {key}", rows.group_by(key).agg(*calls, pl.col("x").mean())
        yield f"order by {key}", rows.sort(key, descending=True, nulls_last=True)
    yield "groups by two", rows.group_by("k", "t").agg(pl.col("w").sum(), pl.col("x").sum())
    yield "distinct", rows.select("k", "t").unique()
    yield "one group", rows.select(n.sum(), pl.len().alias("all"), pl.col("x").max())
    for how in ("inner", "left", "semi", "anti", "full"):
        yield f"{how} join", rows.join(other, on="i", how=how)
    yield "join by text", rows.join(rows.select("u", again="k"), on="u")
    yield "first rows", rows.sort("n", "t").head(2)
    yield "both", pl.concat([rows, rows])

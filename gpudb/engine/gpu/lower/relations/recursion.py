"""WITH RECURSIVE on one worker: the second term runs over the last round's rows until it returns none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.plan.errors import NotSupportedOnWorkers

MAX_ROUNDS, MAX_ROWS = 100_000, 20_000_000
"""Limits of a recursion; beyond them the embedded engine runs it, which can be interrupted."""
_SCANNED_FRAMES, _UNSCANNED_FRAMES = 4, 64
"""Number of frames of similar size that are merged: few if each round scans all of them, many if none does.

So frames stay few, and a row is copied few times.
"""


def run_recursion(
    first: ComputedFrame,
    step: Callable[[ComputedFrame], ComputedFrame],
    keys: Sequence[str],
    frames: Backend,
    *,
    distinct: bool,
) -> pl.LazyFrame:
    """Returns all rows. `step` evaluates the second term; `distinct` keeps rows once, by the columns `keys`."""

    def unique_rows(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.unique(keys, keep="first", maintain_order=True)

    working = frames.compute(unique_rows(first.lazy)) if distinct else first
    found = [working]
    count = _SCANNED_FRAMES if distinct else _UNSCANNED_FRAMES
    rows = working.rows
    for _ in range(MAX_ROUNDS):
        result = step(working)
        if distinct:
            before = pl.concat([each.lazy.select(keys) for each in found])
            result = frames.compute(unique_rows(result.lazy).join(before, on=keys, how="anti", nulls_equal=True))
        working = result
        rows += working.rows
        if not working.rows:
            return pl.concat([each.lazy for each in found])
        if rows > MAX_ROWS:
            break
        found.append(working)
        while len(found) >= count and found[-count].rows < count * found[-1].rows:
            found[-count:] = [frames.compute(pl.concat([each.lazy for each in found[-count:]]))]
    raise NotSupportedOnWorkers(f"a recursion of more than {MAX_ROUNDS} rounds or {MAX_ROWS} rows")

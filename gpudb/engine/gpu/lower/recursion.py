"""WITH RECURSIVE on one worker: the second term over the last time's rows, until it gives none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from gpudb.plan.errors import NotCarried

ROUNDS, ROWS = 100_000, 20_000_000
"""A recursion that goes on longer, or makes more rows, is left to the embedded engine, which can be interrupted."""


def recursive(
    first: pl.DataFrame, step: Callable[[pl.DataFrame], pl.DataFrame], keys: Sequence[str], *, distinct: bool
) -> pl.DataFrame:
    """All rows. `step` gives the second term's over some; with `distinct` each row is kept once, by the columns
    `keys`."""
    working = first.unique(keys, keep="first", maintain_order=True) if distinct else first
    found = [working]
    known = working.select(keys)
    rows = working.height
    for _ in range(ROUNDS):
        working = step(working).select(first.columns)
        if distinct:
            fresh = working.unique(keys, keep="first", maintain_order=True)
            working = fresh.join(known, on=keys, how="anti", nulls_equal=True, maintain_order="left")
            known = pl.concat([known, working.select(keys)])
        rows += working.height
        if not working.height:
            return pl.concat(found)
        if rows > ROWS:
            break
        found.append(working)
    raise NotCarried(f"a recursion of more than {ROUNDS} rounds or {ROWS} rows")

"""count(ROW(…)) and count(DISTINCT ROW(…)): no row is NULL, and of rows that are equal field by field one counts."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Frames
from gpudb.sql import bound


def counted_row(call: bound.Aggregate) -> bound.Row | None:
    """The row that a call counts; None for one of something else."""
    if call.function.name != "count" or len(call.args) != 1:
        return None
    (arg,) = call.args
    return arg if isinstance(arg, bound.Row) and arg.items else None


def firsts(
    lazy: pl.LazyFrame, keys: Sequence[str], fields: Sequence[str], there: str, made: str, frames: Frames
) -> pl.LazyFrame:
    """The frame with a column `made`, true in one row of each group's rows that are alike in `fields`, of those that
    the column `there` says count, and NULL elsewhere."""
    held = frames.held(lazy.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))).lazy
    first = held.filter(pl.col(there)).group_by([*keys, *fields]).agg(pl.col("row").min())
    return held.join(first.select("row", pl.lit(True).alias(made)), on="row", how="left").drop("row")

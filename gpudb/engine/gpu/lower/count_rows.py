"""count(ROW(…)) and count(DISTINCT ROW(…)): no row is NULL; rows equal field by field count once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Backend
from gpudb.sql import bound


def counted_row(call: bound.Aggregate) -> bound.Row | None:
    """Returns the row that a call counts; None for any other call."""
    if call.function.name != "count" or len(call.args) != 1:
        return None
    (arg,) = call.args
    return arg if isinstance(arg, bound.Row) and arg.items else None


def mark_first_rows(
    lazy: pl.LazyFrame, keys: Sequence[str], fields: Sequence[str], there: str, made: str, frames: Backend
) -> pl.LazyFrame:
    """Adds a column `made` that is true in the first of each group's rows with equal `fields`, and NULL elsewhere.

    Only rows whose column `there` is true count.
    """
    held = frames.compute(lazy.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("row"))).lazy
    first = held.filter(pl.col(there)).group_by([*keys, *fields]).agg(pl.col("row").min())
    return held.join(first.select("row", pl.lit(True).alias(made)), on="row", how="left").drop("row")

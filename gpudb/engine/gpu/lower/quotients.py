"""Exact quotients, whose display scale depends on both values: a deferred step between two lazy frames.

Expressions compute them (`exact_division`) unless one needs more than 128 bits: then Python's integers do, and Polars'
threads must not wait for Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from gpudb.duckdb.udf.quotient import divide_numeric
from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.exact_division import NOT_COMPUTED, exact_quotients
from gpudb.engine.gpu.lower.values import Value

FEW_ROWS = 256
"""Row count below which Python is faster than the expressions, and than a GPU's start."""


@dataclass(frozen=True, slots=True)
class QuotientStep:
    """The step that computes a quotient and its display scale (suffix "s"); NULL if the divisor is 0."""

    name: str
    dividend: Value
    divisor: Value
    display_scale: pl.Expr

    @property
    def output_names(self) -> tuple[str, ...]:
        """The columns that it adds to a frame."""
        return self.name, self.name + "s"

    def add_to(self, result: ComputedFrame, frames: Backend) -> ComputedFrame:
        """Adds the quotient's columns to the frame."""
        parts = result.lazy.with_columns(
            self.dividend.expr.alias("a"), self.divisor.expr.alias("b"), self.display_scale.cast(pl.Int32).alias("s")
        ).select("a", "b", "s")
        if result.rows <= FEW_ROWS:
            return result.add_columns(_columns(frames.compute_on_host(parts, "few quotients"), self))
        quick = exact_quotients(parts, self.dividend.scale, self.divisor.scale)
        value, shown = self.output_names
        found = frames.compute(quick.select(pl.col("v").alias(value), pl.col("t").alias(shown)))
        if found.max_integer(shown) != NOT_COMPUTED:
            return result.add_columns(found)
        return result.add_columns(_columns(frames.compute_on_host(parts, "exact quotients"), self))


def _columns(operands: pl.DataFrame, each: QuotientStep) -> pl.DataFrame:
    first, second = each.dividend.scale, each.divisor.scale
    values: list[int | None] = []
    scales: list[int | None] = []
    for a, b, shown in zip(operands["a"].to_list(), operands["b"].to_list(), operands["s"].to_list(), strict=True):
        if a is None or not b:
            values.append(None)
            scales.append(0)
            continue
        value, scale = divide_numeric(a, first, b, second, shown)
        values.append(value)
        scales.append(scale)
    return pl.DataFrame([pl.Series(each.name, values, pl.Int128), pl.Series(each.name + "s", scales, pl.Int8)])

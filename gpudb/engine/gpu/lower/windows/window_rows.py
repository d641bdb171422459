"""The sorted rows of window functions, each with its position and those of its partition and peers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from gpudb.engine.gpu.backend.base import Backend, ComputedFrame
from gpudb.engine.gpu.lower.values import maximum, minimum
from gpudb.sql import bound

POSITION = pl.col("i")
"""A row's position among all rows, from 0."""
ROW_COUNT = pl.col("n")
"""The number of rows."""
PART0, PART1 = pl.col("part0"), pl.col("part1")
"""The positions of the first and last row of a row's partition."""
PEER0, PEER1 = pl.col("peer0"), pl.col("peer1")
"""The positions of the first and last of a row's peers, which are equal in ORDER BY."""


class SortedRows:
    """A frame's rows, sorted by the columns `partition` and by `keys` in their `order`; columns are added to it."""

    def __init__(
        self,
        frames: Backend,
        lazy: pl.LazyFrame,
        partition: list[str],
        keys: list[str],
        order: Sequence[bound.SortKey],
    ) -> None:
        self.partition = partition
        self._frames = frames
        if partition or keys:
            down = [False] * len(partition) + [key.descending for key in order]
            last = [True] * len(partition) + [not key.nulls_first for key in order]
            lazy = lazy.sort(partition + keys, descending=down, nulls_last=last, maintain_order=True)
        count = pl.len().cast(pl.Int64)
        self.lazy = lazy.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("i"), count.alias("n"))
        ends = (
            [POSITION.min().over(partition), POSITION.max().over(partition)]
            if partition
            else [POSITION * 0, ROW_COUNT - 1]
        )
        self.add(*(end.alias(name) for end, name in zip(ends, ("part0", "part1"))))
        peers = (
            [POSITION.min().over(partition + keys), POSITION.max().over(partition + keys)] if keys else [PART0, PART1]
        )
        self.add(*(end.alias(name) for end, name in zip(peers, ("peer0", "peer1"))))

    def add(self, *columns: pl.Expr) -> None:
        """Adds columns to the rows."""
        self.lazy = self.lazy.with_columns(columns)

    def compute(self) -> pl.LazyFrame:
        """Computes the rows once for several readers."""
        self._rows = self._frames.compute(self.lazy)
        self.lazy = self._rows.lazy
        return self.lazy

    @property
    def computed(self) -> ComputedFrame:
        """The rows that `compute` has computed."""
        return self._rows

    def append(self, columns: pl.LazyFrame) -> None:
        """Adds the columns of a frame derived from `compute` that has the same rows in the same order."""
        self.lazy = self._rows.add_columns(self._frames.compute(columns)).lazy

    def sum_counts(self, counts: Sequence[pl.Expr]) -> int:
        """Returns the sum of counts over the computed rows."""
        summed = self.lazy.select(sum(counts[1:], counts[0]).sum().alias("t"))
        return self._frames.compute(summed).max_integer("t") or 0

    def repeat_rows(self, lazy: pl.LazyFrame, times: str, number: str) -> pl.LazyFrame:
        """See `Backend.repeat_rows`."""
        return self._frames.repeat_rows(self._frames.compute(lazy), times, number).lazy


def clamp_position(place: pl.Expr) -> pl.Expr:
    """Clamps a position to the rows."""
    return maximum(minimum(place, ROW_COUNT - 1), pl.lit(0, pl.Int64))

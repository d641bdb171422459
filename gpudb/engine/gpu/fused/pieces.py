"""Pieces of tables' columns as packed columns are made of them: rows of a file, as integers, floats or texts' places.

`HostPieces` reads them as CPU workers do; `cudf.pieces` has libcudf decode them into the GPU's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.fused.values import TEXT, NotFused
from gpudb.engine.gpu.resident import stored_lanes


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a column: `values` are int64, float32 or float64, `valid` a mask of booleans (None: none is NULL).

    Values of text are places among `keys`. NULLs have any value, of text a place that may be beyond them.
    """

    values: Any
    valid: Any
    keys: pl.Series | None = None


class Pieces(Protocol):
    """What reads pieces, into the arrays of `xp` (NumPy or CuPy)."""

    xp: Any

    def piece(self, file: DataFile, column: Column, first: int, last: int) -> Piece:
        """Rows `first` to `last` of a file's column; NotFused where they need more than 64 bits."""


class HostPieces:
    """Reads pieces into this process's memory."""

    xp = np

    def piece(self, file: DataFile, column: Column, first: int, last: int) -> Piece:
        """See `Pieces`."""
        (held,) = stored_lanes(file, [column], first, last)
        return piece_of(held[""], text=column.type.name in TEXT)


def piece_of(series: pl.Series, *, text: bool = False) -> Piece:
    """A column's lane as a piece."""
    valid = series.is_not_null().to_numpy() if series.null_count() else None
    if text:
        keys = series.drop_nulls().unique(maintain_order=True)
        places = pl.DataFrame({"v": keys, "p": np.arange(len(keys))})
        found = series.alias("v").to_frame().join(places, on="v", how="left", maintain_order="left")["p"]
        return Piece(found.fill_null(0).to_numpy(), valid, keys)
    if series.dtype == pl.Int128:
        low, high = series.min(), series.max()
        if low is not None and (low < -(2**63) or high >= 2**63):  # type: ignore[operator]
            raise NotFused("a numeric of more than 64 bits")
    if series.dtype in {pl.Float32, pl.Float64}:
        return Piece(series.fill_null(0.0).to_numpy(), valid)
    if series.dtype == pl.Boolean:
        series = series.cast(pl.Int8)
    return Piece(series.to_physical().cast(pl.Int64).fill_null(0).to_numpy(), valid)

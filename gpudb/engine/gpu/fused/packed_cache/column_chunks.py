"""Pieces of tables' columns as packed columns are made of them: rows of a file, as integers, floats or texts' places.

`HostPieces` reads them as CPU workers do; `cudf.pieces` has libcudf decode them into the GPU's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from gpudb.catalog.model import Column, DataFile
from gpudb.engine.gpu.cache.host_columns import read_lanes
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, joined, pack, packed_texts
from gpudb.engine.gpu.fused.columns.text_columns import texts_of
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, NotFused


@dataclass(frozen=True, slots=True)
class Bits:
    """Which rows are there, by bits, the least significant of a byte first; the one of number `first` is the first."""

    data: Any
    first: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a column, as integers, or float32 or float64; `valid` says which are there (None: none is NULL).

    On the host integers are int64, and `valid` is a mask of booleans; on a GPU integers are of any width, those of 128
    bits as two of 64 bits a row, the low one first, and `valid` is Bits. Values of text are places among `keys`. NULLs
    have any value, of text a place that may be beyond them.
    """

    values: Any
    valid: Any
    keys: pl.Series | None = None


class Pieces(Protocol):
    """What reads pieces, and packs them."""

    def pieces(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[Piece | NotFused]:
        """Rows `first` to `last` of some of a file's columns, read at once; NotFused in the place of one that needs
        more than 64 bits a value."""

    def texts(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """Rows `first` to `last` of a file's column of text, as they are, to be joined; NotFused if they cannot be."""

    def packed(self, pieces: Sequence[Piece]) -> list[PackedColumn | NotFused]:
        """Pieces packed, not of text; NotFused in the place of one that needs more than 64 bits a value."""

    def coded(self, piece: Piece, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """A piece of text packed, by its keys' codes (int64)."""

    def joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """The rows of several packed columns of one type, one after the other, as one column."""


class HostPieces:
    """Reads pieces into this process's memory, and packs them there."""

    def pieces(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[Piece | NotFused]:
        """See `Pieces`."""
        found: list[Piece | NotFused] = []
        for column, held in zip(columns, read_lanes(file, columns, first, last), strict=True):
            try:
                found.append(piece_of(held[""], text=column.type.name in TEXT))
            except NotFused as reason:
                found.append(reason)
        return found

    def packed(self, pieces: Sequence[Piece]) -> list[PackedColumn | NotFused]:
        """See `Pieces`."""
        return [pack(piece.values, piece.valid) for piece in pieces]

    def coded(self, piece: Piece, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """See `Pieces`."""
        if not len(codes):
            return pack(np.zeros(len(piece.values), np.int64), piece.valid)
        return pack(codes[np.minimum(piece.values, len(codes) - 1)], piece.valid)

    def joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """See `Pieces`."""
        return joined(parts)

    def texts(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """See `Pieces`."""
        (held,) = read_lanes(file, [column], first, last)
        series = held[""].cast(pl.String)
        valid = series.is_not_null().to_numpy() if series.null_count() else None
        sizes = series.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
        data = np.frombuffer("".join(series.fill_null("")).encode(), np.uint8)
        return packed_texts(texts_of(np.cumsum(sizes), data), last - first, valid)


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

"""Chunks of table columns, as packing reads them: rows of a file as integers, floats or indexes of distinct texts.

`HostChunkReader` reads them on CPU workers; `cudf.files.column_chunks` decodes them with libcudf into the GPU's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from gpudb.catalog.tables import Column, DataFile
from gpudb.engine.gpu.cache.host_columns import read_lanes
from gpudb.engine.gpu.fused.columns.packed_column import PackedColumn, concatenate, pack, pack_texts
from gpudb.engine.gpu.fused.columns.text_columns import raw_text_from_offsets
from gpudb.engine.gpu.fused.translate.typed_values import TEXT, NotFused


@dataclass(frozen=True, slots=True)
class ValidityBits:
    """A validity bitmap, least significant bit first; bit `first` belongs to the first row."""

    data: Any
    first: int


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """Rows of a column as integers, float32 or float64; `valid` is their validity (None: none is NULL).

    On the host integers are int64, and `valid` is a boolean mask. On a GPU integers have any width, those of 128 bits
    are two of 64 bits per row, the low one first, and `valid` is ValidityBits. Texts are indexes into `keys`. A NULL
    has any value, possibly an index beyond the keys. `codes` are those that a dictionary had for the keys, -1 for none.
    """

    values: Any
    valid: Any
    keys: pl.Series | None = None
    codes: np.ndarray[Any, Any] | None = None


class ChunkReader(Protocol):
    """Reads chunks and packs them.

    Chunks are read by several threads. They are packed by these, too, unless it `packs_in_order`: then by one thread.
    """

    packs_in_order: bool

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        """Reads rows `first` to `last` of several columns of a file at once.

        A column that needs more than 64 bits per value yields NotFused in its place.
        """

    def read_raw_text(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """Reads rows `first` to `last` of a text column as raw text, to be concatenated; raises NotFused if it cannot
        be.
        """

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        """Packs chunks other than text; one that needs more than 64 bits per value yields NotFused in its place."""

    def pack_codes(self, chunk: ColumnChunk, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """Packs a chunk of text by its keys' codes (int64)."""

    def concatenate(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """Concatenates packed columns of one type."""


class HostChunkReader:
    """Reads and packs chunks in this process's memory."""

    packs_in_order = False

    def read(self, file: DataFile, columns: Sequence[Column], first: int, last: int) -> list[ColumnChunk | NotFused]:
        """See `ChunkReader`."""
        found: list[ColumnChunk | NotFused] = []
        for column, held in zip(columns, read_lanes(file, columns, first, last), strict=True):
            try:
                found.append(chunk_from_series(held[""], text=column.type.name in TEXT))
            except NotFused as reason:
                found.append(reason)
        return found

    def pack(self, chunks: Sequence[ColumnChunk]) -> list[PackedColumn | NotFused]:
        """See `ChunkReader`."""
        return [pack(chunk.values, chunk.valid) for chunk in chunks]

    def pack_codes(self, chunk: ColumnChunk, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """See `ChunkReader`."""
        if not len(codes):
            return pack(np.zeros(len(chunk.values), np.int64), chunk.valid)
        return pack(codes[np.minimum(chunk.values, len(codes) - 1)], chunk.valid)

    def concatenate(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """See `ChunkReader`."""
        return concatenate(parts)

    def read_raw_text(self, file: DataFile, column: Column, first: int, last: int) -> PackedColumn:
        """See `ChunkReader`."""
        (held,) = read_lanes(file, [column], first, last)
        series = held[""].cast(pl.String)
        valid = series.is_not_null().to_numpy() if series.null_count() else None
        sizes = series.str.len_bytes().fill_null(0).to_numpy().astype(np.int64)
        data = np.frombuffer("".join(series.fill_null("")).encode(), np.uint8)
        return pack_texts(raw_text_from_offsets(np.cumsum(sizes), data), last - first, valid)


def chunk_from_series(series: pl.Series, *, text: bool = False) -> ColumnChunk:
    """Converts a physical column to a chunk."""
    valid = series.is_not_null().to_numpy() if series.null_count() else None
    if text:
        keys = series.drop_nulls().unique(maintain_order=True)
        codes = pl.DataFrame({"v": keys, "p": np.arange(len(keys))})
        found = series.alias("v").to_frame().join(codes, on="v", how="left", maintain_order="left")["p"]
        return ColumnChunk(found.fill_null(0).to_numpy(), valid, keys)
    if series.dtype == pl.Int128:
        low, high = series.min(), series.max()
        if low is not None and (low < -(2**63) or high >= 2**63):  # type: ignore[operator]
            raise NotFused("a numeric of more than 64 bits")
    if series.dtype in {pl.Float32, pl.Float64}:
        return ColumnChunk(series.fill_null(0.0).to_numpy(), valid)
    if series.dtype == pl.Boolean:
        series = series.cast(pl.Int8)
    return ColumnChunk(series.to_physical().cast(pl.Int64).fill_null(0).to_numpy(), valid)

"""Tables that cudf-polars' ranks keep on their GPUs: each reads its share of the files once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pylibcudf as plc
from cudf_polars.containers import DataFrame, DataType
from cudf_polars.streaming.rank_aware_source import RankAwareSource, SizedChunks
from cudf_polars.utils.cuda_stream import get_cuda_stream
from polars.io.plugins import register_io_source

_FRAMES: dict[tuple[str, int, int], Any] = {}
"""Frames of this process by their first file, rank and the number of ranks."""


class RankTables(RankAwareSource):  # type: ignore[misc]
    """A table of these files as a source of lazy frames."""

    def __init__(self, paths: Sequence[str], schema: dict[str, Any]) -> None:
        self.paths, self.schema = list(paths), schema

    def __call__(
        self,
        with_columns: list[str] | None,
        predicate: Any,
        n_rows: int | None,
        batch_size: int | None,
        rank: int = 0,
        nranks: int = 1,
    ) -> Any:
        """Called by cudf-polars on each rank; the benchmarks' plans push no filters or limits into it."""
        from benchmarks.gpu import ranks

        assert predicate is None
        assert n_rows is None
        key = (self.paths[0], rank, nranks)
        if key not in ranks._FRAMES:
            ranks._FRAMES[key] = self._read(self.paths[rank::nranks])
        frame = ranks._FRAMES[key]
        return SizedChunks(1, iter([frame if with_columns is None else frame.select(with_columns)]))

    def _read(self, paths: Sequence[str]) -> Any:
        source = plc.io.SourceInfo(list(paths))
        options = plc.io.parquet.ParquetReaderOptions.builder(source).build()
        table = plc.io.parquet.read_parquet(options).tbl
        kinds = [DataType(kind) for kind in self.schema.values()]
        return DataFrame.from_table(table, list(self.schema), kinds, get_cuda_stream())


def register_table(paths: Sequence[Path]) -> pl.LazyFrame:
    """Returns the table of these files; every rank caches its share after its first read."""
    arrow = pq.read_schema(paths[0])
    schema = dict(pl.from_arrow(arrow.empty_table()).schema)  # type: ignore[union-attr]
    return register_io_source(RankTables(list(map(str, paths)), schema), schema=schema)

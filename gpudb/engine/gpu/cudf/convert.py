"""Frames between the host and a GPU. 128-bit integers cross as decimals without decimals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame, DataType
from cudf_polars.utils.cuda_stream import get_cuda_stream

from gpudb.plan.errors import NotCarried

_WIDE = pl.Decimal(38, 0)


def to_device(frame: pl.DataFrame) -> Any:
    """A Polars frame's rows in the GPU's memory; NotCarried for types that have no columns there."""
    kinds = [data_type(kind) for kind in frame.schema.values()]
    wide = [name for name, kind in frame.schema.items() if kind == pl.Int128]
    stream = get_cuda_stream()
    table = plc.Table.from_arrow(frame.with_columns(pl.col(name).cast(_WIDE) for name in wide), stream=stream)
    return of(table.columns(), frame.columns, kinds, frame.height)


def of(columns: Sequence[Any], names: Sequence[str], kinds: Sequence[Any], rows: int) -> Any:
    """A frame of columns that lie on the GPU."""
    named = [Column(each, name=name, dtype=kind) for each, name, kind in zip(columns, names, kinds, strict=True)]
    return DataFrame(named, stream=get_cuda_stream(), num_rows=rows)


def to_host(frame: Any) -> pl.DataFrame:
    """A frame of the GPU's memory as a Polars frame."""
    made: pl.DataFrame = frame.to_polars()
    wide = [column.name for column in frame.columns if isinstance(column.dtype.polars_type, pl.Int128)]
    return made.with_columns(pl.col(name).to_physical() for name in wide) if wide else made


def data_type(kind: pl.DataType) -> Any:
    """A lane's type in both worlds."""
    try:
        return DataType(kind)
    except NotImplementedError as error:
        raise NotCarried(f"a column of {kind} on a GPU") from error

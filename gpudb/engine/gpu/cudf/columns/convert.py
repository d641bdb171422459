"""Converts frames between host and GPU. 128-bit integers are decimals of scale 0 there, bytes are libcudf strings.

libcudf does not inspect a string's encoding when it compares, hashes, sorts or moves it: bytes behave as text does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pylibcudf as plc
from cudf_polars.containers import Column, DataFrame, DataType

from gpudb.engine.gpu.cudf.columns.arrays import KINDS, values_array
from gpudb.engine.gpu.cudf.memory.streams import current_stream, on_current_stream, synchronize
from gpudb.engine.gpu.limits import HOST_ROWS
from gpudb.plan.errors import NotSupportedOnWorkers

_WIDE = pl.Decimal(38, 0)


def to_device(frame: pl.DataFrame) -> Any:
    """Copies a Polars frame to GPU memory; raises NotSupportedOnWorkers for types without a column type there."""
    kinds = [data_type(kind) for kind in frame.schema.values()]
    wide = [name for name, kind in frame.schema.items() if kind == pl.Int128]
    source: Any = frame.with_columns(pl.col(name).cast(_WIDE) for name in wide)
    bytes_of = [position for position, kind in enumerate(frame.dtypes) if kind == pl.Binary]
    if bytes_of:
        source = source.to_arrow(compat_level=pl.CompatLevel.oldest())
    for position in bytes_of:
        source = source.set_column(position, source.column_names[position], relabel_as_text(source.column(position)))
    made = plc.Table.from_arrow(source, stream=current_stream())
    synchronize()
    return build_frame(made.columns(), frame.columns, kinds, frame.height)


def relabel_as_text(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Relabels bytes as text, without validation."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    whole = whole.cast(pa.large_binary())
    return pa.Array.from_buffers(pa.large_string(), len(whole), whole.buffers(), offset=whole.offset)


def build_frame(columns: Sequence[Any], names: Sequence[str], kinds: Sequence[Any], rows: int) -> Any:
    """Builds a frame of columns that are on the GPU."""
    named = [Column(each, name=name, dtype=kind) for each, name, kind in zip(columns, names, kinds, strict=True)]
    return DataFrame(named, stream=current_stream(), num_rows=rows)


def to_host(frame: Any) -> pl.DataFrame:
    """Copies a frame in GPU memory to a Polars frame."""
    numbers = _copy_numbers(frame) if frame.num_rows <= HOST_ROWS else None
    if numbers is not None:
        return numbers
    made: pl.DataFrame = on_current_stream(frame).to_polars()
    made = made.with_columns(pl.col(c.name).cast(pl.Binary) for c in frame.columns if c.dtype.polars_type == pl.Binary)
    wide = [column.name for column in frame.columns if isinstance(column.dtype.polars_type, pl.Int128)]
    return made.with_columns(pl.col(name).to_physical() for name in wide) if wide else made


def _copy_numbers(frame: Any) -> pl.DataFrame | None:
    """Copies columns of numbers and times without NULL, few rows of which take less time than their conversion to
    Arrow; None for others.
    """
    if not frame.columns or any(each.obj.type().id() not in KINDS or each.obj.null_count() for each in frame.columns):
        return None
    current_stream()
    made = []
    for column in frame.columns:
        kind, values = column.dtype.polars_type, values_array(column.obj).get()
        made.append(pl.Series(column.name, values.astype(np.bool_) if kind == pl.Boolean else values).cast(kind))
    return pl.DataFrame(made)


def data_type(kind: pl.DataType) -> Any:
    """Returns the cudf-polars type of a physical column."""
    if isinstance(kind, pl.List | pl.Struct) and _holds_bytes(kind):
        raise NotSupportedOnWorkers(f"a column of {kind} on a GPU")
    try:
        return DataType(kind)
    except NotImplementedError as error:
        raise NotSupportedOnWorkers(f"a column of {kind} on a GPU") from error


def _holds_bytes(kind: Any) -> bool:
    if isinstance(kind, pl.List):
        return _holds_bytes(kind.inner)
    if isinstance(kind, pl.Struct):
        return any(_holds_bytes(field.dtype) for field in kind.fields)
    return bool(kind == pl.Binary)

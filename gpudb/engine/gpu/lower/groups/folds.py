"""PL/CUDA aggregates over frames: their states are made and merged on the host, by child processes.

The columns of a state are the prefix + "h", what its cell has (`gpudb.plcuda.aggregates`), and "f0", "f1", … for the
fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.lower.values import physical_columns
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.calls import call_aggregate

Array = np.ndarray[Any, Any]


def state_names(fold: CudaAggregate, name: str) -> list[str]:
    """Returns the names of a state's columns: what its cell has, and its fields."""
    return [name + "h", *(f"{name}f{number}" for number in range(len(fold.fields)))]


def fold_frame(
    fold: CudaAggregate, frame: pl.DataFrame, args: Sequence[str], kept: str | None, places: Array, groups: int
) -> list[pl.Series]:
    """Returns the states of `groups` over a frame's rows, of which each is of the group at its place.

    `args` are columns of the arguments, `kept` one of the rows that count (None: all).
    """
    rows = frame if kept is None else frame.filter(pl.col(kept).fill_null(False))
    if kept is not None:
        places = places[frame[kept].fill_null(False).to_numpy()]
    columns = [_to_arrow(rows[each], item.arrow) for each, item in zip(args, fold.arguments, strict=True)]
    arguments = np.ascontiguousarray(places, np.int64), columns, groups
    return _to_series(fold, *call_aggregate("fold_rows", fold, arguments, check_stop))


def merge_frame(fold: CudaAggregate, frame: pl.DataFrame, name: str, places: Array, groups: int) -> list[pl.Series]:
    """Returns the states of `groups` into which those of a frame's rows are merged, each at its place."""
    fields, has = _from_series(fold, frame, name)
    arguments = np.ascontiguousarray(places, np.int64), fields, has, groups
    return _to_series(fold, *call_aggregate("merge_states", fold, arguments, check_stop))


def empty_states(fold: CudaAggregate, groups: int) -> list[pl.Series]:
    """Returns the states of `groups` without rows."""
    dtypes = [pl.Int8(), *(physical_columns(item)[""] for item in fold.fields)]
    return [pl.repeat(None, groups, dtype=dtype, eager=True) for dtype in dtypes]


def _to_arrow(series: pl.Series, kind: pa.DataType) -> pa.Array:
    held = series.to_arrow()
    held = held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held
    return held if held.type == kind else held.cast(kind)


def _to_series(fold: CudaAggregate, fields: Sequence[Array], has: Array) -> list[pl.Series]:
    made = [pl.Series(has.astype(np.int8))]
    for each, item in zip(fields, fold.fields, strict=True):
        made.append(pl.Series(each != 0 if item.name == "bool" else each).cast(physical_columns(item)[""]))
    return made


def _from_series(fold: CudaAggregate, frame: pl.DataFrame, name: str) -> tuple[list[Array], Array]:
    has, *fields = (frame[each] for each in state_names(fold, name))
    held = [each.to_physical().fill_null(False if each.dtype == pl.Boolean else 0).to_numpy() for each in fields]
    return held, has.fill_null(0).to_numpy().astype(np.uint8)

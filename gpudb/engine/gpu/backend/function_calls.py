"""PL/CUDA functions and results of aggregates over the columns of a frame, and their computation on the host."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.calls import call_aggregate, call_columns
from gpudb.plcuda.source import CudaFunction

_DTYPES: dict[str, pl.DataType] = {
    "bool": pl.Boolean(), "int2": pl.Int16(), "int4": pl.Int32(), "int8": pl.Int64(), "float4": pl.Float32(),
    "float8": pl.Float64(), "date": pl.Date(), "timestamp": pl.Datetime("us"), "timestamptz": pl.Datetime("us"),
}  # fmt: skip
_SLICE_ROWS = 1 << 18


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function with columns of its parameters' types, for the rows where column `reached` is true.

    The result is the column `name`: NULL where the function is not called, which a strict one is not with a NULL.
    """

    name: str
    function: CudaFunction
    operands: tuple[str, ...]
    reached: str | None

    @property
    def dtype(self) -> pl.DataType:
        """The type of the result's column."""
        return _DTYPES[self.function.result.name]


@dataclass(frozen=True, slots=True)
class FinishCall:
    """The results of states: `operands` are columns of what their cells have, and of their fields."""

    name: str
    fold: CudaAggregate
    operands: tuple[str, ...]

    @property
    def dtype(self) -> pl.DataType:
        """The type of the result's column."""
        return _DTYPES[self.fold.result.name]


def compute_results(frame: pl.DataFrame, call: FinishCall) -> list[pl.Series]:
    """Computes the results of a frame's states; raises the errors of the final function."""
    has, *fields = (frame[each].to_physical() for each in call.operands)
    held = [each.fill_null(False if each.dtype == pl.Boolean else 0).to_numpy() for each in fields]
    arguments = held, has.fill_null(0).to_numpy()
    found = call_aggregate("finish_states", call.fold, arguments, check_stop)
    return [pl.Series(call.name, pl.from_arrow(found)).cast(call.dtype)]


def compute_calls(frame: pl.DataFrame, call: FunctionCall) -> list[pl.Series]:
    """Computes a call over a frame's rows; returns the result's column. Raises the errors of the body."""
    parts = [pl.Series(call.name, dtype=call.dtype)]
    for start in range(0, frame.height, _SLICE_ROWS):
        parts.append(_compute_slice(frame.slice(start, _SLICE_ROWS), call))
    return [pl.concat(parts)]


def _compute_slice(frame: pl.DataFrame, call: FunctionCall) -> pl.Series:
    kept = frame if call.reached is None else frame.filter(pl.col(call.reached))
    columns = [_to_arrow(kept[name]) for name in call.operands]
    found = call_columns(call.function, columns, kept.height, check_stop)
    if kept.height < frame.height:
        reached = _to_arrow(frame[call.reached or ""])
        places = pc.subtract(pc.cumulative_sum(pc.cast(reached, pa.int64())), 1)
        found = found.take(pc.if_else(reached, places, pa.scalar(None, pa.int64())))
    return pl.Series(call.name, pl.from_arrow(found)).cast(call.dtype)


def _to_arrow(series: pl.Series) -> pa.Array:
    held = series.to_arrow()
    return held.combine_chunks() if isinstance(held, pa.ChunkedArray) else held

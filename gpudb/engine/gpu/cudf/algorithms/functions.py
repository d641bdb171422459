"""PL/CUDA functions over the columns of a frame in GPU memory; see `backend.function_calls`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cupy
import numpy as np
import polars as pl

from gpudb.engine.gpu.backend.function_calls import FinishCall, FunctionCall, compute_results
from gpudb.engine.gpu.cudf.columns.arrays import make_column, validity_mask, values_array
from gpudb.engine.gpu.cudf.columns.convert import data_type
from gpudb.plcuda.source import TYPES, write_device_source

_NONE = np.uint64(0)
Start = Callable[[str, int, Sequence[Any]], None]
"""Starts the kernel of a source over rows, with its arguments."""


class Results:
    """The result of a call: its column, and the number of the error of its body."""

    def __init__(self, call: FunctionCall, values: Any, valid: Any, error: Any) -> None:
        self.call, self._values, self._valid = call, values, valid
        self.error = error

    def columns(self, nulls: int) -> list[tuple[str, pl.DataType, Any]]:
        """Returns the named column, of which some rows are NULL unless `nulls` is 0."""
        dtype, valid = self.call.dtype, self._valid if nulls else None
        return [(self.call.name, dtype, make_column(data_type(dtype), len(self._values), self._values, valid))]


def start_function(
    start: Start, columns: Mapping[str, Any], call: FunctionCall, rows: int, flags: Any, place: int
) -> Results:
    """Starts the kernel of a call; it sets `flags[place]` if a row is NULL. The stream is the caller's."""
    values = cupy.empty(rows, TYPES[call.function.result.name][1])
    valid, error = cupy.empty(rows, np.bool_), cupy.zeros(1, np.int32)
    arguments: list[Any] = [np.int64(rows)]
    arguments.append(_NONE if call.reached is None else values_array(columns[call.reached]))
    for name in call.operands:
        mask = validity_mask(columns[name])
        arguments += [values_array(columns[name]), _NONE if mask is None else mask]
    start(write_device_source(call.function), rows, (*arguments, values, valid, error, flags, np.int32(place)))
    return Results(call, values, valid, error)


class Finished:
    """The results of states, which the host has computed: few groups are left."""

    def __init__(self, call: FinishCall, found: pl.Series) -> None:
        self._call, self._found = call, found

    def columns(self, _nulls: int) -> list[tuple[str, pl.DataType, Any]]:
        """Returns the named column."""
        dtype, found = self._call.dtype, self._found
        valid = cupy.asarray(found.is_not_null().to_numpy()) if found.null_count() else None
        zero = False if dtype == pl.Boolean else 0
        physical = found.to_physical().fill_null(zero).to_numpy()
        values = cupy.asarray(physical.astype(np.uint8) if dtype == pl.Boolean else physical)
        return [(self._call.name, dtype, make_column(data_type(dtype), len(found), values, valid))]


def finish_states(columns: Mapping[str, Any], call: FinishCall) -> Finished:
    """Returns the results of states in columns of the GPU."""
    held: dict[str, Any] = {}
    for name in call.operands:
        values, mask = values_array(columns[name]), validity_mask(columns[name])
        held[name] = (values if mask is None else cupy.where(mask, values, values.dtype.type(0))).get()
    (found,) = compute_results(pl.DataFrame(held), call)
    return Finished(call, found)

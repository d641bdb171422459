"""Calls of PL/CUDA functions over the rows of a block: a child process runs their bodies, compiled for the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.plcuda.calls import call_columns
from gpudb.plcuda.source import TYPES, CudaFunction
from gpudb.types import SqlType

Array = np.ndarray[Any, Any]


def call_body(
    function: CudaFunction, args: Sequence[tuple[Array, Array | None]], count: int, active: Array | None
) -> tuple[Array, Array]:
    """Calls a function for the `active` of `count` rows; returns values (float64 or int64) and which are not NULL.

    `args` are values and which of them are not NULL (None: all).
    """
    rows = np.arange(count) if active is None else np.flatnonzero(active)
    if function.strict:
        for _, valid in args:
            rows = rows if valid is None else rows[valid[rows]]
    made = np.zeros(count, np.float64 if function.result.name in {"float4", "float8"} else np.int64)
    known = np.zeros(count, bool)
    if len(rows):
        columns = [
            _to_arrow(values[rows], None if valid is None else valid[rows], item)
            for (values, valid), (_, item) in zip(args, function.parameters, strict=True)
        ]
        found = call_columns(function, columns, len(rows), check_stop)
        made[rows], known[rows] = _from_arrow(found)
    return made, known


def _to_arrow(values: Array, valid: Array | None, item: SqlType) -> pa.Array:
    kind = TYPES[item.name][1]
    held = values.astype(bool if item.name == "bool" else np.dtype(kind))
    made = pa.array(held, mask=None if valid is None else ~valid)
    return made.view(item.arrow) if made.type != item.arrow else made


def _from_arrow(found: pa.Array) -> tuple[Array, Array]:
    valid = ~np.asarray(found.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_boolean(found.type):
        found = found.cast(pa.int8())
    elif pa.types.is_temporal(found.type):
        found = found.view(pa.int32() if found.type.bit_width == 32 else pa.int64())
    return found.fill_null(0).to_numpy(zero_copy_only=False), valid

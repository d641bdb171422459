"""What the processes that run PL/CUDA functions on the host serve: calls over columns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.plcuda.host_compiler import compile_for_host
from gpudb.plcuda.source import TYPES, CudaFunction, make_error, write_host_source

_libraries: dict[CudaFunction, Any] = {}


def call_columns(function: CudaFunction, columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Calls a function for `count` rows of columns; the column of its results. The error that a row raises."""
    values = [_read(item.name, each) for (_, item), each in zip(function.parameters, columns, strict=True)]
    valid = [np.asarray(pc.is_valid(each).cast(pa.uint8())) for each in columns]
    out, out_valid = np.zeros(count, TYPES[function.result.name][1]), np.zeros(count, np.uint8)
    pointers = ctypes.c_void_p * len(columns)
    error = _load(function)(
        ctypes.c_longlong(count),
        pointers(*(each.ctypes.data for each in values)),
        pointers(*(each.ctypes.data for each in valid)),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_void_p(out_valid.ctypes.data),
    )
    if error:
        raise make_error(function, error)
    return _write(function, out, out_valid)


def _read(name: str, column: pa.Array) -> Any:
    kind = TYPES[name][1]
    integer = pa.int32() if name == "date" else pa.int64() if name.startswith("timestamp") else None
    if integer is not None:
        column = column.view(integer)
    elif name == "bool":
        column = column.cast(pa.uint8())
    return np.ascontiguousarray(column.fill_null(0).to_numpy(zero_copy_only=False), kind)


def _write(function: CudaFunction, out: Any, out_valid: Any) -> pa.Array:
    item = function.result
    missing = out_valid == 0
    if item.name == "bool":
        return pa.array(out != 0, mask=missing)
    made = pa.array(out, mask=missing)
    return made.view(item.arrow) if made.type != item.arrow else made


def _load(function: CudaFunction) -> Any:
    known = _libraries.get(function)
    if known is None:
        known = ctypes.CDLL(str(compile_for_host(write_host_source(function), function.name))).run
        known.restype = ctypes.c_int
        _libraries[function] = known
    return known

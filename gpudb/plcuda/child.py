"""What the process of a session's functions in PL/CUDA serves: checks of bodies, and calls over columns."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.plcuda import compiling
from gpudb.plcuda.source import TYPES, CudaFunction

_folder = tempfile.TemporaryDirectory(prefix="gpudb-plcuda-", ignore_cleanup_errors=True)
_libraries: dict[CudaFunction, Any] = {}


def check(function: CudaFunction) -> None:
    """Compiles a body; 42601."""
    compiling.check_body(function)


def call_columns(function: CudaFunction, columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Calls a function for `count` rows of columns; the column of its results."""
    values = [_read(item.name, each) for (_, item), each in zip(function.parameters, columns, strict=True)]
    valid = [np.asarray(pc.is_valid(each).cast(pa.uint8())) for each in columns]
    out, out_valid = np.zeros(count, TYPES[function.result.name][1]), np.zeros(count, np.uint8)
    pointers = ctypes.c_void_p * len(columns)
    _load(function)(
        ctypes.c_longlong(count),
        pointers(*(each.ctypes.data for each in values)),
        pointers(*(each.ctypes.data for each in valid)),
        ctypes.c_void_p(out.ctypes.data),
        ctypes.c_void_p(out_valid.ctypes.data),
    )
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
        path = compiling.compile_for_host(function, Path(_folder.name), f"f{len(_libraries)}")
        known = ctypes.CDLL(str(path)).run
        known.restype = None
        _libraries[function] = known
    return known

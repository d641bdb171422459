"""Table functions in PL/CUDA on a GPU: a process of the server serves this module, with a context of its own.

A fault ends the process alone; so does the end of the statement that waits for it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.engine.gpu.fused.cuda import nvrtc
from gpudb.errors import SqlError
from gpudb.plcuda.source import TYPES, make_error
from gpudb.plcuda.table_arguments import check_shape, finish_table
from gpudb.plcuda.tables import MATRIX, CudaTable, write_device_table

_MAX_BLOCKS = 2**31 - 1


def call_table(table: CudaTable, arguments: Sequence[Any]) -> pa.Table:
    """Calls a table function (see `gpudb.plcuda.child.call_table`); 53200 where the GPU's memory is too small."""
    import cupy

    try:
        return _call(cupy, table, arguments)
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise SqlError.of("out_of_memory", "out of memory", detail=str(error)) from None
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError):
        os.kill(os.getpid(), signal.SIGABRT)  # its context is of no use any more
        raise


def _call(cupy: Any, table: CudaTable, arguments: Sequence[Any]) -> pa.Table:
    given = _hold(cupy, table, arguments)
    shape = cupy.zeros(3, np.int64)
    source = write_device_table(table)
    _load(source, "shape")((1,), (1,), (*given, shape))
    rows, threads, workspace = sizes = shape.get()
    check_shape(table, sizes)
    columns = [cupy.zeros(int(rows), TYPES[item.name][1]) for _, item in table.columns]
    nulls = [cupy.zeros(int(rows), np.uint8) for _ in columns]
    count, failed = cupy.zeros(1, np.uint64), cupy.zeros(1, np.int32)
    outputs = [each for pair in zip(columns, nulls, strict=True) for each in pair]
    blocks = -(-int(threads) // table.block)
    if blocks > _MAX_BLOCKS:
        raise SqlError.of("program_limit_exceeded", f"function {table.name} has too many threads")
    if blocks:
        last = np.int64(rows), count, cupy.zeros(int(workspace), np.uint8), failed
        _load(source, "run")((blocks,), (table.block,), (np.int64(threads), *given, *outputs, *last))
    if error := int(failed.get()[0]):
        raise make_error(table, error)
    held = [each.get() for each in columns], [each.get() for each in nulls]
    return finish_table(table, *held, int(count.get()[0]))


def _hold(cupy: Any, table: CudaTable, arguments: Sequence[Any]) -> list[Any]:
    """Returns the arguments of the kernels: arrays on the GPU, and numbers."""
    found: list[Any] = []
    for (_, item), value in zip(table.parameters, arguments, strict=True):
        if item.name == MATRIX:
            held = cupy.asarray(np.ascontiguousarray(np.zeros((0, 0)) if value is None else value, np.float64))
            found += [held, np.int64(held.shape[0]), np.int64(held.shape[1])]
        elif item.element is not None:
            held = cupy.asarray(np.ascontiguousarray([] if value is None else value, TYPES[item.element.name][1]))
            found += [held, np.int64(len(held))]
        else:
            found.append(np.dtype(TYPES[item.name][1]).type(0 if value is None else value))
        if not table.strict:
            found.append(np.bool_(value is None))
    return found


@cache
def _load(source: str, name: str) -> Any:
    import cupy

    module = cupy.cuda.function.Module()
    module.load(nvrtc.compile_source(source, {}, f"sm_{cupy.cuda.Device().compute_capability}").cubin)
    return module.get_function(name)

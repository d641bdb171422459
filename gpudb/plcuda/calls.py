"""Calls of PL/CUDA functions and aggregates on the host: child processes run them, and end with their statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from gpudb.errors import GpudbError
from gpudb.plcuda.aggregates import CudaAggregate
from gpudb.plcuda.source import CudaFunction, describe_function
from gpudb.plcuda.tables import CudaTable
from gpudb.processes.child import Wanted
from gpudb.processes.limits import count_processors
from gpudb.processes.pool import ProcessPool

MEMORY_BYTES = 4 << 30
"""The memory of a process for data, where no statement says another limit."""
_CHILD = "gpudb.plcuda.child"
_LEAST = 16
"""Processes at least: those of bodies that do not end leave room for others."""


@cache
def _get_pool(memory_bytes: int, module: str = _CHILD) -> ProcessPool:
    most = max(_LEAST, 4 * count_processors())
    return ProcessPool(module, memory_bytes=memory_bytes, most=most)


def call_columns(
    function: CudaFunction, columns: Sequence[pa.Array], count: int, wanted: Wanted, memory_bytes: int = MEMORY_BYTES
) -> pa.Array:
    """Calls a function for `count` rows of columns; the column of its results, of the arrow type of its result.

    Raises what `wanted` raises, which is asked while the call runs, and errors of the body: those that it raises by
    RAISE_ERROR, 58000 if it crashes, 53200 beyond the memory, 0A000 without a compiler.
    """
    try:
        found: pa.Array = _get_pool(memory_bytes).call("call_columns", (function, tuple(columns), count), wanted)
        return found
    except GpudbError as error:
        error.where = error.where or describe_function(function)
        raise


def call_table(
    table: CudaTable, arguments: Sequence[Any], wanted: Wanted, memory_bytes: int = MEMORY_BYTES, module: str = _CHILD
) -> pa.Table:
    """Calls a table function (see `child.call_table`); raises as `call_columns` does.

    Another `module` than the host's may have the function; the driver of a GPU needs a process without a limit.
    """
    pool = _get_pool(memory_bytes if module == _CHILD else 0, module)
    try:
        found: pa.Table = pool.call("call_table", (table, tuple(arguments)), wanted)
        return found
    except GpudbError as error:
        error.where = error.where or describe_function(table)
        raise


def call_aggregate(
    name: str, aggregate: CudaAggregate, arguments: Sequence[Any], wanted: Wanted, memory_bytes: int = MEMORY_BYTES
) -> Any:
    """Calls a function of `child` over an aggregate: `fold_lists`, `fold_rows`, `merge_states`, `finish_states`.

    Raises as `call_columns` does.
    """
    try:
        return _get_pool(memory_bytes).call(name, (aggregate, *arguments), wanted)
    except GpudbError as error:
        error.where = error.where or f'PL/CUDA aggregate "{aggregate.name}"'
        raise

"""PL/CUDA functions in DuckDB: child processes run the bodies over vectors, and end with their statement."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from gpudb.duckdb import running
from gpudb.errors import QueryCanceled
from gpudb.plcuda.calls import MEMORY_BYTES, call_columns
from gpudb.plcuda.source import TYPES, find_function
from gpudb.processes.child import Wanted
from gpudb.types import SqlType

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers gpudb_TYPE_code(function, statement, arguments…) for each type of results, by the function's number."""
    for name in TYPES:
        item = SqlType(name)
        registry.add_columnar(f"gpudb_{name}_code", None, item.duckdb, partial(_call, item))


def _call(item: SqlType, functions: pa.Array, statements: pa.Array, *columns: pa.Array) -> pa.Array:
    count = len(functions)
    if not count:
        return pa.nulls(0, item.arrow)
    statement = statements[0].as_py()
    memory = running.find_memory(statement) or MEMORY_BYTES
    return call_columns(find_function(functions[0].as_py()), columns, count, _make_wanted(statement), memory)


def _make_wanted(statement: int) -> Wanted:
    """Returns what raises 57014 once a statement has ended; nothing is known of the statement 0."""
    cancel = running.find(statement)

    def wanted() -> None:
        if cancel is not None and not running.is_wanted(statement, cancel):
            raise QueryCanceled("canceling statement due to user request")

    return wanted

"""PL/CUDA functions in DuckDB: child processes run the bodies over vectors, and end with their statement."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.duckdb import running
from gpudb.errors import QueryCanceled
from gpudb.plcuda.calls import MEMORY_BYTES, call_aggregate, call_columns
from gpudb.plcuda.source import TYPES, find_interned
from gpudb.processes.child import Wanted
from gpudb.types import SqlType

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers functions for each type of results.

    gpudb_TYPE_code(function, statement, arguments…) calls a function, gpudb_TYPE_fold(aggregate, statement, rows…)
    aggregates lists of structs, both by their number.
    """
    for name in TYPES:
        item = SqlType(name)
        registry.add_columnar(f"gpudb_{name}_code", None, item.duckdb, partial(_call, item))
        registry.add_columnar(f"gpudb_{name}_fold", None, item.duckdb, partial(_fold, item))


def _call(item: SqlType, functions: pa.Array, statements: pa.Array, *columns: pa.Array) -> pa.Array:
    count = len(functions)
    if not count:
        return pa.nulls(0, item.arrow)
    statement = statements[0].as_py()
    memory = running.find_memory(statement) or MEMORY_BYTES
    return call_columns(find_interned(functions[0].as_py()), columns, count, make_wanted(statement), memory)


def _fold(item: SqlType, aggregates: pa.Array, statements: pa.Array, lists: pa.Array) -> pa.Array:
    if not len(aggregates):
        return pa.nulls(0, item.arrow)
    statement = statements[0].as_py()
    memory = running.find_memory(statement) or MEMORY_BYTES
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
    rows = lists.flatten()
    there = np.ones(len(rows), np.uint8)
    columns = rows.flatten() if pa.types.is_struct(rows.type) else []
    arguments = ends, there, columns
    found: pa.Array = call_aggregate(
        "fold_lists", find_interned(aggregates[0].as_py()), arguments, make_wanted(statement), memory
    )
    return found


def make_wanted(statement: int) -> Wanted:
    """Returns what raises 57014 once a statement has ended; nothing is known of the statement 0."""
    cancel = running.find(statement)

    def wanted() -> None:
        if cancel is not None and not running.is_wanted(statement, cancel):
            raise QueryCanceled("canceling statement due to user request")

    return wanted

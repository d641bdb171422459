"""What macros ask before they make large values: whether a thread may use the memory (see `gpudb.memory`)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.memory import allot, check_value

MAX_ITEMS = (1 << 27) - 1
"""Most items of an array, as in PostgreSQL."""
_COPIES = 5
"""How often a long value is in memory on its way to a client, beside where it is made."""
_ITEM_BYTES = 24
"""Bytes that an item takes while its array is made."""


def register(registry: FunctionRegistry) -> None:
    """Registers functions of the vector of values that are about to be made, which return their operand.

    pg_allot has their bytes, pg_allot_items their numbers of items.
    """
    registry.add_columnar("pg_allot", "BIGINT", "BIGINT", _allot)
    registry.add_columnar("pg_allot_items", "BIGINT", "BIGINT", _allot_items)


def _allot(sizes: pa.Array) -> pa.Array:
    largest = pc.max(sizes).as_py() or 0
    check_value(largest)
    allot((pc.sum(sizes).as_py() or 0) + _COPIES * largest)
    return sizes


def _allot_items(counts: pa.Array) -> pa.Array:
    if (pc.max(counts).as_py() or 0) > MAX_ITEMS:
        message = f"array size exceeds the maximum allowed ({MAX_ITEMS})"
        raise SqlError.of("program_limit_exceeded", message)
    allot((pc.sum(counts).as_py() or 0) * _ITEM_BYTES)
    return counts

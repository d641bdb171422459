"""Values in the binary form in which the protocol sends them (see `gpudb.values.binary_columns`)."""

from __future__ import annotations

from functools import partial

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.types import SqlType
from gpudb.values.binary_columns import encode_binary_column

_TYPES = {
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "oid": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "interval": "INTERVAL",
}


def register(registry: FunctionRegistry) -> None:
    """Registers one function for each type whose values SQL cannot write."""
    for name, parameter in _TYPES.items():
        registry.add_columnar(f"pg_send_{name}", parameter, "BLOB", partial(encode_binary_column, SqlType(name)))

"""Groups of types, and how a value stands in DuckDB SQL: in two lanes, or put together as one."""

from __future__ import annotations

from gpudb.types import SqlType

ScaledSql = tuple[str, str]

INTEGERS = frozenset({"int2", "int4", "int8"})
FLOATS = frozenset({"float4", "float8"})
STRINGS = frozenset({"text", "varchar", "bpchar", "name", "char", "cstring", "unknown"})
OIDS = frozenset({"oid", "xid", "cid", "xid8"})
VECTORS = {"int2vector": "int2", "oidvector": "oid"}


def unpack(sql: str, item: SqlType) -> ScaledSql:
    """The lanes of one value of `SqlType.duckdb`."""
    if item.carried:
        return f"({sql}).v", f"({sql}).s"
    return sql, str(item.numeric_digits[1]) if item.name == "numeric" else "0"


def pack(value: str, scale: str, item: SqlType) -> str:
    """One value of `SqlType.duckdb` from its lanes."""
    if not item.carried:
        return value
    return f"struct_pack(v := {value}, s := CAST({scale} AS {'TINYINT' if item.name == 'numeric' else 'SMALLINT'}))"

"""The two forms of a value in DuckDB SQL: value and display scale, or packed into one."""

from __future__ import annotations

from gpudb.types import SqlType

ScaledSql = tuple[str, str]
"""The SQL of a value and of its display scale."""


def unpack(sql: str, item: SqlType) -> ScaledSql:
    """Unpacks a value of `SqlType.duckdb` into its value and display scale."""
    if item.is_carried:
        return f"({sql}).v", f"({sql}).s"
    return sql, str(item.numeric_digits[1]) if item.name == "numeric" else "0"


def pack(value: str, scale: str, item: SqlType) -> str:
    """Packs a value and its display scale into one value of `SqlType.duckdb`."""
    if not item.is_carried:
        return value
    return f"struct_pack(v := {value}, s := CAST({scale} AS {item.duckdb_scale}))"

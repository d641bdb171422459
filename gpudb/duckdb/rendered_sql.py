"""The SQL of an expression, as a value and a numeric's display scale or packed into one value."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.functions import operands
from gpudb.types import SqlType


class RenderedSql(NamedTuple):
    """An expression's SQL: its value and, for a numeric, its display scale (a constant if all values share one)."""

    value: str
    scale: str = "0"


def pack(sql: RenderedSql, item: SqlType) -> str:
    """Packs a carried value and its scale; returns the original expression if both were unpacked from it."""
    value, scale = sql
    if value.endswith(").v") and value[:-1] == scale[:-1]:
        return value[:-2]
    return operands.pack(value, scale, item)


def unpack(sql: str, item: SqlType) -> RenderedSql:
    """Unpacks a value of `SqlType.duckdb` into its value and display scale."""
    return RenderedSql(*operands.unpack(sql, item))

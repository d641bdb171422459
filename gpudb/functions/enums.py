"""Enums, represented as DuckDB's: they compare by the order of their labels."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import quoted
from gpudb.types import SqlType


def _labels(item: SqlType) -> list[str]:
    return [f"CAST({quoted(label.name)} AS {item.duckdb})" for label in item.labels or ()]


def _all(item: SqlType) -> str:
    return f"CAST([{', '.join(_labels(item))}] AS {item.duckdb}[])"


def _end(operands: Operands, place: int) -> str:
    """Returns the first or last label; 55000 if there is none."""
    labels = _labels(operands.types[0])
    if not labels:
        message = f"enum {operands.types[0]} contains no values"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return labels[place]


def _between(operands: Operands) -> str:
    """Returns the labels between two labels; NULL means the first or the last."""
    labels, (low, high) = _all(operands.types[0]), operands.sql
    return f"list_filter({labels}, lambda pg_e: coalesce(pg_e >= {low}, true) AND coalesce(pg_e <= {high}, true))"


declare("enum_first", lambda o: _end(o, 0))
declare("enum_last", lambda o: _end(o, -1))
declare("enum_range(anyenum)", lambda o: _all(o.types[0]))
declare("enum_range(anyenum,anyenum)", _between)
for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"enum_{_name}", f"({{0}} {_symbol} {{1}})")
declare("enum_smaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")
declare("enum_larger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("enum_cmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")

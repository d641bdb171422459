"""Enums, represented as DuckDB's: they compare by the order of their labels."""

from __future__ import annotations

from gpudb.errors import SqlError
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import quote_literal
from gpudb.types import SqlType


def _quote_labels(item: SqlType) -> list[str]:
    return [f"CAST({quote_literal(label.name)} AS {item.duckdb})" for label in item.labels or ()]


def _render_all(item: SqlType) -> str:
    return f"CAST([{', '.join(_quote_labels(item))}] AS {item.duckdb}[])"


def _render_end(operands: Operands, position: int) -> str:
    """Returns the first or last label; 55000 if there is none."""
    labels = _quote_labels(operands.types[0])
    if not labels:
        message = f"enum {operands.types[0]} contains no values"
        raise SqlError.of("object_not_in_prerequisite_state", message)
    return labels[position]


def _render_range(operands: Operands) -> str:
    """Returns the labels between two labels; NULL means the first or the last."""
    labels, (low, high) = _render_all(operands.types[0]), operands.sql
    return f"list_filter({labels}, lambda pg_e: coalesce(pg_e >= {low}, true) AND coalesce(pg_e <= {high}, true))"


declare("enum_first", lambda o: _render_end(o, 0))
declare("enum_last", lambda o: _render_end(o, -1))
declare("enum_range(anyenum)", lambda o: _render_all(o.types[0]))
declare("enum_range(anyenum,anyenum)", _render_range)
for _name, _symbol in {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
    declare(f"enum_{_name}", f"({{0}} {_symbol} {{1}})")
declare("enum_smaller", "(CASE WHEN {0} <= {1} THEN {0} WHEN {0} > {1} THEN {1} END)")
declare("enum_larger", "(CASE WHEN {0} >= {1} THEN {0} WHEN {0} < {1} THEN {1} END)")
declare("enum_cmp", "(CASE WHEN {0} < {1} THEN -1 WHEN {0} > {1} THEN 1 WHEN {0} = {1} THEN 0 END)::INTEGER")

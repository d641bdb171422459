"""Bound expressions as DuckDB SQL.

A numeric is rendered as two SQL expressions: its decimal, and the number of decimals that PostgreSQL displays. They are
packed into one struct only where a carried numeric leaves an expression (an output column, an array element).

`renderer` has the entry points; the other modules register a function for each class of expression.
"""

from __future__ import annotations

from gpudb.duckdb.expressions import aggregates, arrays, calls, logic, subqueries, values

__all__ = ["aggregates", "arrays", "calls", "logic", "subqueries", "values"]

"""Row counts of LIMIT and OFFSET that depend on rows: internal functions, which no statement can name."""

from __future__ import annotations

from gpudb.functions.library import Function
from gpudb.functions.registry import declare
from gpudb.types import INT8

_ALL = 2**61
"""More rows than exist; the sum of two still fits 64 bits."""

LIMIT_ROWS = Function(0, "limit-rows", (INT8,), INT8, "f", strict=False)
"""Converts a LIMIT to a number of rows: all for NULL, error 2201W if negative."""
OFFSET_ROWS = Function(0, "offset-rows", (INT8,), INT8, "f", strict=False)
"""Converts an OFFSET to a number of rows: none for NULL, error 2201X if negative."""

for _function, _clause in ((LIMIT_ROWS, "LIMIT"), (OFFSET_ROWS, "OFFSET")):
    declare(_function.name, f"least(pg_row_count({{0}}, '{_clause}'), {_ALL})")

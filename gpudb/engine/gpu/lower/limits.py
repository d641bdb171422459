"""LIMIT and OFFSET that read rows, as numbers of rows."""

from __future__ import annotations

import polars as pl

from gpudb.engine.gpu.lower.error_codes import LIMIT, OFFSET, fault
from gpudb.engine.gpu.lower.registry import lowers
from gpudb.engine.gpu.lower.values import Value
from gpudb.types import SqlType

_ALL = 2**61
"""More rows than there are, of which two still add up in 64 bits."""


@lowers("limit_rows")
def limit_rows(args: tuple[Value, ...], kind: SqlType) -> Value:
    """All rows for NULL; 2201W below zero."""
    held = args[0].expr.cast(pl.Int64).fill_null(_ALL)
    return Value(kind, held.clip(0, _ALL), fault(held < 0, LIMIT), (0, _ALL))


@lowers("offset_rows")
def offset_rows(args: tuple[Value, ...], kind: SqlType) -> Value:
    """No row for NULL; 2201X below zero."""
    held = args[0].expr.cast(pl.Int64).fill_null(0)
    return Value(kind, held.clip(0, _ALL), fault(held < 0, OFFSET), (0, _ALL))

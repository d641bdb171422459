"""Row counts of LIMIT and OFFSET that are read from rows."""

from __future__ import annotations

import polars as pl

from gpudb.engine.gpu.lower.error_codes import LIMIT, OFFSET, error_if
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.values import Value
from gpudb.types import SqlType

_ALL = 2**61
"""More rows than exist; the sum of two still fits 64 bits."""


@lowers("limit-rows")
def limit_rows(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Returns the row limit; NULL means all rows. 2201W if negative."""
    count = args[0].expr.cast(pl.Int64).fill_null(_ALL)
    return Value(kind, count.clip(0, _ALL), error_if(count < 0, LIMIT), (0, _ALL))


@lowers("offset-rows")
def offset_rows(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Returns the number of skipped rows; NULL means none. 2201X if negative."""
    count = args[0].expr.cast(pl.Int64).fill_null(0)
    return Value(kind, count.clip(0, _ALL), error_if(count < 0, OFFSET), (0, _ALL))

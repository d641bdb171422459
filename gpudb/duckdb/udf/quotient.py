"""numeric / numeric as PostgreSQL divides, over DuckDB's vectors (see `gpudb.exact.quotients`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.exact.arrow import scale_of, to_decimals, to_words
from gpudb.exact.quotients import divide
from gpudb.types import CARRIED_SCALE, MAX_DIGITS, exact_numeric

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry

_RESULT = exact_numeric(MAX_DIGITS, CARRIED_SCALE, varying=True)


def register(registry: FunctionRegistry) -> None:
    """Registers pg_quotient(dividend, divisor, display scale of the operands) → value and display scale."""
    registry.add_columnar("pg_quotient", None, _RESULT.duckdb, _divide_columns)


def _divide_columns(dividends: pa.Array, divisors: pa.Array, shown: pa.Array) -> pa.Array:
    nulls = dividends.null_count + divisors.null_count
    valid = ~(dividends.is_null().to_numpy(False) | divisors.is_null().to_numpy(False)) if nulls else None
    others = to_words(divisors)
    if valid is not None:
        others = np.where(valid[:, None], others, 1)
    if not others.any(axis=1).all():
        raise SqlError.of("division_by_zero", "division by zero")
    least = shown.fill_null(0).to_numpy(zero_copy_only=False)
    made = divide(to_words(dividends), scale_of(dividends), others, scale_of(divisors), least)
    if (made.overflow if valid is None else made.overflow & valid).any():
        raise NumericOutOfRange("value overflows numeric format")
    scales = made.shown if valid is None else np.where(valid, made.shown, 0)
    return pa.StructArray.from_arrays(
        [to_decimals(made.values, valid, CARRIED_SCALE), pa.array(scales, pa.int8())], ["v", "s"]
    )

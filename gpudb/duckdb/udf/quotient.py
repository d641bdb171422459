"""numeric / numeric as PostgreSQL divides, over DuckDB's vectors (see `gpudb.exact.quotients`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.exact.arrow import scale_of, to_decimals, to_words
from gpudb.exact.limbs import Array
from gpudb.exact.numerics import Numerics
from gpudb.exact.quotients import average, divide
from gpudb.functions.carried import SCALES
from gpudb.types import MAX_DIGITS, exact_numeric

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers functions whose results are values of S decimals and display scales.

    pg_quotient_S(dividend, divisor, greater display scale)
    pg_average_S(high part of the unscaled sum, low part, count, decimals, display scale)
    """
    for scale in SCALES:
        result = exact_numeric(MAX_DIGITS, scale, varying=True)
        registry.add_columnar(f"pg_quotient_{scale}", None, result.duckdb, partial(_divide_columns, scale))
        registry.add_columnar(f"pg_average_{scale}", None, result.duckdb, partial(_average_columns, scale))


def _divide_columns(scale: int, dividends: pa.Array, divisors: pa.Array, shown: pa.Array) -> pa.Array:
    nulls = dividends.null_count + divisors.null_count
    valid = ~(dividends.is_null().to_numpy(False) | divisors.is_null().to_numpy(False)) if nulls else None
    others = to_words(divisors)
    if valid is not None:
        others = np.where(valid[:, None], others, 1)
    if not others.any(axis=1).all():
        raise SqlError.of("division_by_zero", "division by zero")
    least = shown.fill_null(0).to_numpy(zero_copy_only=False)
    made = divide(to_words(dividends), scale_of(dividends), others, scale_of(divisors), least, carried=scale)
    return to_struct(made, valid, scale)


def _average_columns(
    carried: int, high: pa.Array, low: pa.Array, counts: pa.Array, scale: pa.Array, shown: pa.Array
) -> pa.Array:
    count = counts.to_numpy(zero_copy_only=False)
    sums = to_words(high.fill_null(0)), to_words(low.fill_null(0))
    least = shown.fill_null(0).to_numpy(zero_copy_only=False)
    made = average(*sums, count, scale[0].as_py() if len(scale) else 0, least, carried=carried)
    return to_struct(made, count > 0, carried)


def to_struct(made: Numerics, valid: Array | None, scale: int) -> pa.Array:
    """Returns a column of carried numerics, NULL where not `valid` (None: all are). Raises 22003 for one not held."""
    made.check(valid)
    scales = made.shown if valid is None else np.where(valid, made.shown, 0)
    return pa.StructArray.from_arrays([to_decimals(made.values, valid, scale), pa.array(scales, pa.int8())], ["v", "s"])

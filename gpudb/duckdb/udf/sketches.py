"""HyperLogLog over DuckDB's vectors (see `gpudb.sketches.hyperloglog`): the integers that are hashed, and estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.sketches.hyperloglog import estimate_encoded
from gpudb.sketches.texts import hash_texts

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers pg_bits(value): its integer, and pg_estimate_distinct(codes): an estimate from registers and ranks."""
    registry.add_columnar("pg_bits", None, "BIGINT", _to_bits)
    registry.add_columnar("pg_estimate_distinct", "INTEGER[]", "BIGINT", _estimate)


def _to_bits(column: pa.Array) -> pa.Array:
    """Returns the integers of dates, times and floats (-0 is 0, and all NaN are one value), and the hashes of texts."""
    kind = column.type
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_floating(kind):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0
        values[np.isnan(values)] = np.nan
        return pa.array(values.view(np.int64), mask=mask)
    if pa.types.is_temporal(kind):
        return column.view(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
    return pa.array(hash_texts(column), mask=mask)


def _estimate(lists: pa.Array) -> pa.Array:
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    codes = lists.flatten()
    # NULLs are in no register.
    known = codes.is_valid().to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(known)])[np.concatenate([[0], ends])]
    kept = codes.filter(pa.array(known)).to_numpy(zero_copy_only=False).astype(np.int64)
    return pa.array(estimate_encoded(kept, starts))

"""A result's frame as Arrow batches of the types that the query declares."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from gpudb.engine.gpu.lower.arrow import column
from gpudb.types import SqlType


def to_batch(frame: pl.DataFrame, types: Sequence[SqlType]) -> pa.RecordBatch:
    """The lanes c0, c1, … of a frame as columns of `SqlType.arrow`."""
    arrays = [column(frame, f"c{number}", kind) for number, kind in enumerate(types)]
    names = [f"c{number}" for number in range(1, len(types) + 1)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([pa.field(n, t.arrow) for n, t in zip(names, types)]))

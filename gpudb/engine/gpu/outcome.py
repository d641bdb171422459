"""A result's frame as Arrow batches of the types that the query declares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pyarrow as pa

from gpudb.types import SqlType


def to_batch(frame: pl.DataFrame, types: Sequence[SqlType]) -> pa.RecordBatch:
    """The lanes c0, c1, … of a frame as columns of `SqlType.arrow`."""
    arrays = [_column(frame, f"c{number}", kind) for number, kind in enumerate(types)]
    names = [f"c{number}" for number in range(1, len(types) + 1)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([pa.field(n, t.arrow) for n, t in zip(names, types)]))


def _column(frame: pl.DataFrame, name: str, kind: SqlType) -> pa.Array:
    series = frame[name]
    if kind.name == "numeric":
        value = decimals(series, kind.numeric_digits)
        if not kind.carried:
            return value
        shown = _one(frame[name + "s"].to_arrow()).cast(pa.int8())
        mask = value.is_null() if value.null_count else None
        return pa.StructArray.from_arrays([value, shown], fields=list(kind.arrow), mask=mask)
    if kind.name == "interval":
        return _intervals(series, frame[name + "d"], frame[name + "u"])
    array = _one(series.to_arrow())
    if kind.name == "timestamptz":
        return array.cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    return array if array.type == kind.arrow else array.cast(kind.arrow)


def decimals(digits: pl.Series, held: tuple[int, int]) -> pa.Array:
    """Digits without their point as decimals."""
    array = _one(digits.cast(pl.Int128).cast(pl.Decimal(38, 0)).to_arrow())
    return array.view(pa.decimal128(38, held[1])).cast(pa.decimal128(*held))


def _intervals(months: pl.Series, days: pl.Series, micros: pl.Series) -> pa.Array:
    raw = np.zeros(len(months), dtype=[("m", "<i4"), ("d", "<i4"), ("n", "<i8")])
    raw["m"], raw["d"] = months.fill_null(0).to_numpy(), days.fill_null(0).to_numpy()
    raw["n"] = micros.fill_null(0).to_numpy() * 1000
    valid = pa.array(months.is_not_null().to_numpy(), pa.bool_())
    bitmap = valid.buffers()[1] if months.null_count() else None
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(months), [bitmap, pa.py_buffer(raw.tobytes())])


def _one(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array

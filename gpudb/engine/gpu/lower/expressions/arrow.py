"""Conversion between columns of Arrow (`SqlType.arrow`) and physical columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.engine.gpu.lower.values import (
    INTERVAL_PARTS,
    interval_value,
    is_keyed,
    is_packed,
    physical_columns,
    value_arrow_type,
)
from gpudb.types import SqlType
from gpudb.values.bit_keys import decode_bits, encode_bits
from gpudb.values.vector_keys import decode_keys, encode_keys


def to_physical_columns(array: pa.Array, kind: SqlType, keys: pa.Array | None = None) -> pl.DataFrame:
    """Converts a column to its type's physical columns, each named by its suffix.

    `keys` are the comparison keys of keyed types.
    """
    dtypes = physical_columns(kind)
    if pa.types.is_null(array.type):
        return pl.DataFrame({s: pl.repeat(None, len(array), dtype=each, eager=True) for s, each in dtypes.items()})
    if is_keyed(kind):
        assert keys is not None
        return pl.DataFrame(
            {"": series(keys, dtypes[""]), "v": series(_map_leaves(array, kind, _TO_PHYSICAL), dtypes["v"])}
        )
    if kind.name == "interval":
        parts = zip("mdu", _split_intervals(array).flatten(), strict=True)
        frame = pl.DataFrame({suffix: series(part, dtypes[suffix]) for suffix, part in parts})
        return frame.select(interval_value(kind, *map(pl.col, "mdu")).as_columns(""))
    if kind.is_carried:
        value, shown = array.flatten()
        if value.null_count:
            # A record's field may be NULL in its value only.
            shown = pc.if_else(value.is_valid(), shown, None)
        return pl.DataFrame({"": series(value, dtypes[""]), "s": series(shown, dtypes["s"])})
    if kind.name == "vector":
        array = encode_keys(array)
    if is_packed(kind):
        array = encode_bits(array, kind.length or 0)
    if kind.labels:
        labels = pa.array([label.name for label in kind.labels], pa.string())
        return pl.DataFrame({"": series(pc.index_in(array, labels), dtypes[""])})
    return pl.DataFrame({"": series(array, dtypes[""])})


def series(array: pa.Array | pa.ChunkedArray, dtype: pl.DataType) -> pl.Series:
    """Converts a column that is stored unchanged: decimals as unscaled integers, timestamptz without time zone."""
    if pa.types.is_time(array.type):
        array = array.cast(pa.int64())
    result = pl.Series(pl.from_arrow(array))
    if result.dtype == pl.Decimal:
        result = result.to_physical()
    if isinstance(result.dtype, pl.Datetime) and result.dtype.time_zone:
        result = result.dt.replace_time_zone(None)
    return result.cast(dtype).rename("")


def to_arrow(frame: pl.DataFrame, name: str, kind: SqlType) -> pa.Array:
    """Converts the physical columns under a name to a column of `SqlType.arrow`."""
    key = frame[name]
    if is_keyed(kind):
        return _map_leaves(
            _combine(frame[name + "v"].to_arrow()).cast(value_arrow_type(kind)), kind, _FROM_PHYSICAL
        ).cast(kind.arrow)
    if kind.name == "numeric":
        shown = _combine(frame[name + "s"].to_arrow()).cast(pa.int8()) if kind.is_carried else None
        return to_numerics(_combine(key.cast(pl.Int128).cast(pl.Decimal(38, 0)).to_arrow()), shown, kind)
    if kind.name == "interval":
        parts = [_combine(frame[name + suffix].to_arrow()) for suffix in "mdu"]
        mask = pa.array(key.is_null().to_numpy()) if key.null_count() else None
        return _join_intervals(pa.StructArray.from_arrays(parts, fields=list(INTERVAL_PARTS), mask=mask))
    array = _combine(key.to_arrow())
    if kind.name == "vector":
        return decode_keys(array)
    if is_packed(kind):
        return decode_bits(array, kind.length or 0)
    if kind.labels:
        return pa.array([label.name for label in kind.labels], pa.string()).take(array)
    if kind.name == "timestamptz":
        return array.cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC"))
    return array if array.type == kind.arrow else array.cast(kind.arrow)


def to_numerics(digits: pa.Array, shown: pa.Array | list[int] | None, kind: SqlType) -> pa.Array:
    """Converts unscaled decimals to numerics; `shown` are the display scales of a carried numeric."""
    digits_and_scale = kind.numeric_digits
    value = digits.view(pa.decimal128(38, digits_and_scale[1])).cast(pa.decimal128(*digits_and_scale))
    if shown is None:
        return value
    mask = value.is_null() if value.null_count else None
    scales = shown if isinstance(shown, pa.Array) else pa.array(shown, pa.int8())
    return pa.StructArray.from_arrays([value, scales], fields=list(kind.arrow), mask=mask)


def _combine(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


# ------------------------------------------------------------------------------------ intervals and times in parts


def _map_leaves(array: pa.Array, kind: SqlType, changes: Mapping[str, Callable[[pa.Array], pa.Array]]) -> pa.Array:
    """Converts nested values of some types inside a column of a keyed type."""
    if kind.item is not None:
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        items = array.flatten()
        if not len(items):
            # The offsets of lists that Polars sliced may exceed an empty child, which pyarrow cannot write.
            items = pa.array([], items.type)
        items = _map_leaves(items, kind.item, changes)
        return pa.ListArray.from_arrays(pa.array(offsets), items, mask=array.is_null() if array.null_count else None)
    if kind.fields:
        parts = [_map_leaves(part, item, changes) for part, (_, item) in zip(array.flatten(), kind.fields, strict=True)]
        fields = [pa.field(field.name, part.type) for field, part in zip(kind.arrow, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null() if array.null_count else None)
    return changes[kind.name](array) if kind.name in changes else array


def _split_intervals(array: pa.Array) -> pa.StructArray:
    """Splits intervals into months, days and microseconds."""
    start = array.offset * 16
    raw = np.frombuffer(
        array.buffers()[1].slice(start, len(array) * 16), dtype=[("m", "<i4"), ("d", "<i4"), ("n", "<i8")]
    )
    # DuckDB's and PostgreSQL's values have whole microseconds.
    parts = [raw["m"], raw["d"], raw["n"] // 1000]
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    arrays = [pa.array(np.ascontiguousarray(part), mask=mask) for part in parts]
    return pa.StructArray.from_arrays(
        arrays, fields=list(INTERVAL_PARTS), mask=None if mask is None else pa.array(mask)
    )


def _join_intervals(array: pa.StructArray) -> pa.Array:
    """Joins months, days and microseconds into intervals."""
    raw = np.zeros(len(array), dtype=[("m", "<i4"), ("d", "<i4"), ("n", "<i8")])
    months, days, micros = (pc.fill_null(part, 0).to_numpy(zero_copy_only=False) for part in array.flatten())
    raw["m"], raw["d"], raw["n"] = months, days, micros * 1000
    valid = pc.is_valid(array).buffers()[1] if array.null_count else None
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(array), [valid, pa.py_buffer(raw.tobytes())])


_TO_PHYSICAL = {"interval": _split_intervals, "time": lambda array: array.view(pa.int64())}
_FROM_PHYSICAL = {"interval": _join_intervals, "time": lambda array: array.view(pa.time64("us"))}

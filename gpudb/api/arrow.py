"""Conversion of a session's columns to the types that users of Arrow, Polars, pandas and Python expect.

| SQL type | Arrow | Python |
|---|---|---|
| numeric(p,s) | decimal128(p,s) | Decimal |
| numeric | decimal128(38, the largest display scale of its values) | Decimal with its display scale |
| numeric beyond 38 digits, NaN or infinite | string, as PostgreSQL prints it | Decimal |
| char(n) | string, padded to n | str |
| timestamptz | timestamp[us, UTC] | aware datetime in UTC |
| interval | month_day_nano_interval | gpudb.values.Interval |
| uuid; json, jsonb | string | uuid.UUID; the result of json.loads |
| money | decimal128(19,2) | Decimal |
| inet, cidr, macaddr | string, as PostgreSQL prints it | str |
| timetz | string, as PostgreSQL prints it | aware time |
| vector | list of float | list of float |
| ranges | string, as PostgreSQL prints them | gpudb.values.Range |
| matrix | list of lists of its element type, float64 for several types | numpy.ndarray of two dimensions |
| multiranges | string, as PostgreSQL prints them | gpudb.values.Multirange |
| others | `SqlType.arrow` | bool, int, float, str, bytes, date, time, datetime, list |

A date or timestamp beyond Python's years is a string in Python (`infinity`, `0044-03-15 BC`).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import FLOAT4, MAX_DIGITS, VECTOR, SqlType
from gpudb.types.facts import GEOMETRIC
from gpudb.values import Interval, Multirange, Range
from gpudb.values.arrow_columns import round_decimals
from gpudb.values.calendar import (
    date_from_days,
    format_date,
    format_time,
    format_timestamp,
    time_from_microseconds,
    timestamp_from_microseconds,
)
from gpudb.values.half_vectors import from_half_column
from gpudb.values.matrix import iterate_values
from gpudb.values.matrix_lists import find_common_type, to_lists
from gpudb.values.money import decimal_from_cents, decimals_from_cents
from gpudb.values.numbers import format_float4
from gpudb.values.range_columns import propagate_nulls, split_ranges
from gpudb.values.sparse_matrix import read_matrix
from gpudb.values.text_columns import format_text_column, replace_items
from gpudb.values.timetz import timetz_from_key
from gpudb.values.wide_numerics import decode_column

_CONTEXT = Context(prec=2 * MAX_DIGITS)


def to_public_arrow(type_: SqlType, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns a whole column in its public Arrow type; a numeric's scale is that of its widest value."""
    element = type_
    while element.element is not None:
        element = element.element
    if element.wide:
        return _map_leaves(column, partial(format_text_column, element), pa.string())
    if element.name == "numeric" and (element.modifier == -1 or element.is_carried):
        scale = max((_get_max_scale(element, chunk) for chunk in column.chunks), default=0)
        decimal_type = pa.decimal128(MAX_DIGITS, scale)
        return _map_leaves(column, lambda array: _to_decimal(element, array, decimal_type), decimal_type)
    if (length := element.padded_length) is not None:
        return _map_leaves(column, lambda array: pc.utf8_rpad(array, width=length, padding=" "), pa.string())
    if element.name == "money":
        return _map_leaves(column, decimals_from_cents, pa.decimal128(19, 2))
    if element.name == "matrix":
        kind = find_common_type(_get_leaves(chunk) for chunk in column.chunks)
        return _map_leaves(column, lambda array: to_lists(array, kind), pa.list_(pa.list_(pa.from_numpy_dtype(kind))))
    if element.range_type is not None:
        texts = [_format_multiranges(type_, chunk) for chunk in column.chunks]
        return pa.chunked_array(texts, type=None if texts else pa.string())
    if element.name == "halfvec":
        return _map_leaves(column, from_half_column, pa.list_(pa.float32()))
    if element.subtype is not None or element.name in {"timetz", "tid", "inet", "cidr", "sparsevec", *GEOMETRIC}:
        return _map_leaves(column, lambda array: format_text_column(element, array), pa.string())
    return column


def _format_multiranges(type_: SqlType, array: pa.Array) -> pa.Array:
    """Returns the texts of multiranges, within the lists of arrays of them."""
    if type_.range_type is not None:
        return format_text_column(type_, array)
    assert type_.item is not None
    return replace_items(array, _format_multiranges(type_.item, array.flatten()))


def _get_leaves(array: pa.Array) -> pa.Array:
    while pa.types.is_list(array.type):
        array = array.flatten()
    return array


def _map_leaves(
    column: pa.ChunkedArray, change: Callable[[pa.Array], pa.Array], leaf_type: pa.DataType
) -> pa.ChunkedArray:
    chunks = [_map_array_leaves(chunk, change) for chunk in column.chunks]
    kind = leaf_type
    value_type = column.type
    while pa.types.is_list(value_type):
        kind, value_type = pa.list_(kind), value_type.value_type
    return pa.chunked_array(chunks, kind)


def _map_array_leaves(array: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    if not pa.types.is_list(array.type):
        return change(array)
    items = _map_array_leaves(array.flatten(), change)  # without the items of NULL rows and outside the slice
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    return pa.ListArray.from_arrays(offsets, items, mask=array.is_null())


def _get_max_scale(type_: SqlType, array: pa.Array) -> int:
    array = _get_leaves(array)
    if not pa.types.is_struct(array.type):
        return int(array.type.scale)
    values, scales = array.flatten()
    widest = pc.max(pc.if_else(values.is_valid(), scales, None)).as_py()
    return widest or 0


def _to_decimal(type_: SqlType, array: pa.Array, target: pa.Decimal128Type) -> pa.Array:
    if not pa.types.is_struct(array.type):
        return array.cast(target)
    values, scales = array.flatten()
    stored_scale = values.type.scale
    result = pa.nulls(len(values), target)
    for scale in pc.unique(scales.filter(values.is_valid())).to_pylist():
        has_scale = pc.fill_null(pc.equal(scales, pa.scalar(scale, scales.type)), False)
        # hidden items may not fit the narrower scale
        part = pc.if_else(has_scale, values, None)
        if scale < stored_scale:
            part = round_decimals(part, scale)
        result = pc.if_else(has_scale, part.cast(target), result)
    return result


def to_python_values(type_: SqlType, column: pa.Array) -> list[object]:
    """Returns a session's column as Python values; None is NULL."""
    if pa.types.is_list(column.type):
        element = FLOAT4 if type_.name == "vector" else type_.item or type_
        rows = (item.values for item in column)
        values = [None if row is None else to_python_values(element, row) for row in rows]
        if type_.range_type is None:
            return list(values)
        return [None if row is None else Multirange(tuple(r for r in row if isinstance(r, Range))) for row in values]
    if type_.fields:
        parts = [to_python_values(item, field) for (_, item), field in zip(type_.fields, column.flatten(), strict=True)]
        valid = column.is_valid().to_pylist()
        return [row if is_valid else None for row, is_valid in zip(zip(*parts, strict=True), valid, strict=True)]
    if type_.subtype is not None:
        return _to_ranges(type_, column)
    if type_.wide:
        return list(decode_column(column))
    if pa.types.is_struct(column.type):
        return [_to_decimal_value(item) for item in column.to_pylist()]
    if type_.name in GEOMETRIC:
        return list(format_text_column(type_, column).to_pylist())
    match type_.name:
        case "float4":
            return [None if v is None else float(format_float4(v)) for v in column.to_pylist()]
        case "date":
            return _to_datetimes(column, pa.int32(), date_from_days, format_date)
        case "time":
            return _to_datetimes(column, pa.int64(), time_from_microseconds, format_time)
        case "money":
            return [None if cents is None else decimal_from_cents(cents) for cents in column.to_pylist()]
        case "halfvec":
            return to_python_values(VECTOR, from_half_column(column))
        case "inet" | "cidr" | "tid" | "sparsevec":
            return list(format_text_column(type_, column).to_pylist())
        case "matrix":
            return [None if each is None else read_matrix(each).copy() for each in iterate_values(column)]
        case "timetz":
            return [None if key is None else timetz_from_key(key) for key in column.to_pylist()]
        case "timestamp":
            return _to_datetimes(column, pa.int64(), timestamp_from_microseconds, format_timestamp)
        case "timestamptz":
            return _to_datetimes(
                column,
                pa.int64(),
                partial(timestamp_from_microseconds, aware=True),
                partial(format_timestamp, offset=0),
            )
        case "interval":
            return [
                None if v is None else Interval(v.months, v.days, v.nanoseconds // 1000) for v in column.to_pylist()
            ]
        case "uuid":
            return [None if v is None else uuid.UUID(v) for v in column.to_pylist()]
        case "json" | "jsonb":
            return [None if v is None else json.loads(v) for v in column.to_pylist()]
        case "bpchar":
            width = type_.padded_length or 0
            return [None if v is None else v.ljust(width) for v in column.to_pylist()]
    plain: list[object] = column.to_pylist()
    return plain


def _to_decimal_value(item: dict[str, Decimal | int | None] | None) -> Decimal | None:
    if item is None or not isinstance(value := item["v"], Decimal) or not isinstance(scale := item["s"], int):
        return None
    if value.is_zero():
        return Decimal((0, (0,), -scale))
    return value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _CONTEXT)


def _to_ranges(type_: SqlType, column: pa.Array) -> list[object]:
    parts = split_ranges(type_, column)
    missing = propagate_nulls(type_, column).is_null().to_pylist()
    bounds = (to_python_values(parts.subtype, bound) for bound in (parts.lower, parts.upper))
    rows = zip(missing, *bounds, parts.lower_inc.tolist(), parts.upper_inc.tolist(), parts.empty.tolist(), strict=True)
    return [None if null else Range(*row) for null, *row in rows]


def _to_datetimes(
    column: pa.Array, storage_type: pa.DataType, convert: Callable[[int], object], format_value: Callable[[int], str]
) -> list[object]:
    values: list[object] = []
    for number in column.view(storage_type).to_pylist():
        value = None if number is None else convert(number)
        values.append(format_value(number) if isinstance(value, str) else value)  # beyond Python's range
    return values

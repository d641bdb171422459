"""Columns of Arrow types as SQL types: which conversions workers do exactly as the embedded engine does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.storage.files.types import find_common_type, find_type
from gpudb.types import SqlType
from gpudb.types.facts import EXACT_NUMBERS, FLOATS, INTEGERS

_NANOSECONDS = {False: "TIMESTAMP_NS", True: "TIMESTAMPTZ_NS"}
_SAME = frozenset({"bool", "bytea", "date", "timestamptz", "timestamp", "text", "varchar"})


def find_obstacle(arrow: pa.DataType, held: str, type: SqlType) -> str:
    """Returns why workers do not convert a column of a file to an SQL type; '' if `convert` does.

    `held` is the DuckDB type in which the embedded engine reads the column.
    """
    reason = f"a column of {arrow} as {type}"
    if type.is_carried or type.labels or type.fields or type.item is not None or not _is_read(arrow, held):
        return reason
    natural = find_type(held, "")
    if natural == type or {natural.name, type.name} <= {"text", "varchar"}:
        return "" if type.name in _SAME or _is_number(type) else reason
    return "" if _is_number(type) and _is_number(natural) and find_common_type([natural, type]) == type else reason


def _is_number(type: SqlType) -> bool:
    return type.name in EXACT_NUMBERS or type.name in FLOATS


def _is_read(arrow: pa.DataType, held: str) -> bool:
    if pa.types.is_timestamp(arrow) and arrow.unit == "ns":
        return held == _NANOSECONDS[arrow.tz is not None]
    if pa.types.is_dictionary(arrow):
        return _is_text(arrow.value_type)
    return bool(
        pa.types.is_integer(arrow)
        or pa.types.is_float32(arrow)
        or pa.types.is_float64(arrow)
        or pa.types.is_boolean(arrow)
        or pa.types.is_decimal128(arrow)
        or pa.types.is_date32(arrow)
        or pa.types.is_timestamp(arrow)
        or pa.types.is_binary(arrow)
        or pa.types.is_large_binary(arrow)
        or _is_text(arrow)
    )


def _is_text(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


def is_stored_as(arrow: pa.DataType, type: SqlType) -> bool:
    """Whether stored values are those of the SQL type, or integers, floats or times of another width."""
    if pa.types.is_decimal(arrow):
        return type.name == "numeric" and int(arrow.scale) == type.numeric_digits[1]
    if pa.types.is_timestamp(arrow):
        return str(arrow.unit) != "ns"
    if pa.types.is_integer(arrow):
        return type.name in INTEGERS
    if _is_text(arrow):
        return type.name in ("text", "varchar")
    return bool(arrow in (pa.bool_(), pa.float32(), pa.float64(), pa.date32()))


def convert(array: pa.ChunkedArray, type: SqlType) -> pa.ChunkedArray:
    """Converts a column without an obstacle to `SqlType.arrow`; raises ArrowInvalid for a value that does not fit."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return _round_nanoseconds(array)
    return array if array.type == type.arrow else array.cast(type.arrow)


def _round_nanoseconds(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Rounds to microseconds, halves up."""
    rounded_type = pa.timestamp("us", array.type.tz and "UTC")
    found = []
    for chunk in array.chunks:
        valid = pc.is_valid(chunk) if chunk.null_count else None
        values = np.floor_divide(pc.fill_null(chunk.cast(pa.int64()), 0).to_numpy(zero_copy_only=False) + 500, 1000)
        rounded = pa.array(values, rounded_type)
        found.append(rounded if valid is None else pc.if_else(valid, rounded, None))
    return pa.chunked_array(found, rounded_type)

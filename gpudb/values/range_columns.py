"""Columns of ranges (represented as in `gpudb.types`): their parts, and their text and binary forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType

# range_send's flags
_EMPTY, _LOWER_INC, _UPPER_INC, _LOWER_INF, _UPPER_INF = 1, 2, 4, 8, 16
_NEEDS_QUOTES = r'["\\()\[\], \t\n\r\v\f]|^$'

Bools = npt.NDArray[np.bool_]


class Parts(NamedTuple):
    """The parts of a column of ranges. `lower` and `upper` are columns of `subtype`, NULL for infinite bounds."""

    subtype: SqlType
    lower: pa.Array
    upper: pa.Array
    empty: Bools
    lower_inc: Bools
    upper_inc: Bools


def split_ranges(type_: SqlType, column: pa.StructArray) -> Parts:
    """Splits a column of ranges into parts; the parts of NULL rows are undefined."""
    subtype = type_.subtype
    assert subtype is not None
    low_scale = high_scale = None
    if type_.is_carried:
        column, scales = column.flatten()
        low_scale, high_scale = pc.shift_right(scales, 6), pc.bit_wise_and(scales, 63)
    low, high = column.flatten()
    (low_kind, lower, low_side), (high_kind, upper, high_side) = low.flatten(), high.flatten()
    return Parts(
        subtype,
        _with_scale(lower, low_scale),
        _with_scale(upper, high_scale),
        _to_int8(low_kind) == -1,
        (_to_int8(low_kind) == 1) & (_to_int8(low_side) == 0),
        (_to_int8(high_kind) == 1) & (_to_int8(high_side) == 0),
    )


def _to_int8(column: pa.Array) -> npt.NDArray[np.int8]:
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def _with_scale(values: pa.Array, scales: pa.Array | None) -> pa.Array:
    """Returns decimals with their scales as a carried numeric."""
    if scales is None:
        return values
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays([values, scales.cast(pa.int8())], ["v", "s"], mask=mask)


def format_range_column(
    type_: SqlType, column: pa.StructArray, format_bounds: Callable[[SqlType, pa.Array], pa.StringArray]
) -> pa.StringArray:
    """Formats the ranges as PostgreSQL does; `format_bounds` formats a column of bounds."""
    parts = split_ranges(type_, column)
    low, high = (_quote_bounds(format_bounds(parts.subtype, bounds)) for bounds in (parts.lower, parts.upper))
    opening = pc.if_else(pa.array(parts.lower_inc), "[", "(")
    closing = pc.if_else(pa.array(parts.upper_inc), "]", ")")
    formatted = pc.binary_join_element_wise(opening, low, ",", high, closing, "")
    formatted = pc.if_else(pa.array(parts.empty), "empty", formatted)
    return pc.if_else(column.is_null(), None, formatted) if column.null_count else formatted


def _quote_bounds(text: pa.StringArray) -> pa.StringArray:
    needs_quotes = pc.match_substring_regex(text, _NEEDS_QUOTES)
    if pc.any(needs_quotes).as_py():
        doubled = pc.replace_substring_regex(text, r'(["\\])', r"\1\1")
        text = pc.if_else(needs_quotes, pc.binary_join_element_wise('"', doubled, '"', ""), text)
    return pc.fill_null(text, "")


def encode_range_column(
    type_: SqlType, column: pa.StructArray, encode_bounds: Callable[[SqlType, pa.Array], pa.BinaryArray]
) -> pa.BinaryArray:
    """Encodes the ranges in PostgreSQL's binary form.

    `encode_bounds` encodes a column of bounds, each after its length.
    """
    parts = split_ranges(type_, column)
    no_low, no_high = (
        ~parts.empty & bounds.is_null().to_numpy(zero_copy_only=False) for bounds in (parts.lower, parts.upper)
    )
    flags = (
        parts.empty * _EMPTY
        + parts.lower_inc * _LOWER_INC
        + parts.upper_inc * _UPPER_INC
        + no_low * _LOWER_INF
        + no_high * _UPPER_INF
    )
    low, high = (
        pc.if_else(bounds.is_null(), b"", encode_bounds(parts.subtype, bounds)) for bounds in (parts.lower, parts.upper)
    )
    heads = pa.array([bytes([flag]) for flag in flags.tolist()], pa.binary())
    encoded = pc.binary_join_element_wise(heads, low, high, b"")
    return pc.if_else(column.is_null(), None, encoded) if column.null_count else encoded


def propagate_nulls(type_: SqlType, column: pa.StructArray) -> pa.StructArray:
    """Returns the column, NULL also where its carried value is NULL."""
    if not type_.is_carried:
        return column
    value, scale = column.flatten()
    if value.null_count == column.null_count:
        return column
    return pa.StructArray.from_arrays([value, scale], fields=list(column.type), mask=value.is_null())

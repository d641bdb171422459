"""Whole Arrow columns to PostgreSQL's text form, for DataRow and COPY.

`format_text_column` returns a StringArray of the same length, NULL where the column is NULL. Arrow and numpy convert
the common types; values that they write differently (floats in scientific notation, years beyond 9999, infinities) are
found by a mask and written one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import SqlError
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC
from gpudb.values import datetime_columns
from gpudb.values.arrow_columns import round_decimals
from gpudb.values.datetime_style import get_style
from gpudb.values.float_columns import format_float_column
from gpudb.values.half_vectors import from_half_column
from gpudb.values.inet import format_network_column
from gpudb.values.interval_columns import format_interval_column
from gpudb.values.matrix_forms import format_matrix_column
from gpudb.values.money import format_money_column
from gpudb.values.numbers import format_numeric
from gpudb.values.range_columns import format_range_column, propagate_nulls
from gpudb.values.record_columns import format_record_column
from gpudb.values.sparse_vectors import format_sparse_vector
from gpudb.values.tid import format_tid_column
from gpudb.values.timetz import format_timetz_column
from gpudb.values.wide_numerics import format_column

Resolve = Callable[[str, int], str]
"""Returns the displayed name of (`regclass`, OID)."""

_PLAIN_SCALE = 6  # Arrow writes decimals below 1e-6 in scientific notation
_NEVER_QUOTED = frozenset("bool int2 int4 int8 oid float4 float8 numeric time timetz uuid box".split())
_NEEDS_QUOTES = r'[ \t\n\r\v\f{},"\\]|^$|^[nN][uU][lL][lL]$'
_HEX = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype="<u2")
_EXACT = Context(prec=100)


def format_text_column(
    type_: SqlType, column: pa.Array, zone: str = "UTC", resolve: Resolve | None = None
) -> pa.StringArray:
    """Formats the column's values as PostgreSQL does, moments and intervals in the context's style.

    `zone` is the session's TimeZone. reg* types are OIDs in the column: `resolve` names them, without it they
    stay numbers. Text longer than 2 GiB in one column is 54000: pass shorter slices.
    """
    column = unwrap(column)
    element = type_.element
    if (ranged := type_.range_type) is not None:
        ranges = format_text_column(ranged, column.flatten(), zone)
        lists = replace_items(column, ranges)
        formatted = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
        return pc.if_else(column.is_null(), None, formatted) if column.null_count else formatted
    if type_.name == "vector":
        return _format_vectors(column)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _format_lists(type_ if element is None else element, column, zone, resolve)
    arrow_type = column.type
    if type_.name in {"inet", "cidr"}:
        return format_network_column(type_, column)
    if type_.name == "money":
        return format_money_column(column)
    if type_.name == "tid":
        return format_tid_column(column)
    if type_.name == "timetz":
        return format_timetz_column(column)
    if type_.name == "matrix":
        return format_matrix_column(column)
    if type_.name in GEOMETRIC:
        from gpudb.values.geometry.texts import format_geometry_column  # imported late: rarely needed

        return format_geometry_column(type_.name, column)
    if type_.name == "halfvec":
        return _format_vectors(from_half_column(column))
    if type_.name == "sparsevec":
        return pa.array([None if key is None else format_sparse_vector(key) for key in column.to_pylist()], pa.string())
    if pa.types.is_struct(arrow_type):
        if type_.fields:
            return format_record_column(
                type_, column, lambda item, field: format_text_column(item, field, zone, resolve)
            )
        if type_.subtype is not None:
            return format_range_column(
                type_, propagate_nulls(type_, column), lambda item, bounds: format_text_column(item, bounds, zone)
            )
        return format_column(column) if type_.wide else _format_carried_numerics(column)
    if pa.types.is_floating(arrow_type):
        return format_float_column(column)
    if pa.types.is_boolean(arrow_type):
        return pc.if_else(column, "t", "f")
    if pa.types.is_decimal(arrow_type):
        return _format_decimals(column)
    if pa.types.is_timestamp(arrow_type):
        aware = type_.name == "timestamptz"
        return datetime_columns.format_timestamp_column(column, zone if aware else None)
    if pa.types.is_date(arrow_type):
        return datetime_columns.format_date_column(column)
    if pa.types.is_time(arrow_type):
        return datetime_columns.format_time_column(column)
    if pa.types.is_binary(arrow_type) or pa.types.is_large_binary(arrow_type):
        return _format_bytea(column)
    if arrow_type == pa.month_day_nano_interval():
        return format_interval_column(column, get_style().interval)
    if type_.name.startswith("reg") and pa.types.is_integer(arrow_type):
        return _format_object_names(type_.name, column, resolve)
    text = cast_to_string(column)
    if type_.padded_length is not None:
        return pc.utf8_rpad(text, width=type_.padded_length, padding=" ")
    return text


def unwrap(column: pa.Array) -> pa.Array:
    """Returns one array without dictionary, chunks or extension type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def cast_to_string(column: pa.Array) -> pa.StringArray:
    """Casts to string; 54000 beyond 2 GiB."""
    try:
        return column if column.type == pa.string() else pc.cast(column, pa.string())
    except pa.ArrowInvalid as error:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB") from error


def _format_decimals(column: pa.Array) -> pa.StringArray:
    scale = column.type.scale
    if scale <= _PLAIN_SCALE:
        return pc.cast(column, pa.string())
    # Arrow would write 0E-8: format the digits as an integer and insert the point
    whole = pa.Array.from_buffers(
        pa.decimal128(column.type.precision, 0), len(column), column.buffers(), offset=column.offset
    )
    digits = pc.cast(pc.abs(whole), pa.string())
    digits = pc.utf8_lpad(digits, width=scale + 1, padding="0")
    sign = pc.if_else(pc.less(whole, 0), "-", "")
    before = pc.utf8_slice_codeunits(digits, 0, -scale)
    after = pc.utf8_slice_codeunits(digits, -scale)
    return pc.binary_join_element_wise(pc.binary_join_element_wise(sign, before, ""), after, ".")


def _format_carried_numerics(column: pa.StructArray) -> pa.StringArray:
    values, scales = column.flatten()
    display_scales = scales.fill_null(0).to_numpy(zero_copy_only=False)
    distinct = np.unique(display_scales)
    if len(distinct) == 0:
        return pa.array([], pa.string())
    if len(distinct) == 1:
        return _format_at_scale(values, int(distinct[0]))
    order = np.argsort(display_scales, kind="stable")
    ends = np.searchsorted(display_scales[order], distinct, side="right")
    parts, start = [], 0
    for display_scale, end in zip(distinct.tolist(), ends.tolist()):
        parts.append(_format_at_scale(values.take(pa.array(order[start:end])), display_scale))
        start = end
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(inverse))


def format_numerics(column: pa.Array) -> list[str | None]:
    """Formats a short column of numerics value by value, which is faster than Arrow's calls."""
    if not pa.types.is_struct(column.type):
        return [None if value is None else format_numeric(value) for value in column.to_pylist()]
    values, scales = (part.to_pylist() for part in column.flatten())
    return [
        None if value is None else format_numeric(value.quantize(_make_unit(scale or 0), ROUND_HALF_UP, _EXACT))
        for value, scale in zip(values, scales, strict=True)
    ]


@cache
def _make_unit(scale: int) -> Decimal:
    return Decimal((0, (1,), -scale))


def _format_at_scale(values: pa.Array, scale: int) -> pa.StringArray:
    """Formats decimals with `scale` digits after the point, rounded half away from zero."""
    stored_scale = values.type.scale
    if scale >= stored_scale:
        text = _format_decimals(values)
        zeros = "0" * (scale - stored_scale)
        point = "." if stored_scale == 0 and zeros else ""
        return pc.binary_join_element_wise(text, point + zeros, "") if zeros else text
    return _format_decimals(round_decimals(values, scale))


def _format_bytea(column: pa.Array) -> pa.StringArray:
    column = pc.cast(column, pa.binary())
    count, start = len(column), column.offset
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[start : start + count + 1].astype(np.int64)
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    doubled = (offsets - offsets[0]) * 2
    if doubled[-1] > np.iinfo(np.int32).max:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
    buffers = [get_validity(column), pa.py_buffer(doubled.astype(np.int32)), pa.py_buffer(_HEX[data])]
    return pc.binary_join_element_wise("\\x", pa.StringArray.from_buffers(count, *buffers[1:], buffers[0]), "")


def get_validity(column: pa.Array) -> pa.Buffer | None:
    """Returns a validity bitmap that starts at the column's first row; None if nothing is NULL."""
    return None if column.null_count == 0 else pc.is_valid(column).buffers()[1]


def _format_object_names(name: str, column: pa.Array, resolve: Resolve | None) -> pa.StringArray:
    encoded = column.dictionary_encode()
    names = [
        "-" if oid == 0 else str(oid) if resolve is None else resolve(name, oid)
        for oid in encoded.dictionary.to_pylist()
    ]
    return pa.array(names, pa.string()).take(encoded.indices)


def _format_lists(
    type_: SqlType, column: pa.ListArray, zone: str, resolve: Resolve | None, outermost: bool = True
) -> pa.StringArray:
    items = unwrap(column.flatten())
    if has_nested_arrays(type_, items):
        text = _format_lists(type_, items, zone, resolve, outermost=False)
    else:
        text = format_text_column(type_, items, zone, resolve)
        if type_.name not in _NEVER_QUOTED:
            text = _quote_items(text)
    vector = type_.name in ("int2vector", "oidvector")
    joined = pc.binary_join(replace_items(column, pc.fill_null(text, "NULL")), " " if vector else type_.delimiter)
    enclosed = joined if vector else pc.binary_join_element_wise("{", joined, "}", "")
    if outermost and has_nested_arrays(type_, items):
        # PostgreSQL has no array of empty arrays: it is an empty array
        enclosed = pc.if_else(
            pc.match_substring_regex(enclosed, r"^[{},;]*$"), pc.if_else(pc.is_valid(enclosed), "{}", None), enclosed
        )
    return enclosed


def _format_vectors(column: pa.ListArray) -> pa.StringArray:
    joined = pc.binary_join(replace_items(column, format_float_column(column.flatten())), ",")
    return pc.binary_join_element_wise("[", joined, "]", "")


def has_nested_arrays(element: SqlType, items: pa.Array) -> bool:
    """Whether an array's items are arrays, of one dimension less: multiranges and vectors are lists too."""
    is_list = element.range_type is not None or element.name == "vector"
    return pa.types.is_list(items.type) and (not is_list or pa.types.is_list(items.type.value_type))


def replace_items(column: pa.ListArray, items: pa.Array) -> pa.ListArray:
    """Returns lists with the lengths and NULLs of `column` over other items (`column.flatten()`, converted)."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = pc.is_null(column) if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)


def _quote_items(text: pa.StringArray) -> pa.StringArray:
    needs_quotes = pc.match_substring_regex(text, _NEEDS_QUOTES)
    if not pc.any(needs_quotes).as_py():
        return text
    escaped = pc.replace_substring_regex(text, r'(["\\])', r"\\\1")
    return pc.if_else(needs_quotes, pc.binary_join_element_wise('"', escaped, '"', ""), text)

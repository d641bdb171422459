"""Whole Arrow columns to PostgreSQL's text form, for DataRow and COPY.

`text_column` returns a StringArray of the same length, NULL where the column is NULL. Arrow and numpy convert the
common types; values that they write differently (floats in scientific notation, years beyond 9999, infinities) are
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
from gpudb.values import datetime_columns
from gpudb.values.inet import network_texts
from gpudb.values.interval import interval_text
from gpudb.values.money import money_texts
from gpudb.values.numbers import float4_text, float8_text, numeric_text
from gpudb.values.range_columns import nulls_of, range_text
from gpudb.values.record_columns import record_texts
from gpudb.values.timetz import timetz_texts

Resolve = Callable[[str, int], str]
"""Returns the displayed name of (`regclass`, OID)."""

_PLAIN_SCALE = 6  # Arrow writes decimals below 1e-6 in scientific notation
_NEVER_QUOTED = frozenset("bool int2 int4 int8 oid float4 float8 numeric time timetz uuid".split())
_NEEDS_QUOTES = r'[ \t\n\r\v\f{},"\\]|^$|^[nN][uU][lL][lL]$'
_HEX = np.frombuffer(b"".join(b"%02x" % byte for byte in range(256)), dtype="<u2")
_EXACT = Context(prec=100)
_INTERVAL = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])


def text_column(type_: SqlType, column: pa.Array, zone: str = "UTC", resolve: Resolve | None = None) -> pa.StringArray:
    """Formats the column's values as PostgreSQL does.

    `zone` is the session's TimeZone. reg* types are OIDs in the column: `resolve` names them, without it they
    stay numbers. Text longer than 2 GiB in one column is 54000: pass shorter slices.
    """
    column = plain(column)
    element = type_.element
    if (ranged := type_.ranged) is not None:
        ranges = text_column(ranged, column.flatten(), zone)
        lists = list_of(column, ranges)
        made = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
        return pc.if_else(column.is_null(), None, made) if column.null_count else made
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _list_text(type_ if element is None else element, column, zone, resolve)
    held = column.type
    if type_.name in {"inet", "cidr"}:
        return network_texts(type_, column)
    if type_.name == "money":
        return money_texts(column)
    if type_.name == "timetz":
        return timetz_texts(column)
    if pa.types.is_struct(held):
        if type_.fields:
            return record_texts(type_, column, lambda item, field: text_column(item, field, zone, resolve))
        if type_.subtype is not None:
            return range_text(type_, nulls_of(type_, column), lambda item, bounds: text_column(item, bounds, zone))
        return _carried_text(column)
    if pa.types.is_floating(held):
        return _float_text(column)
    if pa.types.is_boolean(held):
        return pc.if_else(column, "t", "f")
    if pa.types.is_decimal(held):
        return _decimal_text(column)
    if pa.types.is_timestamp(held):
        aware = type_.name == "timestamptz"
        return datetime_columns.timestamp_column(column, zone if aware else None)
    if pa.types.is_date(held):
        return datetime_columns.date_column(column)
    if pa.types.is_time(held):
        return datetime_columns.time_column(column)
    if pa.types.is_binary(held) or pa.types.is_large_binary(held):
        return _bytea_text(column)
    if held == pa.month_day_nano_interval():
        return _interval_text(column)
    if type_.name.startswith("reg") and pa.types.is_integer(held):
        return _registered_text(type_.name, column, resolve)
    text = as_string(column)
    if type_.padded is not None:
        return pc.utf8_rpad(text, width=type_.padded, padding=" ")
    return text


def plain(column: pa.Array) -> pa.Array:
    """Returns one array without dictionary, chunks or extension type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def as_string(column: pa.Array) -> pa.StringArray:
    """Casts to string; 54000 beyond 2 GiB."""
    try:
        return column if column.type == pa.string() else pc.cast(column, pa.string())
    except pa.ArrowInvalid as error:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB") from error


def _float_text(column: pa.Array) -> pa.StringArray:
    text = pc.cast(column, pa.string())
    values = column.to_numpy(zero_copy_only=False)
    single = column.type != pa.float64()
    size = np.abs(values)
    # where Arrow and PostgreSQL choose the same notation
    alike = ((size > 1.0001e-4) & (size < (1e6 if single else 1e10))) | (size == 0)
    if alike.all():
        return text
    other = ~alike
    if column.null_count:
        other &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    numbers = values[other].tolist()
    if not single and ((size[other] > 1.0001e-4) & (size[other] < 1e15)).all():
        words = [word.removesuffix(".0") for word in map(repr, numbers)]
    else:
        words = list(map(float4_text if single else float8_text, numbers))
    replaced = pa.array(words, pa.string())
    return pc.replace_with_mask(text, pa.array(other), replaced)


def _decimal_text(column: pa.Array) -> pa.StringArray:
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


def _carried_text(column: pa.StructArray) -> pa.StringArray:
    values, scales = column.flatten()
    shown = scales.fill_null(0).to_numpy(zero_copy_only=False)
    kinds = np.unique(shown)
    if len(kinds) == 0:
        return pa.array([], pa.string())
    if len(kinds) == 1:
        return _at_scale(values, int(kinds[0]))
    order = np.argsort(shown, kind="stable")
    ends = np.searchsorted(shown[order], kinds, side="right")
    parts, start = [], 0
    for kind, end in zip(kinds.tolist(), ends.tolist()):
        parts.append(_at_scale(values.take(pa.array(order[start:end])), kind))
        start = end
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(inverse))


def numeric_texts(column: pa.Array) -> list[str | None]:
    """Formats a short column of numerics value by value, which is faster than Arrow's calls."""
    if not pa.types.is_struct(column.type):
        return [None if value is None else numeric_text(value) for value in column.to_pylist()]
    values, scales = (part.to_pylist() for part in column.flatten())
    return [
        None if value is None else numeric_text(value.quantize(_units(scale or 0), ROUND_HALF_UP, _EXACT))
        for value, scale in zip(values, scales, strict=True)
    ]


@cache
def _units(scale: int) -> Decimal:
    return Decimal((0, (1,), -scale))


def _at_scale(values: pa.Array, scale: int) -> pa.StringArray:
    """Formats decimals with `scale` digits after the point, rounded half away from zero."""
    held = values.type.scale
    if scale >= held:
        text = _decimal_text(values)
        zeros = "0" * (scale - held)
        point = "." if held == 0 and zeros else ""
        return pc.binary_join_element_wise(text, point + zeros, "") if zeros else text
    rounded = pc.round(values, ndigits=scale, round_mode="half_towards_infinity")
    return _decimal_text(pc.cast(rounded, pa.decimal128(values.type.precision, scale)))


def _bytea_text(column: pa.Array) -> pa.StringArray:
    column = pc.cast(column, pa.binary())
    count, start = len(column), column.offset
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[start : start + count + 1].astype(np.int64)
    data = np.frombuffer(data_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    doubled = (offsets - offsets[0]) * 2
    if doubled[-1] > np.iinfo(np.int32).max:
        raise SqlError.of("program_limit_exceeded", "the rows of a batch exceed 2 GiB")
    buffers = [validity(column), pa.py_buffer(doubled.astype(np.int32)), pa.py_buffer(_HEX[data])]
    return pc.binary_join_element_wise("\\x", pa.StringArray.from_buffers(count, *buffers[1:], buffers[0]), "")


def validity(column: pa.Array) -> pa.Buffer | None:
    """Returns a validity bitmap that starts at the column's first row; None if nothing is NULL."""
    return None if column.null_count == 0 else pc.is_valid(column).buffers()[1]


def interval_parts(column: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """Returns the months, days and nanoseconds of an interval column, as a structured array."""
    return np.frombuffer(column.buffers()[1], _INTERVAL)[column.offset : column.offset + len(column)]


def _interval_text(column: pa.Array) -> pa.StringArray:
    valid = pc.is_valid(column).to_pylist()
    parts = interval_parts(column).tolist() if len(column) else []
    return pa.array(
        [interval_text(m, d, n // 1000) if ok else None for (m, d, n), ok in zip(parts, valid)], pa.string()
    )


def _registered_text(name: str, column: pa.Array, resolve: Resolve | None) -> pa.StringArray:
    coded = column.dictionary_encode()
    names = [
        "-" if oid == 0 else str(oid) if resolve is None else resolve(name, oid) for oid in coded.dictionary.to_pylist()
    ]
    return pa.array(names, pa.string()).take(coded.indices)


def _list_text(
    type_: SqlType, column: pa.ListArray, zone: str, resolve: Resolve | None, outermost: bool = True
) -> pa.StringArray:
    items = plain(column.flatten())
    if of_arrays(type_, items):
        text = _list_text(type_, items, zone, resolve, outermost=False)
    else:
        text = text_column(type_, items, zone, resolve)
        if type_.name not in _NEVER_QUOTED:
            text = _quoted(text)
    vector = type_.name in ("int2vector", "oidvector")
    joined = pc.binary_join(list_of(column, pc.fill_null(text, "NULL")), " " if vector else ",")
    framed = joined if vector else pc.binary_join_element_wise("{", joined, "}", "")
    if outermost and of_arrays(type_, items):
        # PostgreSQL has no array of empty arrays: it is an empty array
        framed = pc.if_else(
            pc.match_substring_regex(framed, r"^[{},]*$"), pc.if_else(pc.is_valid(framed), "{}", None), framed
        )
    return framed


def of_arrays(element: SqlType, items: pa.Array) -> bool:
    """Whether an array's items are arrays, of one dimension less: a multirange is a list too."""
    return pa.types.is_list(items.type) and (element.ranged is None or pa.types.is_list(items.type.value_type))


def list_of(column: pa.ListArray, items: pa.Array) -> pa.ListArray:
    """Returns lists with the lengths and NULLs of `column` over other items (`column.flatten()`, converted)."""
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = pc.is_null(column) if column.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)


def _quoted(text: pa.StringArray) -> pa.StringArray:
    needs = pc.match_substring_regex(text, _NEEDS_QUOTES)
    if not pc.any(needs).as_py():
        return text
    escaped = pc.replace_substring_regex(text, r'(["\\])', r"\\\1")
    return pc.if_else(needs, pc.binary_join_element_wise('"', escaped, '"', ""), text)

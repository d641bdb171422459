"""Whole Arrow columns to PostgreSQL's binary form (its send functions), vectorised; big-endian throughout."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.text_search.binary_forms import encode_query, encode_vector
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC
from gpudb.values import calendar
from gpudb.values.arrow_columns import round_decimals
from gpudb.values.binary import EPOCH, NUMERIC_NEGATIVE, NUMERIC_SPECIALS
from gpudb.values.bit_strings import encode_bits_column
from gpudb.values.half_vectors import encode_half_vector_column
from gpudb.values.inet import encode_network, map_distinct
from gpudb.values.interval_columns import split_intervals
from gpudb.values.matrix_forms import encode_matrix_column
from gpudb.values.numbers import format_numeric
from gpudb.values.range_columns import encode_range_column, propagate_nulls
from gpudb.values.record_columns import encode_record_column
from gpudb.values.sparse_vectors import encode_sparse_vector_column
from gpudb.values.text_columns import (
    cast_to_string,
    format_text_column,
    get_validity,
    has_nested_arrays,
    replace_items,
    unwrap,
)
from gpudb.values.tid import encode_tid_column
from gpudb.values.timetz import encode_timetz_column
from gpudb.values.vectors import encode_vector_column

Array = npt.NDArray[np.generic]

_INTEGER_FORMATS = {
    "int2": ">i2",
    "int4": ">i4",
    "int8": ">i8",
    "money": ">i8",
    "xid8": ">i8",
    "oid": ">u4",
    "xid": ">u4",
    "cid": ">u4",
}
_FLOAT_FORMATS = {"float4": ">f4", "float8": ">f8"}
_ENCODED_TEXTS = {"tsvector": encode_vector, "tsquery": encode_query}
_FAST_DIGITS = 16
_INT64 = np.iinfo(np.int64)


def encode_binary_column(type_: SqlType, column: pa.Array) -> pa.BinaryArray:
    """Returns the column's values in PostgreSQL's binary format, NULL where the column is NULL."""
    column = unwrap(column)
    fixed = to_fixed_width(type_, column)
    if fixed is not None:
        return to_binary_array(fixed, column)
    name = type_.name
    if (ranged := type_.range_type) is not None:
        return _encode_multiranges(ranged, column)
    if name == "vector":
        return encode_vector_column(column)
    if pa.types.is_list(column.type):
        return _encode_arrays(type_, column)
    if type_.wide and name == "numeric":
        return _encode_numeric_texts(format_text_column(type_, column))
    if name == "numeric":
        return _encode_numerics(column)
    if type_.fields:
        return encode_record_column(
            type_, column, lambda item, field: prefix_lengths(encode_binary_column(item, field))
        )
    if type_.subtype is not None:
        return encode_range_column(
            type_,
            propagate_nulls(type_, column),
            lambda item, bounds: prefix_lengths(encode_binary_column(item, bounds)),
        )
    if name in {"jsonb", "jsonpath"}:
        return pc.binary_join_element_wise(b"\x01", pc.cast(cast_to_string(column), pa.binary()), b"")
    if name in _ENCODED_TEXTS:
        return map_distinct(column, _ENCODED_TEXTS[name], pa.binary())
    if name in ("inet", "cidr"):
        return map_distinct(column, lambda key: encode_network(type_, key), pa.binary())
    if name in ("macaddr", "macaddr8"):
        return pa.array([None if text is None else bytes.fromhex(text.replace(":", "")) for text in column.to_pylist()])
    if name in ("bit", "varbit"):
        return encode_bits_column(column)
    if name == "matrix":
        return encode_matrix_column(column)
    if name == "halfvec":
        return encode_half_vector_column(column)
    if name == "sparsevec":
        return encode_sparse_vector_column(column)
    if name in ("bytea", "void") or name in GEOMETRIC:
        return pc.cast(column, pa.binary())
    if name == "uuid":
        return _encode_uuids(column)
    return pc.cast(format_text_column(type_, column), pa.binary())


def to_fixed_width(type_: SqlType, column: pa.Array) -> Array | None:
    """Returns the values as a numpy array of big-endian items, with arbitrary items for NULLs; None if their width
    varies.
    """
    name = type_.name
    if name.startswith("reg") and not pa.types.is_integer(column.type):
        # The query's last step has already resolved the names for clients that request them.
        raise FeatureNotSupported(f"type {name} in binary format is not supported", hint="Cast it to oid or text.")
    if name in _INTEGER_FORMATS or name.startswith("reg"):
        return _to_int64(column, pa.int64()).astype(_INTEGER_FORMATS.get(name, ">u4"))
    if name in _FLOAT_FORMATS:
        values = pc.cast(column, pa.float64()) if column.type != pa.float32() else column
        return np.asarray(values.to_numpy(zero_copy_only=False)).astype(_FLOAT_FORMATS[name])
    if name == "bool":
        return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False)).astype(np.uint8)
    if name == "date":
        days = _to_int64(pc.cast(column, pa.date32()).view(pa.int32()), pa.int64())
        ends = (days >= calendar.MAX_DATE, days <= -calendar.MAX_DATE)
        shifted = np.select(ends, (2**31 - 1, -(2**31)), days - calendar.POSTGRES_EPOCH_DAYS)
        return shifted.astype(">i4")
    if name == "time":
        return _to_int64(pc.cast(column, pa.time64("us")).view(pa.int64()), pa.int64()).astype(">i8")
    if name == "tid":
        return encode_tid_column(column)
    if name == "timetz":
        return encode_timetz_column(column)
    if name in ("timestamp", "timestamptz"):
        timestamps = _to_int64(pc.cast(column, pa.timestamp("us", column.type.tz)).view(pa.int64()), pa.int64())
        ends = (timestamps >= calendar.MAX_TIMESTAMP, timestamps <= -calendar.MAX_TIMESTAMP)
        finite = np.where(ends[0] | ends[1], EPOCH, timestamps) - EPOCH
        return np.select(ends, (_INT64.max, _INT64.min), finite).astype(">i8")
    if name == "interval":
        parts = split_intervals(column)
        packed = np.empty(len(column), [("microseconds", ">i8"), ("days", ">i4"), ("months", ">i4")])
        packed["microseconds"] = parts["nanoseconds"] // 1000
        packed["days"], packed["months"] = parts["days"], parts["months"]
        return packed
    return None


def _to_int64(column: pa.Array, as_type: pa.DataType) -> npt.NDArray[np.int64]:
    column = column if column.type == as_type else pc.cast(column, as_type)
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def to_binary_array(values: Array, column: pa.Array | None = None) -> pa.BinaryArray:
    """Returns items of one width as a BinaryArray, NULL where `column` is."""
    values = np.ascontiguousarray(values)
    count, width = len(values), values.dtype.itemsize
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    nulls = None if column is None else get_validity(column)
    buffers = [nulls, pa.py_buffer(offsets), pa.py_buffer(values.view(np.uint8))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _encode_uuids(column: pa.Array) -> pa.BinaryArray:
    text = pc.replace_substring(pc.fill_null(cast_to_string(column), "0" * 32), "-", "")
    digits = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "")
    packed = np.frombuffer(bytes.fromhex(digits[0].as_py()), "V16")
    return to_binary_array(packed, column)


# ---- numeric: groups of four decimal digits


def _encode_numerics(column: pa.Array) -> pa.BinaryArray:
    if pa.types.is_struct(column.type):
        values, scales = column.flatten()
        display_scales = scales.fill_null(0).to_numpy(zero_copy_only=False)
        if (
            len(display_scales)
            and (display_scales == display_scales[0]).all()
            and display_scales[0] <= values.type.scale
        ):
            # one scale for all values: an exact decimal
            exact = round_decimals(values, int(display_scales[0]))
            return _encode_numerics(exact)
        return _encode_numeric_texts(format_text_column(SqlType("numeric"), column))
    if not pa.types.is_decimal(column.type):
        column = pc.cast(column, pa.decimal128(38, 0))
    count, scale = len(column), column.type.scale
    if column.type.byte_width != 16:
        column = pc.cast(column, pa.decimal128(column.type.precision, scale))
    words = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + count)]
    low, high = words[::2], words[1::2]
    if column.null_count:
        valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
        low, high = np.where(valid, low, 0), np.where(valid, high, 0)
    if scale > _FAST_DIGITS or (high != low >> 63).any() or (low == _INT64.min).any():
        return _encode_numeric_texts(format_text_column(SqlType("numeric"), column))
    return _encode_int64_numerics(low, scale, column)


def _encode_int64_numerics(values: npt.NDArray[np.int64], scale: int, column: pa.Array) -> pa.BinaryArray:
    """Encodes numerics; `values` are unscaled: value × 10^scale."""
    count = len(values)
    integer, fraction = np.divmod(np.abs(values), 10**scale)
    # the groups of four digits that these values can have before and after the point
    before, after = -(-len(str(integer.max(initial=0))) // 4), -(-scale // 4)
    width = before + after
    fraction *= 10 ** (4 * after - scale)
    digits = np.empty((width, count), np.int64)
    for at in range(before - 1, -1, -1):
        integer, digits[at] = np.divmod(integer, 10_000)
    for at in range(width - 1, before - 1, -1):
        fraction, digits[at] = np.divmod(fraction, 10_000)
    # the groups from the first to the last nonzero one are sent; none for zero
    used = digits != 0
    first, last = np.full(count, width), np.full(count, width - 1)
    for at in range(width):
        last[used[at]] = at
        first[used[width - 1 - at]] = width - 1 - at
    groups = np.empty((count, 4 + width), ">u2")
    groups[:, 0] = last - first + 1
    groups[:, 1] = np.where(first < width, before - 1 - first, 0).astype(np.int16).view(np.uint16)
    groups[:, 2] = np.where(values < 0, NUMERIC_NEGATIVE, 0)
    groups[:, 3] = scale
    groups[:, 4:] = digits.T
    is_sent = np.ones(groups.shape, bool)
    for at in range(width):
        is_sent[:, 4 + at] = (first <= at) & (at <= last)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(2 * (last - first + 5), out=offsets[1:])
    data = groups[is_sent]  # row by row: the groups that each row sends
    buffers = [get_validity(column), pa.py_buffer(offsets), pa.py_buffer(data.view(np.uint8))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _encode_numeric_texts(text: pa.StringArray) -> pa.BinaryArray:
    return pa.array([None if word is None else encode_numeric(word) for word in text.to_pylist()], pa.binary())


_INFINITE_SCALE = 0x20
"""What PostgreSQL sends as the scale of an infinity."""
_SPECIAL_SIGNS = {format_numeric(value): sign for sign, value in NUMERIC_SPECIALS.items()}


def encode_numeric(text: str) -> bytes:
    """Returns the binary form of a number in plain notation, `-1234.50`, of NaN or of an infinity."""
    if (special := _SPECIAL_SIGNS.get(text)) is not None:
        return struct.pack("!HhHH", 0, 0, special, 0 if text == "NaN" else _INFINITE_SCALE)
    integer, _, fraction = text.lstrip("-").partition(".")
    scale = len(fraction)
    integer = integer.zfill(-(-len(integer) // 4) * 4)
    fraction = fraction.ljust(-(-scale // 4) * 4, "0")
    joined = integer + fraction
    digits = [int(joined[at : at + 4]) for at in range(0, len(joined), 4)]
    weight = len(integer) // 4 - 1
    while digits and digits[0] == 0:
        del digits[0]
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = NUMERIC_NEGATIVE if text[0] == "-" and digits else 0
    return struct.pack(f"!HhHH{len(digits)}H", len(digits), weight if digits else 0, sign, scale, *digits)


# ---- arrays


def _encode_arrays(type_: SqlType, column: pa.ListArray) -> pa.BinaryArray:
    vector = {"int2vector": SqlType("int2"), "oidvector": SqlType("oid")}.get(type_.name)
    element = vector or type_.element
    if element is None:
        raise SqlError.of("internal_error", f"a list for type {type_}")
    items = unwrap(column.flatten())
    if has_nested_arrays(element, items):
        return pa.array([_encode_nested(element, row) for row in _iterate_rows(column)], pa.binary())
    body = pc.binary_join(replace_items(column, prefix_lengths(encode_binary_column(element, items))), b"")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    header = np.empty(len(column), [(name, ">i4") for name in ("dimensions", "nulls", "oid", "length", "low")])
    header["dimensions"] = 1
    ends = np.cumsum(lengths)
    nulls = np.concatenate(([0], np.cumsum(pc.is_null(items).to_numpy(zero_copy_only=False))))
    header["nulls"] = nulls[ends] > nulls[ends - lengths]
    header["oid"] = element.declared_oid
    header["length"], header["low"] = lengths, 0 if vector else 1
    empty = struct.pack("!iii", 0, 0, element.declared_oid)
    full = pc.binary_join_element_wise(to_binary_array(header), body, b"")
    if vector:
        return full
    return pc.if_else(pa.array(lengths == 0), pc.if_else(pc.is_valid(body), empty, None), full)


def _encode_multiranges(ranged: SqlType, column: pa.ListArray) -> pa.BinaryArray:
    """Encodes the number of ranges, then each range after its length."""
    body = pc.binary_join(
        replace_items(column, prefix_lengths(encode_binary_column(ranged, unwrap(column.flatten())))), b""
    )
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    encoded = pc.binary_join_element_wise(to_binary_array(counts.astype(">i4")), body, b"")
    return pc.if_else(pc.is_valid(column), encoded, None)


def prefix_lengths(items: pa.BinaryArray) -> pa.BinaryArray:
    """Prefixes each item with its length in four bytes; NULL becomes the length -1 alone."""
    rows = RowBuilder(len(items))
    rows.append_varying(items)
    return rows.build()


class RowBuilder:
    """Builder of rows from their fields. Joining costs per piece, so pieces of fixed width are merged into one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pieces: list[list[tuple[str, int | Array]] | pa.BinaryArray] = []
        self.sizes: npt.NDArray[np.int64] = np.zeros(count, np.int64)
        """The current number of bytes of each row."""

    def append_fixed(self, form: str, values: int | Array) -> None:
        """Appends a number of a numpy format, one a row or the same for all; arrays are read when rows are joined."""
        if not self._pieces or not isinstance(self._pieces[-1], list):
            self._pieces.append([])
        self._pieces[-1].append((form, values))
        self.sizes += np.dtype(form).itemsize

    def append_varying(self, items: pa.BinaryArray) -> None:
        """Appends an item a row after its length; NULL is the length -1 alone."""
        lengths = pc.binary_length(items)
        if items.null_count:
            lengths, items = pc.fill_null(lengths, -1), pc.fill_null(items, b"")
        sizes = lengths.to_numpy(zero_copy_only=False)
        self.append_fixed(">i4", sizes)
        self.sizes += np.maximum(sizes, 0)
        self._pieces.append(items)

    def append_binary(self, type_: SqlType, column: pa.Array) -> None:
        """Appends a column in binary format, each value after its length."""
        column = unwrap(column)
        values = to_fixed_width(type_, column) if column.null_count == 0 else None
        if values is None or values.dtype.names:
            self.append_varying(encode_binary_column(type_, column))
        else:
            self.append_fixed(">i4", values.dtype.itemsize)
            self.append_fixed(values.dtype.str, values)

    def build(self) -> pa.BinaryArray:
        """Returns the rows."""
        pieces = [self._merge_fields(piece) if isinstance(piece, list) else piece for piece in self._pieces]
        return pc.binary_join_element_wise(*pieces, b"") if len(pieces) > 1 else pieces[0]

    def _merge_fields(self, fields: list[tuple[str, int | Array]]) -> pa.BinaryArray:
        record = np.empty(self._count, [(f"f{at}", form) for at, (form, _) in enumerate(fields)])
        for at, (_, values) in enumerate(fields):
            record[f"f{at}"] = values
        return to_binary_array(record)


def _iterate_rows(column: pa.ListArray) -> Iterator[pa.ListArray | None]:
    for scalar in column:
        yield scalar.values if scalar.is_valid else None


def _encode_nested(element: SqlType, row: pa.Array | None) -> bytes | None:
    """Encodes one array of several dimensions."""
    if row is None:
        return None
    counts = [1, len(row)]
    while has_nested_arrays(element, row):
        row = row.flatten()
        counts.append(len(row))
    if not all(counts):
        return struct.pack("!iii", 0, 0, element.declared_oid)
    shape = [after // before for before, after in pairwise(counts)]
    head = struct.pack("!iii", len(shape), int(row.null_count > 0), element.declared_oid)
    bounds = b"".join(struct.pack("!ii", length, 1) for length in shape)
    return head + bounds + b"".join(prefix_lengths(encode_binary_column(element, row)).to_pylist())

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
from gpudb.types import SqlType
from gpudb.values import calendar
from gpudb.values.binary import EPOCH, NUMERIC_NEGATIVE
from gpudb.values.bit_strings import bits_binary
from gpudb.values.inet import each_of, network_binary
from gpudb.values.range_columns import nulls_of, range_binary
from gpudb.values.record_columns import record_binaries
from gpudb.values.text_columns import as_string, interval_parts, list_of, of_arrays, plain, text_column, validity
from gpudb.values.timetz import timetz_binary

Array = npt.NDArray[np.generic]

_INTEGERS = {
    "int2": ">i2",
    "int4": ">i4",
    "int8": ">i8",
    "money": ">i8",
    "xid8": ">i8",
    "oid": ">u4",
    "xid": ">u4",
    "cid": ">u4",
}
_FLOATS = {"float4": ">f4", "float8": ">f8"}
_FAST_DIGITS = 16
_INT64 = np.iinfo(np.int64)


def binary_column(type_: SqlType, column: pa.Array) -> pa.BinaryArray:
    """Returns the column's values in PostgreSQL's binary format, NULL where the column is NULL."""
    column = plain(column)
    fixed = fixed_width(type_, column)
    if fixed is not None:
        return binary_of(fixed, column)
    name = type_.name
    if (ranged := type_.ranged) is not None:
        return _multirange(ranged, column)
    if pa.types.is_list(column.type):
        return _array(type_, column)
    if name == "numeric":
        return _numeric(column)
    if type_.fields:
        return record_binaries(type_, column, lambda item, field: framed(binary_column(item, field)))
    if type_.subtype is not None:
        return range_binary(type_, nulls_of(type_, column), lambda item, each: framed(binary_column(item, each)))
    if name in {"jsonb", "jsonpath"}:
        return pc.binary_join_element_wise(b"\x01", pc.cast(as_string(column), pa.binary()), b"")
    if name in ("inet", "cidr"):
        return each_of(column, lambda key: network_binary(type_, key), pa.binary())
    if name in ("macaddr", "macaddr8"):
        return pa.array([None if text is None else bytes.fromhex(text.replace(":", "")) for text in column.to_pylist()])
    if name in ("bit", "varbit"):
        return bits_binary(column)
    if name in ("bytea", "void"):
        return pc.cast(column, pa.binary())
    if name == "uuid":
        return _uuid(column)
    return pc.cast(text_column(type_, column), pa.binary())


def fixed_width(type_: SqlType, column: pa.Array) -> Array | None:
    """Returns the values as a numpy array of big-endian items, with arbitrary items for NULLs; None if their width
    varies.
    """
    name = type_.name
    if name.startswith("reg") and not pa.types.is_integer(column.type):
        # The query's last step has already resolved the names for clients that request them.
        raise FeatureNotSupported(f"type {name} in binary format is not supported", hint="Cast it to oid or text.")
    if name in _INTEGERS or name.startswith("reg"):
        return _numbers(column, pa.int64()).astype(_INTEGERS.get(name, ">u4"))
    if name in _FLOATS:
        values = pc.cast(column, pa.float64()) if column.type != pa.float32() else column
        return np.asarray(values.to_numpy(zero_copy_only=False)).astype(_FLOATS[name])
    if name == "bool":
        return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False)).astype(np.uint8)
    if name == "date":
        days = _numbers(pc.cast(column, pa.date32()).view(pa.int32()), pa.int64())
        ends = (days >= calendar.MAX_DATE, days <= -calendar.MAX_DATE)
        shifted = np.select(ends, (2**31 - 1, -(2**31)), days - calendar.POSTGRES_EPOCH_DAYS)
        return shifted.astype(">i4")
    if name == "time":
        return _numbers(pc.cast(column, pa.time64("us")).view(pa.int64()), pa.int64()).astype(">i8")
    if name == "timetz":
        return timetz_binary(column)
    if name in ("timestamp", "timestamptz"):
        moments = _numbers(pc.cast(column, pa.timestamp("us", column.type.tz)).view(pa.int64()), pa.int64())
        ends = (moments >= calendar.MAX_TIMESTAMP, moments <= -calendar.MAX_TIMESTAMP)
        finite = np.where(ends[0] | ends[1], EPOCH, moments) - EPOCH
        return np.select(ends, (_INT64.max, _INT64.min), finite).astype(">i8")
    if name == "interval":
        parts = interval_parts(column)
        packed = np.empty(len(column), [("microseconds", ">i8"), ("days", ">i4"), ("months", ">i4")])
        packed["microseconds"] = parts["nanoseconds"] // 1000
        packed["days"], packed["months"] = parts["days"], parts["months"]
        return packed
    return None


def _numbers(column: pa.Array, as_type: pa.DataType) -> npt.NDArray[np.int64]:
    column = column if column.type == as_type else pc.cast(column, as_type)
    return np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False))


def binary_of(values: Array, column: pa.Array | None = None) -> pa.BinaryArray:
    """Returns items of one width as a BinaryArray, NULL where `column` is."""
    values = np.ascontiguousarray(values)
    count, width = len(values), values.dtype.itemsize
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    nulls = None if column is None else validity(column)
    buffers = [nulls, pa.py_buffer(offsets), pa.py_buffer(values.view(np.uint8))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _uuid(column: pa.Array) -> pa.BinaryArray:
    text = pc.replace_substring(pc.fill_null(as_string(column), "0" * 32), "-", "")
    digits = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "")
    packed = np.frombuffer(bytes.fromhex(digits[0].as_py()), "V16")
    return binary_of(packed, column)


# ---- numeric: groups of four decimal digits


def _numeric(column: pa.Array) -> pa.BinaryArray:
    if pa.types.is_struct(column.type):
        values, scales = column.flatten()
        shown = scales.fill_null(0).to_numpy(zero_copy_only=False)
        if len(shown) and (shown == shown[0]).all() and shown[0] <= values.type.scale:
            # one scale for all values: an exact decimal
            exact = pc.cast(
                pc.round(values, ndigits=int(shown[0]), round_mode="half_towards_infinity"),
                pa.decimal128(38, int(shown[0])),
                safe=False,
            )
            return _numeric(exact)
        return _numeric_slow(text_column(SqlType("numeric"), column))
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
        return _numeric_slow(text_column(SqlType("numeric"), column))
    return _packed_numeric(low, scale, column)


def _packed_numeric(values: npt.NDArray[np.int64], scale: int, column: pa.Array) -> pa.BinaryArray:
    """Encodes numerics; `values` are unscaled: value × 10^scale."""
    count = len(values)
    whole, fraction = np.divmod(np.abs(values), 10**scale)
    # the groups of four digits that these values can have before and after the point
    before, after = -(-len(str(whole.max(initial=0))) // 4), -(-scale // 4)
    width = before + after
    fraction *= 10 ** (4 * after - scale)
    digits = np.empty((width, count), np.int64)
    for at in range(before - 1, -1, -1):
        whole, digits[at] = np.divmod(whole, 10_000)
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
    kept = np.ones(groups.shape, bool)
    for at in range(width):
        kept[:, 4 + at] = (first <= at) & (at <= last)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(2 * (last - first + 5), out=offsets[1:])
    data = groups[kept]  # row by row: the groups that each row sends
    buffers = [validity(column), pa.py_buffer(offsets), pa.py_buffer(data.view(np.uint8))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _numeric_slow(text: pa.StringArray) -> pa.BinaryArray:
    return pa.array([None if word is None else numeric_bytes(word) for word in text.to_pylist()], pa.binary())


def numeric_bytes(text: str) -> bytes:
    """Returns the binary form of a number in plain notation: `-1234.50`."""
    whole, _, fraction = text.lstrip("-").partition(".")
    scale = len(fraction)
    whole = whole.zfill(-(-len(whole) // 4) * 4)
    fraction = fraction.ljust(-(-scale // 4) * 4, "0")
    joined = whole + fraction
    digits = [int(joined[at : at + 4]) for at in range(0, len(joined), 4)]
    weight = len(whole) // 4 - 1
    while digits and digits[0] == 0:
        del digits[0]
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = NUMERIC_NEGATIVE if text[0] == "-" and digits else 0
    return struct.pack(f"!HhHH{len(digits)}H", len(digits), weight if digits else 0, sign, scale, *digits)


# ---- arrays


def _array(type_: SqlType, column: pa.ListArray) -> pa.BinaryArray:
    vector = {"int2vector": SqlType("int2"), "oidvector": SqlType("oid")}.get(type_.name)
    element = vector or type_.element
    if element is None:
        raise SqlError.of("internal_error", f"a list for type {type_}")
    items = plain(column.flatten())
    if of_arrays(element, items):
        return pa.array([_nested(element, row) for row in _rows(column)], pa.binary())
    body = pc.binary_join(list_of(column, framed(binary_column(element, items))), b"")
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    header = np.empty(len(column), [(name, ">i4") for name in ("dimensions", "nulls", "oid", "length", "low")])
    header["dimensions"] = 1
    ends = np.cumsum(lengths)
    nulls = np.concatenate(([0], np.cumsum(pc.is_null(items).to_numpy(zero_copy_only=False))))
    header["nulls"] = nulls[ends] > nulls[ends - lengths]
    header["oid"] = element.declared_oid
    header["length"], header["low"] = lengths, 0 if vector else 1
    empty = struct.pack("!iii", 0, 0, element.declared_oid)
    full = pc.binary_join_element_wise(binary_of(header), body, b"")
    if vector:
        return full
    return pc.if_else(pa.array(lengths == 0), pc.if_else(pc.is_valid(body), empty, None), full)


def _multirange(ranged: SqlType, column: pa.ListArray) -> pa.BinaryArray:
    """Encodes the number of ranges, then each range after its length."""
    body = pc.binary_join(list_of(column, framed(binary_column(ranged, plain(column.flatten())))), b"")
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    made = pc.binary_join_element_wise(binary_of(counts.astype(">i4")), body, b"")
    return pc.if_else(pc.is_valid(column), made, None)


def framed(items: pa.BinaryArray) -> pa.BinaryArray:
    """Prefixes each item with its length in four bytes; NULL becomes the length -1 alone."""
    rows = RowPieces(len(items))
    rows.varying(items)
    return rows.joined()


class RowPieces:
    """Builder of rows from their fields. Joining costs per piece, so pieces of fixed width are merged into one."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pieces: list[list[tuple[str, int | Array]] | pa.BinaryArray] = []
        self.sizes: npt.NDArray[np.int64] = np.zeros(count, np.int64)
        """The current number of bytes of each row."""

    def fixed(self, form: str, values: int | Array) -> None:
        """Appends a number of a numpy format, one a row or the same for all; arrays are read when rows are joined."""
        if not self._pieces or not isinstance(self._pieces[-1], list):
            self._pieces.append([])
        self._pieces[-1].append((form, values))
        self.sizes += np.dtype(form).itemsize

    def varying(self, items: pa.BinaryArray) -> None:
        """Appends an item a row after its length; NULL is the length -1 alone."""
        lengths = pc.binary_length(items)
        if items.null_count:
            lengths, items = pc.fill_null(lengths, -1), pc.fill_null(items, b"")
        sizes = lengths.to_numpy(zero_copy_only=False)
        self.fixed(">i4", sizes)
        self.sizes += np.maximum(sizes, 0)
        self._pieces.append(items)

    def binary(self, type_: SqlType, column: pa.Array) -> None:
        """Appends a column in binary format, each value after its length."""
        column = plain(column)
        values = fixed_width(type_, column) if column.null_count == 0 else None
        if values is None or values.dtype.names:
            self.varying(binary_column(type_, column))
        else:
            self.fixed(">i4", values.dtype.itemsize)
            self.fixed(values.dtype.str, values)

    def joined(self) -> pa.BinaryArray:
        """Returns the rows."""
        pieces = [self._gathered(each) if isinstance(each, list) else each for each in self._pieces]
        return pc.binary_join_element_wise(*pieces, b"") if len(pieces) > 1 else pieces[0]

    def _gathered(self, fields: list[tuple[str, int | Array]]) -> pa.BinaryArray:
        record = np.empty(self._count, [(f"f{at}", form) for at, (form, _) in enumerate(fields)])
        for at, (_, values) in enumerate(fields):
            record[f"f{at}"] = values
        return binary_of(record)


def _rows(column: pa.ListArray) -> Iterator[pa.ListArray | None]:
    for scalar in column:
        yield scalar.values if scalar.is_valid else None


def _nested(element: SqlType, row: pa.Array | None) -> bytes | None:
    """Encodes one array of several dimensions."""
    if row is None:
        return None
    counts = [1, len(row)]
    while of_arrays(element, row):
        row = row.flatten()
        counts.append(len(row))
    if not all(counts):
        return struct.pack("!iii", 0, 0, element.declared_oid)
    shape = [after // before for before, after in pairwise(counts)]
    head = struct.pack("!iii", len(shape), int(row.null_count > 0), element.declared_oid)
    bounds = b"".join(struct.pack("!ii", length, 1) for length in shape)
    return head + bounds + b"".join(framed(binary_column(element, row)).to_pylist())

"""PostgreSQL's binary form of single values (send and receive functions): `parse_binary` reads a parameter.

Everything is big-endian; timestamps count from 2000-01-01. Malformed bytes raise 22P03.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from decimal import Decimal

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.text_search.binary_forms import decode_query, decode_vector
from gpudb.types import SqlType, type_by_oid
from gpudb.types.facts import GEOMETRIC
from gpudb.values import calendar
from gpudb.values.bit_strings import parse_bits_binary
from gpudb.values.half_vectors import parse_half_vector_binary
from gpudb.values.inet import parse_macaddr8_binary, parse_macaddr_binary, parse_network_binary
from gpudb.values.interval import Interval
from gpudb.values.json import parse_json, parse_jsonb
from gpudb.values.matrix_forms import parse_matrix_binary
from gpudb.values.multirange import Multirange, make_multirange
from gpudb.values.numbers import fit_numeric
from gpudb.values.range import EMPTY, Range, make_range
from gpudb.values.sparse_vectors import parse_sparse_vector_binary
from gpudb.values.text import parse_text
from gpudb.values.tid import parse_tid_binary
from gpudb.values.timetz import parse_timetz_binary
from gpudb.values.vectors import parse_vector_binary
from gpudb.values.wide_numerics import INFINITY, NAN, NEGATIVE_INFINITY

EPOCH = calendar.POSTGRES_EPOCH_DAYS * calendar.DAY
"""Microseconds from 1970 to PostgreSQL's epoch."""

NUMERIC_NEGATIVE = 0x4000
NUMERIC_SPECIALS = {0xC000: NAN, 0xD000: INFINITY, 0xF000: NEGATIVE_INFINITY}
"""What stands for a numeric's sign if it is not finite."""
_INFINITE_DATE, _INFINITE_TIMESTAMP = (1 << 31) - 1, (1 << 63) - 1


def parse_binary(type_: SqlType, data: bytes) -> object:
    """Returns the same Python values as `parse_text`. 22P03 for invalid bytes, 22021 for invalid UTF-8."""
    name = type_.name
    try:
        if type_.element is not None or name in ("int2vector", "oidvector"):
            return _read_array(type_, data)
        if (reader := _READERS.get(name)) is not None:
            return reader(type_, data)
        if type_.fields:
            return _read_record(type_, data)
        if type_.subtype is not None:
            return _read_range(type_, type_.subtype, data)
        if type_.range_type is not None:
            return _read_multirange(type_.range_type, data)
        if name.startswith("reg"):
            return _unpack("!I", data)
        # the binary form of every other type is its text
        return parse_text(type_, decode_utf8(data))
    except (struct.error, IndexError, OverflowError):
        raise _malformed_error(f"incorrect binary data format for type {type_.plain}") from None


def decode_utf8(data: bytes) -> str:
    """Decodes text from the client's UTF-8; 22021 for invalid bytes and NUL."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        invalid = data[error.start : max(error.end, error.start + 1)]
        raise _utf8_error(invalid) from None
    if "\0" in text:
        raise _utf8_error(b"\0")
    return text


def _utf8_error(invalid: bytes) -> SqlError:
    hex_bytes = " ".join(f"0x{byte:02x}" for byte in invalid)
    return SqlError.of("character_not_in_repertoire", f'invalid byte sequence for encoding "UTF8": {hex_bytes}')


def _malformed_error(message: str) -> SqlError:
    return SqlError.of("invalid_binary_representation", message)


def _unpack(layout: str, data: bytes) -> int:
    return int(struct.unpack(layout, data)[0])


def _read_geometry(type_: SqlType, data: bytes) -> bytes:
    from gpudb.values.geometry.forms import parse_geometry_binary  # imported late: rarely needed

    return parse_geometry_binary(type_.name, data)


def _read_bool(_: SqlType, data: bytes) -> bool:
    return struct.unpack("!?", data)[0] is True


def _read_float(type_: SqlType, data: bytes) -> float:
    return float(struct.unpack("!f" if type_.name == "float4" else "!d", data)[0])


def _read_numeric(type_: SqlType, data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    if len(data) != 8 + 2 * count:
        raise _malformed_error("incorrect binary data format for type numeric")
    if (special := NUMERIC_SPECIALS.get(sign)) is not None:
        return fit_numeric(type_, special)
    if sign not in (0, NUMERIC_NEGATIVE) or scale > 0x3FFF:
        raise _malformed_error('invalid sign or scale in external "numeric" value')
    digits = struct.unpack_from(f"!{count}H", data, 8)
    if any(digit > 9999 for digit in digits):
        raise _malformed_error('invalid digit in external "numeric" value')
    # PostgreSQL truncates digits beyond the display scale
    whole = 4 * (weight + 1)
    places = "".join(f"{digit:04d}" for digit in digits)
    kept = places.ljust(whole + scale, "0")[: whole + scale] if whole + scale > 0 else ""
    text = f"{'-' if sign == NUMERIC_NEGATIVE else ''}{kept or '0'}E{-scale}"
    return fit_numeric(type_, Decimal(text))


def _read_date(_: SqlType, data: bytes) -> object:
    days = _unpack("!i", data)
    if days in (_INFINITE_DATE, -_INFINITE_DATE - 1):
        return "infinity" if days > 0 else "-infinity"
    days += calendar.POSTGRES_EPOCH_DAYS
    if not calendar.FIRST_DAY <= days <= calendar.days_from_civil(5_874_897, 12, 31):
        raise SqlError.of("datetime_field_overflow", "date out of range")
    return calendar.date_from_days(days)


def _read_time(_: SqlType, data: bytes) -> object:
    value = _unpack("!q", data)
    if not 0 <= value <= calendar.DAY:
        raise SqlError.of("datetime_field_overflow", "time out of range")
    return calendar.time_from_microseconds(value)


def _read_timestamp(type_: SqlType, data: bytes) -> object:
    value = _unpack("!q", data)
    if value in (_INFINITE_TIMESTAMP, -_INFINITE_TIMESTAMP - 1):
        return "infinity" if value > 0 else "-infinity"
    value += EPOCH
    if not calendar.FIRST_DAY * calendar.DAY <= value < calendar.MAX_TIMESTAMP:
        raise SqlError.of("datetime_field_overflow", "timestamp out of range")
    return calendar.timestamp_from_microseconds(value, type_.name == "timestamptz")


def _read_interval(_: SqlType, data: bytes) -> Interval:
    microseconds, days, months = struct.unpack("!qii", data)
    return Interval(months, days, microseconds)


def _read_jsonb(_: SqlType, data: bytes) -> str:
    if data[:1] != b"\1":
        raise _malformed_error("unsupported jsonb version number")
    return parse_jsonb(decode_utf8(data[1:]))


def _read_jsonpath(type_: SqlType, data: bytes) -> str:
    if data[:1] != b"\1":
        raise _malformed_error(f"unsupported jsonpath version number: {data[0] if data else 0}")
    return str(parse_text(type_, decode_utf8(data[1:])))


def _read_uuid(_: SqlType, data: bytes) -> uuid.UUID:
    if len(data) != 16:
        raise _malformed_error("incorrect binary data format for type uuid")
    return uuid.UUID(bytes=data)


_EMPTY, _LOWER_INC, _UPPER_INC, _LOWER_INF, _UPPER_INF = 1, 2, 4, 8, 16


def _read_multirange(ranged: SqlType, data: bytes) -> Multirange:
    """Reads the number of ranges, then each range after its length."""
    ranges, at = [], 4
    for _ in range(_unpack("!I", data[:4])):
        size = _unpack("!i", data[at : at + 4])
        if size < 0 or at + 4 + size > len(data):
            raise _malformed_error("insufficient data left in message")
        assert ranged.subtype is not None
        ranges.append(_read_range(ranged, ranged.subtype, data[at + 4 : at + 4 + size]))
        at += 4 + size
    if at != len(data):
        raise _malformed_error("invalid binary multirange: trailing bytes")
    return make_multirange(ranges)


def _read_range(type_: SqlType, subtype: SqlType, data: bytes) -> Range:
    """Reads a byte of flags, then each finite bound after its length."""
    flags, at = data[0], 1
    bounds: list[object] = []
    for infinite in (_LOWER_INF, _UPPER_INF):
        if flags & (_EMPTY | infinite):
            bounds.append(None)
            continue
        size = _unpack("!i", data[at : at + 4])
        at += 4
        if size < 0 or at + size > len(data):
            raise _malformed_error("insufficient data left in message")
        bounds.append(parse_binary(subtype, data[at : at + size]))
        at += size
    if at != len(data):
        raise _malformed_error("invalid binary range: trailing bytes")
    if flags & _EMPTY:
        return EMPTY
    return make_range(type_, bounds[0], bounds[1], bool(flags & _LOWER_INC), bool(flags & _UPPER_INC))


def _read_record(type_: SqlType, data: bytes) -> tuple[object, ...]:
    count = _unpack("!i", data[:4])
    if count != len(type_.fields):
        message = f"wrong number of columns: {count}, expected {len(type_.fields)}"
        raise SqlError.of("datatype_mismatch", message)
    at, values = 4, []
    for number, (_, item) in enumerate(type_.fields, 1):
        oid, size = struct.unpack_from("!Ii", data, at)
        at += 8
        if oid != item.declared_oid:
            message = f"binary data has type {oid} instead of expected {item.declared_oid} in record column {number}"
            raise SqlError.of("datatype_mismatch", message)
        if size < -1 or at + size > len(data):
            raise _malformed_error("insufficient data left in message")
        values.append(None if size == -1 else parse_binary(item, data[at : at + size]))
        at += max(size, 0)
    if at != len(data):
        raise _malformed_error("improper binary format in record")
    return tuple(values)


def _read_array(type_: SqlType, data: bytes) -> list[object]:
    dimensions, flags, oid = struct.unpack_from("!iiI", data)
    if not 0 <= dimensions <= 6 or flags not in (0, 1):
        raise _malformed_error("invalid array header")
    lengths = []
    for at in range(dimensions):
        length, low = struct.unpack_from("!ii", data, 12 + 8 * at)
        if length < 0 or length > len(data):
            raise _malformed_error("invalid array size")
        if low not in (0, 1):
            raise FeatureNotSupported("arrays whose lower bound is not 1 are not supported")
        lengths.append(length)
    element = type_.element if type_.user is not None or type_.domain is not None else None
    if element is None:
        element = type_by_oid(oid)
    elif element.declared_oid != oid:
        raise SqlError.of(
            "datatype_mismatch", f"binary data has array element type {oid}, expected {element.declared_oid}"
        )
    at = 12 + 8 * dimensions
    total = 1 if lengths else 0
    for length in lengths:
        total *= length
    if total * 4 > len(data) - at:
        raise _malformed_error("insufficient data left in message")
    items: list[object] = []
    for _ in range(total):
        size = _unpack("!i", data[at : at + 4])
        at += 4
        if size < -1 or at + size > len(data):
            raise _malformed_error("insufficient data left in message")
        items.append(None if size == -1 else parse_binary(element, data[at : at + size]))
        at += max(size, 0)
    if at != len(data):
        raise _malformed_error("incorrect binary data format in array")
    for length in reversed(lengths[1:]):
        items = [items[start : start + length] for start in range(0, len(items), length or 1)]
    return items


_READERS: dict[str, Callable[[SqlType, bytes], object]] = {
    "bool": _read_bool,
    "int2": lambda _, data: _unpack("!h", data),
    "int4": lambda _, data: _unpack("!i", data),
    "int8": lambda _, data: _unpack("!q", data),
    "money": lambda _, data: _unpack("!q", data),
    "oid": lambda _, data: _unpack("!I", data),
    "xid": lambda _, data: _unpack("!I", data),
    "cid": lambda _, data: _unpack("!I", data),
    "tid": lambda _, data: parse_tid_binary(data),
    "float4": _read_float,
    "float8": _read_float,
    "numeric": _read_numeric,
    "bytea": lambda _, data: bytes(data),
    "date": _read_date,
    "time": _read_time,
    "timetz": parse_timetz_binary,
    "timestamp": _read_timestamp,
    "timestamptz": _read_timestamp,
    "interval": _read_interval,
    "uuid": _read_uuid,
    "inet": parse_network_binary,
    "cidr": parse_network_binary,
    "macaddr": parse_macaddr_binary,
    "macaddr8": parse_macaddr8_binary,
    "bit": parse_bits_binary,
    "varbit": parse_bits_binary,
    "json": lambda _, data: parse_json(decode_utf8(data)),
    "jsonb": _read_jsonb,
    "vector": parse_vector_binary,
    "halfvec": parse_half_vector_binary,
    "sparsevec": parse_sparse_vector_binary,
    **dict.fromkeys(GEOMETRIC, _read_geometry),
    "jsonpath": _read_jsonpath,
    "tsvector": lambda _, data: decode_vector(data),
    "tsquery": lambda _, data: decode_query(data),
    "matrix": lambda _, data: parse_matrix_binary(data),
}

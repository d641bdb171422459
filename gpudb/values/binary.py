"""PostgreSQL's binary form of single values (send and receive functions): `parse_binary` reads a parameter.

Everything is big-endian; timestamps count from 2000-01-01. Malformed bytes raise 22P03.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from decimal import Decimal

from gpudb.errors import FeatureNotSupported, NumericOutOfRange, SqlError
from gpudb.types import SqlType, by_oid
from gpudb.values import calendar
from gpudb.values.bit_strings import parse_bits_binary
from gpudb.values.inet import parse_macaddr8_binary, parse_macaddr_binary, parse_network_binary
from gpudb.values.interval import Interval
from gpudb.values.json import parse_json, parse_jsonb
from gpudb.values.multirange import Multirange, canonical
from gpudb.values.numbers import fit_numeric
from gpudb.values.range import EMPTY, Range, make_range
from gpudb.values.text import parse_text
from gpudb.values.timetz import parse_timetz_binary

EPOCH = calendar.POSTGRES_EPOCH_DAYS * calendar.DAY
"""Microseconds from 1970 to PostgreSQL's epoch."""

NUMERIC_NEGATIVE, NUMERIC_SPECIAL = 0x4000, 0xC000
_INFINITE_DATE, _INFINITE_MOMENT = (1 << 31) - 1, (1 << 63) - 1


def parse_binary(type_: SqlType, data: bytes) -> object:
    """Returns the same Python values as `parse_text`. 22P03 for invalid bytes, 22021 for invalid UTF-8."""
    name = type_.name
    try:
        if type_.element is not None or name in ("int2vector", "oidvector"):
            return _array(type_, data)
        if (reader := _READERS.get(name)) is not None:
            return reader(type_, data)
        if type_.fields:
            return _record(type_, data)
        if type_.subtype is not None:
            return _range(type_, type_.subtype, data)
        if type_.ranged is not None:
            return _multirange(type_.ranged, data)
        if name.startswith("reg"):
            return _unpack("!I", data)
        # the binary form of every other type is its text
        return parse_text(type_, decode_utf8(data))
    except (struct.error, IndexError, OverflowError):
        raise _malformed(f"incorrect binary data format for type {type_.plain}") from None


def decode_utf8(data: bytes) -> str:
    """Decodes text from the client's UTF-8; 22021 for invalid bytes and NUL."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        wrong = data[error.start : max(error.end, error.start + 1)]
        raise _not_utf8(wrong) from None
    if "\0" in text:
        raise _not_utf8(b"\0")
    return text


def _not_utf8(wrong: bytes) -> SqlError:
    shown = " ".join(f"0x{byte:02x}" for byte in wrong)
    return SqlError.of("character_not_in_repertoire", f'invalid byte sequence for encoding "UTF8": {shown}')


def _malformed(message: str) -> SqlError:
    return SqlError.of("invalid_binary_representation", message)


def _unpack(form: str, data: bytes) -> int:
    return int(struct.unpack(form, data)[0])


def _bool(_: SqlType, data: bytes) -> bool:
    return struct.unpack("!?", data)[0] is True


def _float(type_: SqlType, data: bytes) -> float:
    return float(struct.unpack("!f" if type_.name == "float4" else "!d", data)[0])


def _numeric(type_: SqlType, data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack_from("!HhHH", data)
    if len(data) != 8 + 2 * count:
        raise _malformed("incorrect binary data format for type numeric")
    if sign & NUMERIC_SPECIAL == NUMERIC_SPECIAL:
        message = "numeric NaN and infinities are not supported"
        raise FeatureNotSupported(message, hint="Use double precision.")
    if sign not in (0, NUMERIC_NEGATIVE) or scale > 0x3FFF:
        raise _malformed('invalid sign or scale in external "numeric" value')
    digits = struct.unpack_from(f"!{count}H", data, 8)
    if any(digit > 9999 for digit in digits):
        raise _malformed('invalid digit in external "numeric" value')
    if abs(weight) > 2000 or count > 2000:
        raise NumericOutOfRange("value overflows numeric format")
    whole = int("".join(f"{digit:04d}" for digit in digits) or "0")
    exponent = 4 * (weight - count + 1)
    # scaled as an integer: PostgreSQL truncates digits beyond the display scale
    shift = exponent + scale
    value = whole * 10**shift if shift >= 0 else whole // 10**-shift
    tuple_digits = tuple(int(char) for char in str(value))
    return fit_numeric(type_, Decimal((int(sign == NUMERIC_NEGATIVE), tuple_digits, -scale)))


def _date(_: SqlType, data: bytes) -> object:
    days = _unpack("!i", data)
    if days in (_INFINITE_DATE, -_INFINITE_DATE - 1):
        return "infinity" if days > 0 else "-infinity"
    days += calendar.POSTGRES_EPOCH_DAYS
    if not calendar.FIRST_DAY <= days <= calendar.days_from_civil(5_874_897, 12, 31):
        raise SqlError.of("datetime_field_overflow", "date out of range")
    return calendar.date_value(days)


def _time(_: SqlType, data: bytes) -> object:
    value = _unpack("!q", data)
    if not 0 <= value <= calendar.DAY:
        raise SqlError.of("datetime_field_overflow", "time out of range")
    return calendar.time_value(value)


def _timestamp(type_: SqlType, data: bytes) -> object:
    value = _unpack("!q", data)
    if value in (_INFINITE_MOMENT, -_INFINITE_MOMENT - 1):
        return "infinity" if value > 0 else "-infinity"
    value += EPOCH
    if not calendar.FIRST_DAY * calendar.DAY <= value < calendar.MAX_TIMESTAMP:
        raise SqlError.of("datetime_field_overflow", "timestamp out of range")
    return calendar.timestamp_value(value, type_.name == "timestamptz")


def _interval(_: SqlType, data: bytes) -> Interval:
    microseconds, days, months = struct.unpack("!qii", data)
    return Interval(months, days, microseconds)


def _jsonb(_: SqlType, data: bytes) -> str:
    if data[:1] != b"\1":
        raise _malformed("unsupported jsonb version number")
    return parse_jsonb(decode_utf8(data[1:]))


def _jsonpath(type_: SqlType, data: bytes) -> str:
    if data[:1] != b"\1":
        raise _malformed(f"unsupported jsonpath version number: {data[0] if data else 0}")
    return str(parse_text(type_, decode_utf8(data[1:])))


def _uuid(_: SqlType, data: bytes) -> uuid.UUID:
    if len(data) != 16:
        raise _malformed("incorrect binary data format for type uuid")
    return uuid.UUID(bytes=data)


_EMPTY, _LOWER_INC, _UPPER_INC, _LOWER_INF, _UPPER_INF = 1, 2, 4, 8, 16


def _multirange(ranged: SqlType, data: bytes) -> Multirange:
    """Reads the number of ranges, then each range after its length."""
    made, at = [], 4
    for _ in range(_unpack("!I", data[:4])):
        size = _unpack("!i", data[at : at + 4])
        if size < 0 or at + 4 + size > len(data):
            raise _malformed("insufficient data left in message")
        assert ranged.subtype is not None
        made.append(_range(ranged, ranged.subtype, data[at + 4 : at + 4 + size]))
        at += 4 + size
    if at != len(data):
        raise _malformed("invalid binary multirange: trailing bytes")
    return canonical(made)


def _range(type_: SqlType, subtype: SqlType, data: bytes) -> Range:
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
            raise _malformed("insufficient data left in message")
        bounds.append(parse_binary(subtype, data[at : at + size]))
        at += size
    if at != len(data):
        raise _malformed("invalid binary range: trailing bytes")
    if flags & _EMPTY:
        return EMPTY
    return make_range(type_, bounds[0], bounds[1], bool(flags & _LOWER_INC), bool(flags & _UPPER_INC))


def _record(type_: SqlType, data: bytes) -> tuple[object, ...]:
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
            raise _malformed("insufficient data left in message")
        values.append(None if size == -1 else parse_binary(item, data[at : at + size]))
        at += max(size, 0)
    if at != len(data):
        raise _malformed("improper binary format in record")
    return tuple(values)


def _array(type_: SqlType, data: bytes) -> list[object]:
    dimensions, flags, oid = struct.unpack_from("!iiI", data)
    if not 0 <= dimensions <= 6 or flags not in (0, 1):
        raise _malformed("invalid array header")
    lengths = []
    for at in range(dimensions):
        length, low = struct.unpack_from("!ii", data, 12 + 8 * at)
        if length < 0 or length > len(data):
            raise _malformed("invalid array size")
        if low not in (0, 1):
            raise FeatureNotSupported("arrays whose lower bound is not 1 are not supported")
        lengths.append(length)
    element = type_.element if type_.user is not None or type_.domain is not None else None
    if element is None:
        element = by_oid(oid)
    elif element.declared_oid != oid:
        raise SqlError.of(
            "datatype_mismatch", f"binary data has array element type {oid}, expected {element.declared_oid}"
        )
    at = 12 + 8 * dimensions
    total = 1 if lengths else 0
    for length in lengths:
        total *= length
    if total * 4 > len(data) - at:
        raise _malformed("insufficient data left in message")
    items: list[object] = []
    for _ in range(total):
        size = _unpack("!i", data[at : at + 4])
        at += 4
        if size < -1 or at + size > len(data):
            raise _malformed("insufficient data left in message")
        items.append(None if size == -1 else parse_binary(element, data[at : at + size]))
        at += max(size, 0)
    if at != len(data):
        raise _malformed("incorrect binary data format in array")
    for length in reversed(lengths[1:]):
        items = [items[start : start + length] for start in range(0, len(items), length or 1)]
    return items


_READERS: dict[str, Callable[[SqlType, bytes], object]] = {
    "bool": _bool,
    "int2": lambda _, data: _unpack("!h", data),
    "int4": lambda _, data: _unpack("!i", data),
    "int8": lambda _, data: _unpack("!q", data),
    "money": lambda _, data: _unpack("!q", data),
    "oid": lambda _, data: _unpack("!I", data),
    "xid": lambda _, data: _unpack("!I", data),
    "cid": lambda _, data: _unpack("!I", data),
    "float4": _float,
    "float8": _float,
    "numeric": _numeric,
    "bytea": lambda _, data: bytes(data),
    "date": _date,
    "time": _time,
    "timetz": parse_timetz_binary,
    "timestamp": _timestamp,
    "timestamptz": _timestamp,
    "interval": _interval,
    "uuid": _uuid,
    "inet": parse_network_binary,
    "cidr": parse_network_binary,
    "macaddr": parse_macaddr_binary,
    "macaddr8": parse_macaddr8_binary,
    "bit": parse_bits_binary,
    "varbit": parse_bits_binary,
    "json": lambda _, data: parse_json(decode_utf8(data)),
    "jsonb": _jsonb,
    "jsonpath": _jsonpath,
}

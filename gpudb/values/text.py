"""PostgreSQL's text form of single values: `parse_text` reads it, `format_text` writes it.

| type | Python value |
|---|---|
| bool; int2, int4, int8, oid | bool; int |
| float4, float8; numeric | float; Decimal |
| text, varchar, bpchar, name, json, jsonb, enums | str (bpchar without its padding, jsonb canonical) |
| bit, varbit; inet, cidr, macaddr | str of the digits; canonical str |
| bytea; uuid | bytes; uuid.UUID |
| date, time, timestamp, timestamptz | date, time, naive datetime, datetime in UTC; or a string, see `calendar` |
| money | int: cents |
| vector | tuple of float |
| matrix | bytes, see `matrix` |
| halfvec, sparsevec | bytes, see `half_vectors`, `sparse_vectors` |
| geometric types | bytes, see `geometry` |
| timetz | an aware time; or a string, see `timetz` |
| interval | Interval |
| int4range, int8range, numrange, daterange, tsrange, tstzrange | Range |
| multiranges of these | Multirange |
| arrays | list, nested for several dimensions; None is NULL |
| rows | tuple |
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable
from decimal import Decimal

from gpudb.errors import FeatureNotSupported, InvalidText, SqlError
from gpudb.text_search.queries import parse_query
from gpudb.text_search.vectors import parse_vector as parse_document
from gpudb.types import SqlType
from gpudb.types.facts import GEOMETRIC
from gpudb.values import calendar, zones
from gpudb.values.array import format_array, parse_array
from gpudb.values.bit_strings import parse_bits
from gpudb.values.bytes import parse_bytea, parse_uuid
from gpudb.values.datetime_style import get_style
from gpudb.values.datetimes import (
    format_date,
    format_timestamp,
    parse_date,
    parse_time,
    parse_timestamp,
    round_microseconds,
)
from gpudb.values.half_vectors import format_half_vector, parse_half_vector
from gpudb.values.inet import parse_macaddr, parse_macaddr8, parse_network
from gpudb.values.interval import Interval, format_in_style, parse_interval
from gpudb.values.json import parse_json, parse_jsonb
from gpudb.values.matrix_forms import format_matrix, parse_matrix
from gpudb.values.money import format_money, parse_money
from gpudb.values.multirange import Multirange, parse_multirange
from gpudb.values.numbers import (
    SPACE,
    format_float4,
    format_float8,
    format_numeric,
    parse_bool,
    parse_float,
    parse_integer,
    parse_numeric,
    parse_oid,
)
from gpudb.values.range import Range, format_range, parse_range
from gpudb.values.record import format_record, split_record
from gpudb.values.sparse_vectors import format_sparse_vector, parse_sparse_vector
from gpudb.values.tid import format_tid, parse_tid
from gpudb.values.timetz import format_timetz, parse_timetz, timetz_to_key
from gpudb.values.vectors import parse_vector

NAME_BYTES = 63

_NO_MODIFIER_BITS = 0xFFFF


def parse_text(type_: SqlType, text: str, zone: str = "UTC", now: dt.datetime | None = None) -> object:
    """Parses a value as the type's input function in PostgreSQL does.

    `zone` is the session's TimeZone, `now` the transaction's start in UTC (for `now`, `today` …). A type modifier
    applies as in an assignment: 22001 for text that is too long. Names of reg* types that are not numbers are returned
    unchanged. Errors: 22P02, 22003, 22007, 22008, 22009, 22015, 22023, and 0A000 for values that gpudb cannot
    represent.
    """
    element = type_.element
    if element is not None:
        return parse_array(text, lambda item: parse_text(element, item, zone, now), type_.delimiter)
    if type_.fields:
        items = zip(type_.fields, split_record(text, len(type_.fields)), strict=True)
        return tuple(None if field is None else parse_text(item, field, zone, now) for (_, item), field in items)
    name = type_.name
    if name == "record":
        raise FeatureNotSupported("input of anonymous composite types is not implemented")
    if (parse := _PARSERS.get(name)) is not None:
        return parse(type_, text)
    if name in ("timestamp", "timestamptz"):
        return parse_timestamp(type_, text, zones.parse_session_zone(zone), now)
    if name == "date":
        return parse_date(text, zones.parse_session_zone(zone), now)
    if name == "time":
        return parse_time(type_, text, zones.parse_session_zone(zone), now)
    if name == "timetz":
        return parse_timetz(type_, text, zones.parse_session_zone(zone), now)
    if (labels := type_.labels) is not None:
        if all(label.name != text for label in labels):
            raise InvalidText(f'invalid input value for enum {type_.user}: "{text}"')
        return text
    subtype = type_.subtype
    if subtype is not None:
        return parse_range(type_, text, lambda bound: parse_text(subtype, bound, zone, now))
    ranged = type_.range_type
    if ranged is not None:
        return parse_multirange(text, lambda range_text_: parse_text(ranged, range_text_, zone, now))
    if name.startswith("reg"):
        return parse_oid(type_, text) if re.fullmatch(r"\d+", text, re.ASCII) else text
    return text


def _fit_text(type_: SqlType, text: str) -> str:
    length = type_.length
    if length is not None and len(text) > length:
        if text[length:].strip(" "):
            message = f"value too long for type {type_}"
            raise SqlError.of("string_data_right_truncation", message)
        text = text[:length]
    return text.rstrip(" ") if type_.name == "bpchar" else text


def _truncate_name(type_: SqlType, text: str) -> str:
    return text.encode()[:NAME_BYTES].decode(errors="ignore")


def _parse_fitted_interval(type_: SqlType, text: str) -> Interval:
    value = parse_interval(text)
    if type_.modifier == -1:
        return value
    precision = type_.modifier & _NO_MODIFIER_BITS
    return Interval(value.months, value.days, round_microseconds(value.microseconds, precision))


def _parse_vector(type_: SqlType, text: str) -> list[int]:
    return [parse_integer(SqlType("int8"), word) for word in text.strip(SPACE).split()]


def _parse_geometry(type_: SqlType, text: str) -> bytes:
    from gpudb.values.geometry.texts import parse_geometry  # imported late: rarely needed

    return parse_geometry(type_.name, text)


def _make_geometry_format(name: str) -> Callable[[bytes], str]:
    def formatted(value: bytes) -> str:
        from gpudb.values.geometry.texts import format_geometry

        return format_geometry(name, value)

    return formatted


_PARSERS: dict[str, Callable[[SqlType, str], object]] = {
    "bool": lambda _, text: parse_bool(text),
    "int2": parse_integer,
    "int4": parse_integer,
    "int8": parse_integer,
    "float4": parse_float,
    "float8": parse_float,
    "numeric": parse_numeric,
    "oid": parse_oid,
    "xid": parse_oid,
    "cid": parse_oid,
    "tid": lambda _, text: parse_tid(text),
    "text": lambda _, text: text,
    "varchar": _fit_text,
    "bpchar": _fit_text,
    "inet": parse_network,
    "cidr": parse_network,
    "macaddr": lambda _, text: parse_macaddr(text),
    "macaddr8": lambda _, text: parse_macaddr8(text),
    "money": lambda _, text: parse_money(text),
    "bit": parse_bits,
    "varbit": parse_bits,
    "name": _truncate_name,
    "char": lambda _, text: text[:1],
    "bytea": lambda _, text: parse_bytea(text),
    "uuid": lambda _, text: parse_uuid(text),
    "json": lambda _, text: parse_json(text),
    "jsonb": lambda _, text: parse_jsonb(text),
    "jsonpath": lambda _, text: _parse_jsonpath(text),
    "tsvector": lambda _, text: parse_document(text),
    "tsquery": lambda _, text: parse_query(text),
    "matrix": lambda _, text: parse_matrix(text),
    "interval": _parse_fitted_interval,
    "int2vector": _parse_vector,
    "oidvector": _parse_vector,
    "vector": parse_vector,
    "halfvec": parse_half_vector,
    "sparsevec": parse_sparse_vector,
    **dict.fromkeys(GEOMETRIC, _parse_geometry),
}


def _parse_jsonpath(text: str) -> str:
    from gpudb.values.jsonpath import parse_jsonpath  # imported late: rarely needed, slow to import

    return parse_jsonpath(text)


_OF_BYTES: dict[str, Callable[[bytes], str]] = {
    "matrix": format_matrix,
    "halfvec": format_half_vector,
    "sparsevec": format_sparse_vector,
    **{name: _make_geometry_format(name) for name in GEOMETRIC},
}
"""How types are printed whose values are bytes."""
_INTEGER_FORMATS: dict[str, Callable[[int], str]] = {"money": format_money, "tid": format_tid}
"""How types are printed that integers stand for."""


def format_text(type_: SqlType, value: object, zone: str = "UTC") -> str:
    """Formats a value as the type's output function in PostgreSQL does; `zone` is the session's TimeZone."""
    element = type_.element
    if isinstance(value, tuple) and type_.name == "vector":
        return "[" + ",".join(map(format_float4, value)) + "]"
    if isinstance(value, tuple):
        pairs = zip(type_.fields, value, strict=True)
        return format_record([None if field is None else format_text(item, field, zone) for (_, item), field in pairs])
    if element is not None and isinstance(value, list):
        return format_array(value, lambda item: format_text(element, item, zone), type_.delimiter)
    match value:
        case bool():
            return "t" if value else "f"
        case int():
            formatter = _INTEGER_FORMATS.get(type_.name, str)
            return formatter(value)
        case float():
            return format_float4(value) if type_.name == "float4" else format_float8(value)
        case Decimal():
            return format_numeric(value)
        case bytes() if (form := _OF_BYTES.get(type_.name)) is not None:
            return form(value)
        case bytes():
            return "\\x" + value.hex()
        case dt.datetime():
            return format_timestamp(value, None if value.tzinfo is None else zones.parse_session_zone(zone))
        case dt.date():
            return format_date(value)
        case dt.time() if type_.name == "timetz":
            return format_timetz(timetz_to_key(value))
        case dt.time():
            return calendar.format_time(calendar.microseconds_from_time(value))
        case Interval():
            return format_in_style(value.months, value.days, value.microseconds, get_style().interval)
        case uuid.UUID():
            return str(value)
        case Range():
            subtype = type_.subtype or SqlType("text")
            return format_range(value, lambda bound: format_text(subtype, bound, zone))
        case Multirange():
            ranged = type_.range_type or SqlType("text")
            return "{" + ",".join(format_text(ranged, range_, zone) for range_ in value) + "}"
        case list():
            return " ".join(map(str, value))
    text = str(value)
    if type_.padded_length is not None:
        return text.ljust(type_.padded_length)
    if type_.name == "timestamptz":
        return format_timestamp(text, zones.parse_session_zone(zone))
    if type_.name == "timestamp":
        return format_timestamp(text)
    return format_date(text) if type_.name == "date" else text

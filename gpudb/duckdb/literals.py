"""Constants as DuckDB SQL, each of exactly the DuckDB type of its SQL type."""

from __future__ import annotations

import datetime as dt
import math
import uuid
from decimal import Decimal

from gpudb.errors import FeatureNotSupported, NumericOutOfRange, SqlError
from gpudb.types import BYTEA, MAX_DIGITS, SqlType
from gpudb.values.array import count_dimensions
from gpudb.values.inet import parse_network_key
from gpudb.values.interval import Interval
from gpudb.values.multirange import Multirange
from gpudb.values.range import Range, pack_scales, to_bounds
from gpudb.values.timetz import timetz_to_key
from gpudb.values.wide_numerics import encode_numeric

_MAX_MICROSECONDS = (2**63 - 1) // 1000
"""Limit of an interval's time: results carry it in nanoseconds."""

_SHORT = 64


def quote_literal(text: str) -> str:
    """Quotes text as a string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_identifier(text: str) -> str:
    """Quotes text as an identifier."""
    return '"' + text.replace('"', '""') + '"'


def render_literal(value: object, item: SqlType) -> str:
    """Renders a value of `item` as DuckDB SQL."""
    if value is None:
        return f"CAST(NULL AS {item.duckdb})"
    if item.item is not None and isinstance(value, list | tuple | Multirange):
        if value and item.range_type is None and count_dimensions(value) != item.dims:
            message = (
                f"an array of {count_dimensions(value)} dimensions in the place of one of {item.dims} is not supported"
            )
            raise FeatureNotSupported(message)
        items = ", ".join(render_literal(each, item.item) for each in value)
        return f"CAST([{items}] AS {item.duckdb})"
    if item.name == "vector" and isinstance(value, list | tuple):
        return f"CAST([{', '.join(map(repr, value))}] AS {item.duckdb})"
    if item.name in {"inet", "cidr"} and isinstance(value, str):
        value = parse_network_key(item, value)
    if item.name == "timetz" and isinstance(value, dt.time | str):
        return f"({timetz_to_key(value)})::BIGINT"
    if item.fields and isinstance(value, tuple):
        fields = zip(item.members, value, item.fields, strict=True)
        rendered = (f"{member} := {render_literal(each, kind)}" for member, each, (_, kind) in fields)
        return f"struct_pack({', '.join(rendered)})"
    match value:
        case list() | tuple():
            raise FeatureNotSupported("arrays of more than one dimension are not supported")
        case bool():
            return "true" if value else "false"
        case float():
            return f"{_render_float(value)}::{item.duckdb}"
        case int():
            return f"({value})::{item.duckdb}" if value < 0 else f"{value}::{item.duckdb}"
        case Decimal():
            if item.wide:
                key, scale = encode_numeric(value)
                return f"struct_pack(v := {render_literal(key, BYTEA)}, s := {scale}::SMALLINT)"
            return _render_carried(value, item) if item.is_carried else render_decimal(value, item)
        case bytes() if len(value) > _SHORT:
            return f"unhex('{value.hex()}')"
        case bytes():
            return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
        case Range():
            result = render_range(value, item)
            return f"struct_pack(v := {result}, s := {pack_scales(value)}::SMALLINT)" if item.is_carried else result
        case Interval(months=months, days=days, microseconds=microseconds):
            if abs(microseconds) > _MAX_MICROSECONDS:
                raise SqlError.of("datetime_field_overflow", "interval out of range")
            return f"(to_months({months}) + to_days({days}) + to_microseconds({microseconds}))"
        case dt.datetime():
            return f"{quote_literal(value.isoformat(' '))}::{item.duckdb}"
        case dt.date() | dt.time() | uuid.UUID():
            return f"{quote_literal(str(value))}::{item.duckdb}"
        case str():
            return quote_literal(value) if item.duckdb == "VARCHAR" else f"{quote_literal(value)}::{item.duckdb}"
        case _:
            raise TypeError(f"no literal of {type(value).__name__} for {item}")


def render_range(value: Range, item: SqlType) -> str:
    """Renders a range's two bounds, without the scales that a numrange carries."""
    subtype = item.subtype
    assert subtype is not None
    plain = SqlType("numeric", -1, subtype.numeric_digits) if subtype.is_carried else subtype
    sides = []
    for kind, bound, side in to_bounds(value):
        result = (
            f"CAST({render_literal(bound, plain)} AS {plain.duckdb})" if bound is None else render_literal(bound, plain)
        )
        sides.append(f"struct_pack(k := {kind}::TINYINT, v := {result}, s := {side}::TINYINT)")
    return "struct_pack(l := {}, u := {})".format(*sides)


def render_decimal(value: Decimal, item: SqlType) -> str:
    """Renders a numeric as a decimal; 22003 beyond 38 digits."""
    precision, scale = item.numeric_digits
    if value and (value.adjusted() >= precision - scale or display_scale(value) > scale):
        message = f"numeric of more than {MAX_DIGITS} digits is out of range"
        raise NumericOutOfRange(message, detail=f"The value is {value}.")
    return f"{quote_literal(format(value, 'f'))}::DECIMAL({precision},{scale})"


def _render_carried(value: Decimal, item: SqlType) -> str:
    return f"struct_pack(v := {render_decimal(value, item)}, s := {display_scale(value)}::TINYINT)"


def display_scale(value: object) -> int:
    """Returns how many decimals PostgreSQL displays for a numeric constant."""
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _render_float(value: float) -> str:
    if math.isnan(value):
        return "'NaN'"
    if math.isinf(value):
        return "'Infinity'" if value > 0 else "'-Infinity'"
    if value == 0 and math.copysign(1.0, value) < 0:
        return "'-0.0'"  # DuckDB reads a number with a point as a decimal, which has no negative zero
    return f"({value!r})" if value < 0 else repr(value)

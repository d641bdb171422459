"""Input and output functions of types whose text DuckDB's own casts read or write otherwise."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from gpudb.duckdb.udf.registry import Registry
from gpudb.errors import SqlError
from gpudb.types import BYTEA, DATE, FLOAT4, FLOAT8, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType
from gpudb.values import calendar
from gpudb.values.array import parse_array
from gpudb.values.interval import Interval
from gpudb.values.json import parse_json, parse_jsonb
from gpudb.values.money import money_words
from gpudb.values.numbers import parse_numeric
from gpudb.values.record import split_record
from gpudb.values.text import parse_text
from gpudb.values.text_columns import text_column
from gpudb.values.timetz import timetz_key

_NAME_BYTES = 63
_INT32, _INT64 = 1 << 31, 1 << 63


def register(registry: Registry) -> None:
    """Registers the input and output functions of types."""
    for name, held in (
        ("int2", "SMALLINT"), ("int4", "INTEGER"), ("int8", "BIGINT"), ("float4", "FLOAT"), ("float8", "DOUBLE"),
    ):  # fmt: skip
        registry.scalar(f"pg_{name}_in_slow", "VARCHAR", held, _reader(SqlType(name)))
    registry.scalar("pg_bool_in_slow", "VARCHAR", "BOOLEAN", _reader(SqlType("bool")))
    registry.scalar("pg_oid_in", "VARCHAR", "BIGINT", _reader(SqlType("oid")))
    registry.scalar("pg_numeric_in_slow", "VARCHAR", "VARCHAR", _numeric)
    registry.scalar("pg_bytea_in", "VARCHAR", "BLOB", _reader(BYTEA))
    registry.scalar("pg_uuid_in", "VARCHAR", "VARCHAR", lambda text: str(parse_text(SqlType("uuid"), text)))
    registry.scalar("pg_date_in_slow", "VARCHAR VARCHAR", "DATE", _moment(DATE, calendar.days_of))
    registry.scalar("pg_time_in_slow", "VARCHAR VARCHAR", "TIME", _moment(TIME, calendar.time_of))
    registry.scalar(
        "pg_timestamp_in_slow", "VARCHAR VARCHAR", "TIMESTAMP", _moment(TIMESTAMP, calendar.microseconds_of)
    )
    registry.scalar(
        "pg_timestamptz_in_zone",
        "VARCHAR VARCHAR",
        "TIMESTAMPTZ",
        _moment(TIMESTAMPTZ, calendar.microseconds_of),
    )
    for name in ("bit", "varbit"):
        registry.scalar(f"pg_{name}_in", "VARCHAR", "VARCHAR", _reader(SqlType(name)))
    registry.scalar("pg_timetz_in", "VARCHAR VARCHAR", "BIGINT", _moment(SqlType("timetz"), timetz_key))
    registry.columns("pg_timetz_text", "BIGINT", "VARCHAR", _writer(SqlType("timetz")))
    registry.scalar("pg_money_in", "VARCHAR", "BIGINT", _reader(SqlType("money")))
    registry.scalar("pg_money_words", "BIGINT", "VARCHAR", money_words)
    registry.columns("pg_money_text", "BIGINT", "VARCHAR", _writer(SqlType("money")))
    registry.scalar("pg_interval_in", "VARCHAR", "INTERVAL", _interval)
    registry.scalar("pg_json_in", "VARCHAR", "VARCHAR", parse_json)
    registry.scalar("pg_jsonb_in", "VARCHAR", "VARCHAR", parse_jsonb)
    registry.scalar("pg_name_in", "VARCHAR", "VARCHAR", lambda t: t.encode()[:_NAME_BYTES].decode(errors="ignore"))
    registry.scalar("pg_record_in", "VARCHAR INTEGER", "VARCHAR[]", split_record)
    registry.scalar("pg_array_in", "VARCHAR", "VARCHAR[]", _items)
    for name, item, held in (
        ("float4_text_slow", FLOAT4, "FLOAT"),
        ("float8_text_slow", FLOAT8, "DOUBLE"),
        ("date_text_slow", DATE, "DATE"),
        ("timestamp_text_slow", TIMESTAMP, "TIMESTAMP"),
        ("interval_text", INTERVAL, "INTERVAL"),
    ):
        registry.columns(f"pg_{name}", held, "VARCHAR", _writer(item))
    registry.columns("pg_timestamptz_text_in", "TIMESTAMPTZ VARCHAR", "VARCHAR", _timestamptz_text)


def _reader(item: SqlType) -> Callable[[str], object]:
    return lambda text: parse_text(item, text)


def _moment(item: SqlType, number: Callable[[Any], int]) -> Callable[[str, str], int]:
    return lambda text, zone: number(parse_text(item, text, zone))


def _numeric(text: str) -> str:
    """Formats the number in plain notation."""
    value = parse_numeric(SqlType("numeric"), text)
    assert isinstance(value, Decimal)
    return format(value, "f")


def _interval(text: str) -> tuple[int, int, int]:
    value = parse_text(INTERVAL, text)
    assert isinstance(value, Interval)
    return interval_value(value.months, value.days, value.microseconds)


def interval_value(months: int, days: int, microseconds: int) -> tuple[int, int, int]:
    """Returns an interval as Arrow holds it; 22008 if it does not fit 64 bits of nanoseconds (292 years of hours)."""
    nanoseconds = microseconds * 1000
    if not -_INT64 <= nanoseconds < _INT64 or not all(-_INT32 <= part < _INT32 for part in (months, days)):
        raise SqlError.of("datetime_field_overflow", "interval out of range")
    return months, days, nanoseconds


def _items(text: str) -> list[object]:
    made = parse_array(text, lambda item: item)
    if any(isinstance(item, list) for item in made):
        raise SqlError.of("feature_not_supported", "arrays of more than one dimension are not supported")
    return made


def _writer(item: SqlType) -> Callable[[pa.Array], pa.Array]:
    return lambda column: text_column(item, column)


def _timestamptz_text(column: pa.Array, zones: pa.Array) -> pa.Array:
    zone = zones[0].as_py() if len(zones) else "UTC"
    return text_column(TIMESTAMPTZ, column, zone)

"""Input and output functions of types whose text DuckDB's own casts read or write otherwise."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.types import BYTEA, DATE, FLOAT4, FLOAT8, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType
from gpudb.values import calendar
from gpudb.values.array import parse_array
from gpudb.values.interval import Interval
from gpudb.values.json import parse_json, parse_jsonb
from gpudb.values.money import spell_money
from gpudb.values.numbers import parse_numeric
from gpudb.values.record import split_record
from gpudb.values.text import parse_text
from gpudb.values.text_columns import format_text_column
from gpudb.values.timetz import timetz_to_key

_NAME_BYTES = 63
_INT32, _INT64 = 1 << 31, 1 << 63


def register(registry: FunctionRegistry) -> None:
    """Registers the input and output functions of types."""
    for name, duckdb_type in (
        ("int2", "SMALLINT"), ("int4", "INTEGER"), ("int8", "BIGINT"), ("float4", "FLOAT"), ("float8", "DOUBLE"),
    ):  # fmt: skip
        registry.add_scalar(f"pg_{name}_in_slow", "VARCHAR", duckdb_type, _input_function(SqlType(name)))
    registry.add_scalar("pg_bool_in_slow", "VARCHAR", "BOOLEAN", _input_function(SqlType("bool")))
    registry.add_scalar("pg_oid_in", "VARCHAR", "BIGINT", _input_function(SqlType("oid")))
    registry.add_scalar("pg_numeric_in_slow", "VARCHAR", "VARCHAR", _numeric_in)
    registry.add_scalar("pg_bytea_in", "VARCHAR", "BLOB", _input_function(BYTEA))
    registry.add_scalar("pg_uuid_in", "VARCHAR", "VARCHAR", lambda text: str(parse_text(SqlType("uuid"), text)))
    registry.add_scalar(
        "pg_date_in_slow", "VARCHAR VARCHAR", "DATE", _datetime_input_function(DATE, calendar.days_from_date)
    )
    registry.add_scalar(
        "pg_time_in_slow", "VARCHAR VARCHAR", "TIME", _datetime_input_function(TIME, calendar.microseconds_from_time)
    )
    registry.add_scalar(
        "pg_timestamp_in_slow",
        "VARCHAR VARCHAR",
        "TIMESTAMP",
        _datetime_input_function(TIMESTAMP, calendar.microseconds_from_timestamp),
    )
    registry.add_scalar(
        "pg_timestamptz_in_zone",
        "VARCHAR VARCHAR",
        "TIMESTAMPTZ",
        _datetime_input_function(TIMESTAMPTZ, calendar.microseconds_from_timestamp),
    )
    for name in ("bit", "varbit"):
        registry.add_scalar(f"pg_{name}_in", "VARCHAR", "VARCHAR", _input_function(SqlType(name)))
    registry.add_scalar(
        "pg_timetz_in", "VARCHAR VARCHAR", "BIGINT", _datetime_input_function(SqlType("timetz"), timetz_to_key)
    )
    registry.add_columnar("pg_timetz_text", "BIGINT", "VARCHAR", _output_function(SqlType("timetz")))
    registry.add_scalar("pg_money_in", "VARCHAR", "BIGINT", _input_function(SqlType("money")))
    registry.add_scalar("pg_money_words", "BIGINT", "VARCHAR", spell_money)
    registry.add_columnar("pg_money_text", "BIGINT", "VARCHAR", _output_function(SqlType("money")))
    registry.add_scalar("pg_interval_in", "VARCHAR", "INTERVAL", _interval_in)
    registry.add_scalar("pg_json_in", "VARCHAR", "VARCHAR", parse_json)
    registry.add_scalar("pg_jsonb_in", "VARCHAR", "VARCHAR", parse_jsonb)
    registry.add_scalar("pg_name_in", "VARCHAR", "VARCHAR", lambda t: t.encode()[:_NAME_BYTES].decode(errors="ignore"))
    registry.add_scalar("pg_record_in", "VARCHAR INTEGER", "VARCHAR[]", split_record)
    registry.add_scalar("pg_array_in", "VARCHAR", "VARCHAR[]", _array_in)
    for name, item, duckdb_type in (
        ("float4_text_slow", FLOAT4, "FLOAT"),
        ("float8_text_slow", FLOAT8, "DOUBLE"),
        ("date_text_slow", DATE, "DATE"),
        ("timestamp_text_slow", TIMESTAMP, "TIMESTAMP"),
        ("interval_text", INTERVAL, "INTERVAL"),
    ):
        registry.add_columnar(f"pg_{name}", duckdb_type, "VARCHAR", _output_function(item))
    registry.add_columnar("pg_timestamptz_text_in", "TIMESTAMPTZ VARCHAR", "VARCHAR", _timestamptz_text)


def _input_function(item: SqlType) -> Callable[[str], object]:
    return lambda text: parse_text(item, text)


def _datetime_input_function(item: SqlType, number: Callable[[Any], int]) -> Callable[[str, str], int]:
    return lambda text, zone: number(parse_text(item, text, zone))


def _numeric_in(text: str) -> str:
    """Formats the number in plain notation."""
    value = parse_numeric(SqlType("numeric"), text)
    assert isinstance(value, Decimal)
    return format(value, "f")


def _interval_in(text: str) -> tuple[int, int, int]:
    value = parse_text(INTERVAL, text)
    assert isinstance(value, Interval)
    return to_arrow_interval(value.months, value.days, value.microseconds)


def to_arrow_interval(months: int, days: int, microseconds: int) -> tuple[int, int, int]:
    """Returns an interval as Arrow holds it; 22008 if it does not fit 64 bits of nanoseconds (292 years of hours)."""
    nanoseconds = microseconds * 1000
    if not -_INT64 <= nanoseconds < _INT64 or not all(-_INT32 <= part < _INT32 for part in (months, days)):
        raise SqlError.of("datetime_field_overflow", "interval out of range")
    return months, days, nanoseconds


def _array_in(text: str) -> list[object]:
    result = parse_array(text, lambda item: item)
    if any(isinstance(item, list) for item in result):
        raise SqlError.of("feature_not_supported", "arrays of more than one dimension are not supported")
    return result


def _output_function(item: SqlType) -> Callable[[pa.Array], pa.Array]:
    return lambda column: format_text_column(item, column)


def _timestamptz_text(column: pa.Array, zones: pa.Array) -> pa.Array:
    zone = zones[0].as_py() if len(zones) else "UTC"
    return format_text_column(TIMESTAMPTZ, column, zone)

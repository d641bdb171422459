"""Input and output functions of types whose text DuckDB's own casts read or write otherwise."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa

from gpudb.catalog.row_addresses import ADDRESSES
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.styles import in_style, over_style, read_zone
from gpudb.errors import SqlError
from gpudb.types import BYTEA, DATE, FLOAT4, FLOAT8, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, SqlType
from gpudb.values import calendar
from gpudb.values.array import MAX_DIMENSIONS, count_dimensions, parse_array
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
    numbers: tuple[tuple[str, str, SqlType, Callable[[Any], int]], ...] = (
        ("date_in_slow", "DATE", DATE, calendar.days_from_date),
        ("time_in_slow", "TIME", TIME, calendar.microseconds_from_time),
        ("timestamp_in_slow", "TIMESTAMP", TIMESTAMP, calendar.microseconds_from_timestamp),
        ("timestamptz_in_zone", "TIMESTAMPTZ", TIMESTAMPTZ, calendar.microseconds_from_timestamp),
        ("timetz_in_zone", "BIGINT", SqlType("timetz"), timetz_to_key),
    )
    for name, duckdb_type, item, number in numbers:
        read = in_style(_datetime_input_function(item, number))
        registry.add_scalar(f"pg_{name}", "VARCHAR VARCHAR VARCHAR", duckdb_type, read)
    for name in ("bit", "varbit"):
        registry.add_scalar(f"pg_{name}_in", "VARCHAR", "VARCHAR", _input_function(SqlType(name)))
    registry.add_columnar("pg_timetz_text", "BIGINT", "VARCHAR", _output_function(SqlType("timetz")))
    registry.add_scalar("pg_tid_in", "VARCHAR", "BIGINT", _input_function(SqlType("tid")))
    registry.add_columnar("pg_tid_text", "BIGINT", "VARCHAR", _output_function(SqlType("tid")))
    registry.add_columnar("pg_row_address", "VARCHAR BIGINT", "BIGINT", ADDRESSES.locate)
    registry.add_scalar("pg_money_in", "VARCHAR", "BIGINT", _input_function(SqlType("money")))
    registry.add_scalar("pg_money_words", "BIGINT", "VARCHAR", spell_money)
    registry.add_columnar("pg_money_text", "BIGINT", "VARCHAR", _output_function(SqlType("money")))
    registry.add_scalar("pg_interval_in_style", "VARCHAR VARCHAR", "INTERVAL", in_style(_interval_in))
    registry.add_scalar("pg_json_in", "VARCHAR", "VARCHAR", parse_json)
    registry.add_scalar("pg_jsonb_in", "VARCHAR", "VARCHAR", parse_jsonb)
    registry.add_scalar("pg_name_in", "VARCHAR", "VARCHAR", lambda t: t.encode()[:_NAME_BYTES].decode(errors="ignore"))
    registry.add_scalar("pg_record_in", "VARCHAR INTEGER", "VARCHAR[]", split_record)
    for dims in range(1, MAX_DIMENSIONS + 1):
        nested = "VARCHAR" + "[]" * dims
        registry.add_scalar(f"pg_array_in_{dims}", "VARCHAR", nested, partial(_array_in, dims=dims))
        boxes = partial(_array_in, dims=dims, delimiter=";")
        registry.add_scalar(f"pg_box_array_in_{dims}", "VARCHAR", nested, boxes)
    registry.add_scalar("pg_array_with_dims", "VARCHAR INTEGER", "VARCHAR", _keep_with_dimensions)
    for name, item, duckdb_type in (
        ("float4_text_slow", FLOAT4, "FLOAT"),
        ("float8_text_slow", FLOAT8, "DOUBLE"),
    ):
        registry.add_columnar(f"pg_{name}", duckdb_type, "VARCHAR", _output_function(item))
    for name, item, duckdb_type in (
        ("date_text_in", DATE, "DATE"),
        ("timestamp_text_in", TIMESTAMP, "TIMESTAMP"),
        ("interval_text_in", INTERVAL, "INTERVAL"),
    ):
        registry.add_columnar(f"pg_{name}", f"{duckdb_type} VARCHAR", "VARCHAR", over_style(_output_function(item)))
    registry.add_columnar("pg_timestamptz_text_in", "TIMESTAMPTZ VARCHAR VARCHAR", "VARCHAR", _timestamptz_text)


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


def _array_in(text: str, dims: int, delimiter: str = ",") -> list[object]:
    """Returns the elements of an array as nested lists; 0A000 for another number of dimensions."""
    result = parse_array(text, lambda item: item, delimiter)
    if result and (found := count_dimensions(result)) != dims:
        several = "arrays of more than one dimension are not supported"
        message = several if dims == 1 else f"an array of {found} dimensions beside one of {dims} is not supported"
        raise SqlError.of("feature_not_supported", message)
    return result


def _keep_with_dimensions(text: str, dims: int) -> str | None:
    return text if count_dimensions(parse_array(text, lambda item: item)) == dims else None


def _output_function(item: SqlType) -> Callable[[pa.Array], pa.Array]:
    return lambda column: format_text_column(item, column)


def _timestamptz_text(column: pa.Array, zones: pa.Array, styles: pa.Array) -> pa.Array:
    zone = read_zone(styles[0].as_py(), zones[0].as_py()) if len(zones) else "UTC"
    return over_style(lambda moments: format_text_column(TIMESTAMPTZ, moments, zone))(column, styles)

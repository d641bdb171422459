"""EXTRACT and date_part: the fields of dates, times, timestamps and intervals."""

from __future__ import annotations

from collections.abc import Sequence

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.functions.let import let
from gpudb.functions.registry import Operands, declare
from gpudb.functions.text_literal import known
from gpudb.types import SqlType, exact

_SPELLINGS = {
    "microseconds": "microsecond microseconds microsecon us usec usecs useconds",
    "milliseconds": "millisecond milliseconds millisecon ms msec msecs mseconds",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "quarter": "qtr quarter",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
    "dow": "dow",
    "isodow": "isodow",
    "doy": "doy",
    "isoyear": "isoyear",
    "julian": "jd julian j",
    "epoch": "epoch",
    "timezone": "timezone",
    "timezone_hour": "timezone_h timezone_hour",
    "timezone_minute": "timezone_m timezone_minute",
}
UNITS = {name: unit for unit, names in _SPELLINGS.items() for name in names.split()}
"""Every spelling of a field → its name."""

_CLOCK = {
    "microseconds": "microsecond({0})",
    "milliseconds": "microsecond({0})",
    "second": "microsecond({0})",
    "minute": "minute({0})",
    "hour": "hour({0})",
}
_CALENDAR = {
    "day": "day({0})",
    "week": "week({0})",
    "month": "month({0})",
    "quarter": "quarter({0})",
    # there is no year 0: DuckDB counts 1 BC as one
    "year": "(year({0}) - CAST(year({0}) <= 0 AS INTEGER))",
    "decade": "CAST(floor(year({0}) / 10) AS BIGINT)",
    "century": "century({0})",
    "millennium": "millennium({0})",
    "dow": "dayofweek({0})",
    "isodow": "isodow({0})",
    "doy": "dayofyear({0})",
    "isoyear": "(isoyear({0}) - CAST(isoyear({0}) <= 0 AS INTEGER))",
}
_MONOTONIC = frozenset({"year", "decade", "century", "millennium", "isoyear", "julian", "epoch"})
_ZONE = {
    "timezone": "datepart('timezone', {0})",
    "timezone_hour": "datepart('timezone_hour', {0})",
    "timezone_minute": "datepart('timezone_minute', {0})",
}
_EPOCH = {"epoch": "epoch_us({0})"}
_FIELDS: dict[str, dict[str, str]] = {
    "timestamp": {**_CLOCK, **_CALENDAR, **_EPOCH},
    "timestamptz": {**_CLOCK, **_CALENDAR, **_EPOCH, **_ZONE},
    "date": {
        **_CALENDAR,
        "epoch": "(({0} - DATE '1970-01-01') * 86400)",
        "julian": "(({0} - DATE '1970-01-01') + 2440588)",
    },
    "time": {**_CLOCK, "epoch": "epoch_us({0})"},
    "timetz": {
        **{unit: made.format("pg_make_time(pg_timetz_us({0}))") for unit, made in _CLOCK.items()},
        "epoch": "pg_timetz_utc({0})",
        "timezone": "(-pg_timetz_west({0}))",
        "timezone_hour": "(-pg_timetz_west({0}) // 3600)",
        "timezone_minute": "(-pg_timetz_west({0}) // 60 % 60)",
    },
    "interval": {
        **_CLOCK,
        "day": "pg_interval_days({0})",
        "month": "datepart('month', {0})",
        "quarter": "(datepart('month', {0}) // 3 + 1)",
        "year": "datepart('year', {0})",
        "decade": "(datepart('year', {0}) // 10)",
        "century": "(datepart('year', {0}) // 100)",
        "millennium": "(datepart('year', {0}) // 1000)",
        # a year counts 365.25 days, a month 30
        "epoch": "((CAST(datepart('year', {0}) AS HUGEINT) * 1461 + datepart('month', {0}) * 120"
        " + pg_interval_days({0}) * 4) * 21600000000 + pg_interval_us({0}))",
    },
}
_MICROSECONDS = {"second": 6, "milliseconds": 3, "epoch": 6}
_DIGITS = {"epoch": 19, "microseconds": 8, "julian": 10, "hour": 10}


def _unit(operands: Operands) -> str:
    """The field that the first operand names; 22023 for none such, 0A000 for one that the type lacks."""
    text, item = known(operands, 0), operands.types[1]
    if text is None:
        raise FeatureNotSupported("a field that is not constant is not supported")
    return _named(text, item)


def _named(text: str, item: SqlType) -> str:
    unit = UNITS.get(text.strip().lower())
    if unit is None:
        raise SqlError.of("invalid_parameter_value", f'unit "{text.lower()}" not recognized for type {item.plain}')
    if unit not in _FIELDS[item.name]:
        if unit == "julian":
            raise FeatureNotSupported(f"julian days of {item.plain} are not supported")
        raise FeatureNotSupported(f'unit "{text.lower()}" not supported for type {item.plain}')
    return unit


def _scale(unit: str, item: SqlType) -> int:
    return 0 if item.name == "date" else _MICROSECONDS.get(unit, 0)


def _extract(operands: Operands) -> str:
    unit, item = _unit(operands), operands.types[1]
    scale = _scale(unit, item)
    held = operands.result.duckdb

    def body(value: str) -> str:
        made = _FIELDS[item.name][unit].format(value)
        if scale:
            made = f"(CAST({made} AS DECIMAL(19,0)) * {'0.' + '0' * (scale - 1) + '1'})"
        made = f"CAST({made} AS {held})"
        if unit in _MONOTONIC and item.name in {"date", "timestamp", "timestamptz"}:
            wrong = f"CAST(pg_error('0A000', 'numeric NaN and infinities are not supported') AS {held})"
            made = f"(CASE WHEN isinf({value}) THEN {wrong} ELSE {made} END)"
        return made

    return let(body, operands.sql[1])


def _extract_type(types: Sequence[SqlType], constants: Sequence[object]) -> SqlType:
    if not isinstance(constants[0], str):
        return exact(25, 6)
    unit = _named(constants[0], types[1])
    scale = _scale(unit, types[1])
    if types[1].name == "interval" and unit != "epoch":
        return exact(12 + scale, scale)
    return exact(_DIGITS.get(unit, 7 if not scale else 8) + (scale if unit == "epoch" else 0), scale)


declare("extract", _extract, result=_extract_type)


def _date_part(operands: Operands) -> str:
    item = operands.types[1]
    if item.name == "date":  # PostgreSQL takes the fields of its midnight
        item = SqlType("timestamp")
    text = known(operands, 0)
    if text is None:
        raise FeatureNotSupported("a field that is not constant is not supported")
    if UNITS.get(text.strip().lower()) == "julian" and item.name in {"timestamp", "timestamptz"}:
        days = "epoch_us({0}) / 86400000000.0::DOUBLE + 2440588"
        if item.name == "timestamp":
            return f"CAST({days.format(f'CAST({operands.sql[1]} AS TIMESTAMP)')} AS DOUBLE)"
    unit = _named(text, item)
    scale = _scale(unit, item)

    def body(value: str) -> str:
        if operands.types[1].name == "date":
            value = f"CAST({value} AS TIMESTAMP)"
        made = _FIELDS[item.name][unit].format(value)
        made = f"(CAST({made} AS DOUBLE) / {10**scale})" if scale else f"CAST({made} AS DOUBLE)"
        if unit in _MONOTONIC and item.name in {"timestamp", "timestamptz"}:
            infinite = f"CASE WHEN {value} > TIMESTAMP '1970-01-01' THEN 'Infinity' ELSE '-Infinity' END"
            made = f"(CASE WHEN isinf({value}) THEN CAST({infinite} AS DOUBLE) ELSE {made} END)"
        return made

    return let(body, operands.sql[1])


declare("date_part", _date_part)

"""Dates and timestamps: fields, truncation, differences, and arithmetic with days and constant intervals."""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from gpudb.engine.gpu.lower.error_codes import CALENDAR, DATE, error_if
from gpudb.engine.gpu.lower.functions.registry import lowers
from gpudb.engine.gpu.lower.functions.text import constant_text
from gpudb.engine.gpu.lower.functions.text_output import YEAR_1, YEAR_10000
from gpudb.engine.gpu.lower.values import Value, divide, interval_value
from gpudb.functions.fields import UNITS
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.types import SqlType
from gpudb.values.calendar import DAY


def _no_year_zero(year: pl.Expr) -> pl.Expr:
    """Converts a year: the one before 1 is -1 in PostgreSQL, and 0 in Polars."""
    return pl.when(year > 0).then(year).otherwise(year - 1)


def _count_periods(year: pl.Expr, size: int) -> pl.Expr:
    """Returns a year's century or millennium: the first starts with year 1, the one before it is -1."""
    return pl.when(year > 0).then((year + (size - 1)) // size).otherwise(0 - (size - year) // size)


def _thursday(value: pl.Expr) -> pl.Expr:
    """Returns the Thursday of a day's week, whose year is the ISO year."""
    return (value.cast(pl.Date).cast(pl.Int32) + (4 - value.dt.weekday().cast(pl.Int32))).cast(pl.Date)


_FIELDS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "year": lambda value: _no_year_zero(value.dt.year()),
    "month": lambda value: value.dt.month(),
    "day": lambda value: value.dt.day(),
    "hour": lambda value: value.dt.hour(),
    "minute": lambda value: value.dt.minute(),
    "quarter": lambda value: value.dt.quarter(),
    "week": lambda value: (_thursday(value).dt.ordinal_day() - 1) // 7 + 1,
    "isoyear": lambda value: _no_year_zero(_thursday(value).dt.year()),
    "doy": lambda value: value.dt.ordinal_day(),
    "dow": lambda value: value.dt.weekday() % 7,
    "isodow": lambda value: value.dt.weekday(),
    "decade": lambda value: value.dt.year() // 10,
    "century": lambda value: _count_periods(value.dt.year(), 100),
    "millennium": lambda value: _count_periods(value.dt.year(), 1000),
}
_OF_DAYS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "epoch": lambda days: days * 86_400,
    "julian": lambda days: days + 2_440_588,
}
_OF_ZONES = {"timezone", "timezone_hour", "timezone_minute"}


_SUBSECOND_SCALES = {"second": 6, "milliseconds": 3, "microseconds": 0, "epoch": 6}
"""Fields with decimals: their scale in microseconds."""


_YEAR_2000 = 946_684_800
"""Seconds since 1970."""
_CALENDAR_DAYS = 11_200_000
"""libcudf's years have 16 bits: it supports fields within this many days of 1970."""


def calendar_error(value: Value) -> pl.Expr:
    """Returns the error code of timestamps whose fields are not supported here."""
    days = value.type.name == "date"
    count, limit = (pl.Int32, _CALENDAR_DAYS) if days else (pl.Int64, _CALENDAR_DAYS * DAY)
    return error_if(value.expr.cast(count).abs() > limit, CALENDAR)


@lowers("to_timestamp(float8)")
def _from_epoch(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Converts seconds since 1970, rounded to microseconds as seconds since 2000."""
    seconds = args[0].expr.cast(pl.Float64)
    inside = seconds.abs() <= _CALENDAR_DAYS * 86_400
    since = (pl.when(inside).then(seconds).otherwise(None) - _YEAR_2000) * 1e6
    result = since.round(0, mode="half_to_even").cast(pl.Int64) + _YEAR_2000 * 1_000_000
    return Value(kind, result.cast(pl.Datetime("us")), error_if(~inside, CALENDAR))


def field_name(value: Value) -> str:
    """Returns the field that a constant names."""
    name = constant_text(value).strip().lower()
    return UNITS.get(name, name)


def _microseconds(name: str, value: pl.Expr) -> pl.Expr:
    """Returns a timestamp's microseconds within its minute, or since 1970."""
    if name == "epoch":
        return value.cast(pl.Int64)
    return value.dt.second().cast(pl.Int64) * 1_000_000 + value.dt.microsecond().cast(pl.Int64)


def _field(args: tuple[Value, ...]) -> pl.Expr:
    name = field_name(args[0])
    if name in _OF_DAYS and args[1].type.name == "date":
        return _OF_DAYS[name](args[1].expr.cast(pl.Int32).cast(pl.Int64))
    if name in _OF_ZONES and args[1].type.name == "timestamptz":
        # These are lowered only in a session at UTC.
        return pl.when(args[1].expr.is_null()).then(None).otherwise(0)
    if name not in _FIELDS:
        raise NotSupportedOnWorkers(f"extract({name})")
    if args[1].type.name == "date" and name in {"hour", "minute"}:
        raise NotSupportedOnWorkers(f"extract({name} from date)")
    return _FIELDS[name](args[1].expr)


@lowers("extract(text,date) extract(text,timestamp)")
def _extract(args: tuple[Value, ...], kind: SqlType) -> Value:
    name = field_name(args[0])
    if name in _SUBSECOND_SCALES and args[1].type.name != "date":
        if kind.is_carried or kind.numeric_digits[1] != _SUBSECOND_SCALES[name]:
            raise NotSupportedOnWorkers(f"extract({name}) as {kind.plain}")
        most = 10**19 if name == "epoch" else 60_000_000
        return Value(kind, _microseconds(name, args[1].expr), calendar_error(args[1]), (-most, most))
    digits = 10 ** kind.numeric_digits[1]
    result = _field(args).cast(pl.Int64) * digits
    shown = ((("s", pl.lit(0, pl.Int8)),)) if kind.is_carried else ()
    most = 2**31 * 86_400 if name in _OF_DAYS else 300_000
    return Value(kind, result, calendar_error(args[1]), (-most * digits, most * digits), shown)


@lowers("date_part(text,date) date_part(text,timestamp)")
def _date_part(args: tuple[Value, ...], kind: SqlType) -> Value:
    name = field_name(args[0])
    if name in _SUBSECOND_SCALES and args[1].type.name != "date":
        result = _microseconds(name, args[1].expr).cast(pl.Float64)
        return Value(kind, divide(result, pl.lit(float(10 ** _SUBSECOND_SCALES[name]))), calendar_error(args[1]))
    return Value(kind, _field(args).cast(pl.Float64), calendar_error(args[1]))


_UNITS = {"day": "1d", "hour": "1h", "minute": "1m", "second": "1s"}
_DAYS_INTO: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "week": lambda value: value.dt.weekday().cast(pl.Int64) - 1,
    "month": lambda value: value.dt.day().cast(pl.Int64) - 1,
    "quarter": lambda value: value.dt.ordinal_day().cast(pl.Int64) - 1 - _days_before_quarter(value),
    "year": lambda value: value.dt.ordinal_day().cast(pl.Int64) - 1,
}
"""The number of days from the start of the unit to a day."""


def _days_before_quarter(value: pl.Expr) -> pl.Expr:
    leap, quarter = value.dt.is_leap_year().cast(pl.Int64), value.dt.quarter()
    later = pl.when(quarter == 2).then(90).when(quarter == 3).then(181).otherwise(273) + leap
    return pl.when(quarter == 1).then(0).otherwise(later)


@lowers("date_trunc(text,timestamp)")
def _truncate(args: tuple[Value, ...], kind: SqlType) -> Value:
    unit = constant_text(args[0]).lower()
    value = args[1].expr
    if unit in _DAYS_INTO:
        days = value.cast(pl.Date).cast(pl.Int32).cast(pl.Int64) - _DAYS_INTO[unit](value)
        return Value(kind, (days * DAY).cast(pl.Datetime("us")), calendar_error(args[1]))
    if unit not in _UNITS:
        raise NotSupportedOnWorkers(f"date_trunc({unit})")
    return Value(kind, value.dt.truncate(_UNITS[unit]), calendar_error(args[1]))


_FORMATS = {"YYYY": "%Y", "DDD": "%j", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S"}
_PATTERN = re.compile("(YYYY|DDD|MM|DD|HH24|MI|SS)|[-/:., ]", re.IGNORECASE)


@lowers("to_char(timestamp,text)")
def _to_char(args: tuple[Value, ...], kind: SqlType) -> Value:
    """Lowers patterns of numeric fields and separators."""
    pattern = constant_text(args[1])
    result, place = "", 0
    while place < len(pattern):
        found = _PATTERN.match(pattern, place)
        if found is None or pattern[place : place + 4].upper() == "SSSS":
            raise NotSupportedOnWorkers(f"to_char as {pattern}")
        result += _FORMATS[found[1].upper()] if found[1] else found[0]
        place = found.end()
    value = args[0].expr
    micros = value.cast(pl.Int64)
    in_range = (micros >= YEAR_1 * DAY) & (micros < YEAR_10000 * DAY)
    safe = pl.when(in_range).then(value).otherwise(None)
    text = safe.dt.to_string(result) if "%" in result else pl.when(value.is_null()).then(None).otherwise(pl.lit(result))
    return Value(kind, text, error_if(~in_range, CALENDAR))


_FIRST, _LAST = -2_440_588, 2_145_031_948
"""PostgreSQL's first and last date, in days since 1970."""


_INFINITY = {"date": 2**31 - 1, "timestamp": 2**63 - 1}
"""The representation of infinity, in days or microseconds since 1970; negated for -infinity."""


def is_infinite(value: Value) -> pl.Expr:
    """Returns whether a date or timestamp is infinite."""
    days = value.type.name == "date"
    return value.expr.cast(pl.Int32 if days else pl.Int64).abs() == _INFINITY["date" if days else "timestamp"]


def to_timestamp(expr: pl.Expr, source: SqlType) -> pl.Expr:
    """Converts a date or timestamp to a timestamp."""
    return expr if source.name != "date" else _convert_count(expr, pl.Int32(), "date", pl.Datetime("us"), "timestamp")


def to_date(expr: pl.Expr, source: SqlType) -> pl.Expr:
    """Converts a date or timestamp to a date."""
    return expr if source.name == "date" else _convert_count(expr, pl.Int64(), "timestamp", pl.Date(), "date")


def _convert_count(expr: pl.Expr, counted: pl.DataType, source: str, dtype: pl.DataType, target: str) -> pl.Expr:
    count = expr.cast(counted)
    infinity = pl.when(count > 0).then(_INFINITY[target]).otherwise(-_INFINITY[target])
    whole = infinity.cast(pl.Int32 if target == "date" else pl.Int64).cast(dtype)
    return pl.when(count.abs() == _INFINITY[source]).then(whole).otherwise(expr.cast(dtype))


def _add_days_checked(args: tuple[Value, ...], sign: int, kind: SqlType) -> Value:
    days = args[0].expr.cast(pl.Int32).cast(pl.Int64) + sign * args[1].expr.cast(pl.Int64)
    in_range = (days >= _FIRST) & (days <= _LAST)
    stays = is_infinite(args[0]) & days.is_not_null()
    result = pl.when(in_range).then(days).otherwise(None).cast(pl.Int32).cast(pl.Date)
    result, in_range = pl.when(stays).then(args[0].expr).otherwise(result), in_range | stays
    return Value(kind, result, error_if(~in_range, DATE))


@lowers("date_pli")
def _add_days(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _add_days_checked(args, 1, kind)


@lowers("date_mii")
def _subtract_days(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _add_days_checked(args, -1, kind)


@lowers("date_mi")
def _days_between(args: tuple[Value, ...], kind: SqlType) -> Value:
    result = args[0].expr.cast(pl.Int32) - args[1].expr.cast(pl.Int32)
    return Value(kind, result, error_if(is_infinite(args[0]) | is_infinite(args[1]), CALENDAR))


@lowers("timestamp_mi timestamptz_mi")
def _between(args: tuple[Value, ...], kind: SqlType) -> Value:
    one, other = (each.expr.cast(pl.Int64) for each in args)
    micros = one - other
    wrapped = ((one < 0) != (other < 0)) & ((micros < 0) != (one < 0))
    error = error_if(is_infinite(args[0]) | is_infinite(args[1]) | wrapped, CALENDAR)
    # As PostgreSQL does: whole days and a rest, both of one sign.
    size = micros.abs()
    sign = pl.when(micros < 0).then(-1).otherwise(1)
    days = (size // DAY * sign).cast(pl.Int32)
    months = pl.when(micros.is_null()).then(None).otherwise(pl.lit(0, pl.Int32))
    return interval_value(kind, months, days, size % DAY * sign).with_error(error)


def _move_by_interval(sign: int) -> Callable[[tuple[Value, ...], SqlType], Value]:
    def move(args: tuple[Value, ...], kind: SqlType) -> Value:
        value, span = args
        start = to_timestamp(value.expr, value.type)
        if span.constant:
            months, days, micros = pl.select([span.part(part).alias(part) for part in "mdu"]).row(0)
            if months is None:
                return Value(kind, pl.lit(None, pl.Datetime("us")))
            infinity = start.cast(pl.Int64).abs() == _INFINITY["timestamp"]
            finite = pl.when(infinity).then(None).otherwise(start)
            result = finite.dt.offset_by(f"{sign * months}mo") if months else finite
            result = result + pl.lit(sign * (days * DAY + micros), pl.Int64).cast(pl.Duration("us"))
            return Value(kind, pl.when(infinity).then(start).otherwise(result))
        raise NotSupportedOnWorkers("timestamp arithmetic with an interval that is not constant")

    return move


@lowers("integer_pl_date")
def _days_after(args: tuple[Value, ...], kind: SqlType) -> Value:
    return _add_days_checked((args[1], args[0]), 1, kind)


lowers("interval_pl_date interval_pl_timestamp")(lambda args, kind: _move_by_interval(1)((args[1], args[0]), kind))
lowers("date_pl_interval timestamp_pl_interval")(_move_by_interval(1))
lowers("date_mi_interval timestamp_mi_interval")(_move_by_interval(-1))

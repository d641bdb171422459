"""Interval arithmetic that spills fractions into smaller units (PostgreSQL's timestamp.c)."""

from __future__ import annotations

import math

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.text_forms import to_arrow_interval
from gpudb.errors import SqlError
from gpudb.values import zones
from gpudb.values.calendar import DAY

_INT32, _INT64 = 1 << 31, 1 << 63
_DAY_S, _MONTH_DAYS = 86_400, 30

Fields = tuple[int, int, int]


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    parts = "INTEGER INTEGER BIGINT"
    registry.add_scalar("pg_made_zone", "VARCHAR", "VARCHAR", _make_zone)
    registry.add_scalar("pg_zone_utc", "VARCHAR BIGINT", "BIGINT",
                    lambda name, us: zones.get_offset(zones.parse_zone(name), us))  # fmt: skip
    registry.add_scalar("pg_zone_local", "VARCHAR BIGINT", "BIGINT",
                    lambda name, us: zones.get_local_offset(zones.parse_zone(name), us))  # fmt: skip
    registry.add_scalar("pg_interval_mul", f"{parts} DOUBLE", "INTERVAL", multiply)
    registry.add_scalar("pg_interval_div", f"{parts} DOUBLE", "INTERVAL", _divide)
    registry.add_scalar(
        "pg_justify_days", parts, "INTERVAL", lambda m, d, us: to_arrow_interval(*justify_days(m, d, us))
    )
    registry.add_scalar(
        "pg_justify_hours", parts, "INTERVAL", lambda m, d, us: to_arrow_interval(*justify_hours(m, d, us))
    )
    registry.add_scalar("pg_justify_interval", parts, "INTERVAL", _justify_interval)


def _out_of_range() -> SqlError:
    return SqlError.of("datetime_field_overflow", "interval out of range")


def _to_integer(value: float, bound: int) -> int:
    if not math.isfinite(value) or not -bound <= value < bound:
        raise _out_of_range()
    return int(value)


def _round_to_micros(value: float) -> float:
    return round(value * 1e6) / 1e6


def multiply(months: int, days: int, microseconds: int, factor: float) -> Fields:
    """Multiplies an interval by a factor. 22008 beyond the range."""
    return _spill_fractions(months * factor, days * factor, microseconds * factor)


def _divide(months: int, days: int, microseconds: int, factor: float) -> Fields:
    if factor == 0:
        raise SqlError.of("division_by_zero", "division by zero")
    return _spill_fractions(months / factor, days / factor, microseconds / factor)


def _spill_fractions(months: float, days: float, microseconds: float) -> Fields:
    if not math.isfinite(microseconds):
        raise _out_of_range()
    whole_months, whole_days = _to_integer(months, _INT32), _to_integer(days, _INT32)
    month_days = _round_to_micros((months - whole_months) * _MONTH_DAYS)
    seconds = _round_to_micros((days - whole_days + month_days - int(month_days)) * _DAY_S)
    if abs(seconds) >= _DAY_S:
        whole_days += int(seconds / _DAY_S)
        seconds -= int(seconds / _DAY_S) * _DAY_S
    total = whole_days + int(month_days)
    if not -_INT32 <= total < _INT32:
        raise _out_of_range()
    return to_arrow_interval(whole_months, total, _to_integer(round(microseconds + seconds * 1e6), _INT64))


def justify_days(months: int, days: int, microseconds: int) -> Fields:
    """Converts each 30 days into a month."""
    whole = int(days / _MONTH_DAYS)
    months, days = months + whole, days - whole * _MONTH_DAYS
    if months > 0 > days:
        months, days = months - 1, days + _MONTH_DAYS
    elif months < 0 < days:
        months, days = months + 1, days - _MONTH_DAYS
    return months, days, microseconds


def justify_hours(months: int, days: int, microseconds: int) -> Fields:
    """Converts each 24 hours into a day."""
    whole = abs(microseconds) // DAY * (1 if microseconds >= 0 else -1)
    days, microseconds = days + whole, microseconds - whole * DAY
    if days > 0 > microseconds:
        days, microseconds = days - 1, microseconds + DAY
    elif days < 0 < microseconds:
        days, microseconds = days + 1, microseconds - DAY
    return months, days, microseconds


def _justify_interval(months: int, days: int, microseconds: int) -> Fields:
    whole = abs(microseconds) // DAY * (1 if microseconds >= 0 else -1)
    days, microseconds = days + whole, microseconds - whole * DAY
    whole = int(days / _MONTH_DAYS)
    months, days = months + whole, days - whole * _MONTH_DAYS
    if months > 0 and (days < 0 or (days == 0 and microseconds < 0)):
        months, days = months - 1, days + _MONTH_DAYS
    elif months < 0 and (days > 0 or (days == 0 and microseconds > 0)):
        months, days = months + 1, days - _MONTH_DAYS
    if days > 0 > microseconds:
        days, microseconds = days - 1, microseconds + DAY
    elif days < 0 < microseconds:
        days, microseconds = days + 1, microseconds - DAY
    return to_arrow_interval(months, days, microseconds)


def _make_zone(text: str) -> str:
    """Converts make_timestamptz's zone for AT TIME ZONE: here a bare offset counts eastward, not westward. 22023."""
    if text[:1].isdigit():
        hint = 'Numeric time zones must have "-" or "+" as first character.'
        message = f'invalid input syntax for type numeric time zone: "{text}"'
        raise SqlError.of("invalid_parameter_value", message, hint=hint)
    try:
        seconds = zones.parse_offset(text)
    except SqlError:
        raise SqlError.of("invalid_parameter_value", f'numeric time zone "{text}" out of range') from None
    if seconds is None:
        return text
    minutes, rest = divmod(abs(seconds), 60)
    return f"{'+' if seconds < 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"

"""Conversions to dates, times, timestamps and intervals, in the session's time zone."""

from __future__ import annotations

from gpudb.functions.let_binding import bind_values
from gpudb.types import SqlType
from gpudb.types.facts import STRINGS
from gpudb.types.interval_fields import ALL_INTERVAL_FIELDS, INTERVAL_FIELDS


def _cast(sql: str, target: SqlType) -> str:
    return f"CAST({sql} AS {target.duckdb})"


def to_date(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        return f"pg_date_in({sql})"
    return _cast(sql, target) if source.name in {"timestamp", "timestamptz"} else sql if source.name == "date" else None


def to_time(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        time = f"pg_time_in({sql})"
    elif source.name in {"timestamp", "timestamptz"}:
        time = bind_values(lambda v: f"(CASE WHEN isfinite({v}) THEN CAST(CAST({v} AS TIMESTAMP) AS TIME) END)", sql)
    elif source.name == "interval":
        time = f"pg_interval_time({sql})"
    elif source.name == "timetz":
        time = bind_values(lambda k: f"pg_make_time(pg_timetz_us({k}))", sql)
    elif source.name == "time":
        time = sql
    else:
        return None
    if target.modifier in {-1, 6} or (source.name == "time" and source.modifier == target.modifier):
        return time
    return f"pg_make_time(pg_round_us(pg_time_us({time}), {target.modifier}))"


def to_timestamp(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        timestamp = f"pg_{target.name}_in({sql})"
    elif source.name in {"date", "timestamp", "timestamptz"}:
        timestamp = sql if source.name == target.name else _cast(sql, target)
    else:
        return None
    if target.modifier in {-1, 6} or (source.name == target.name and source.modifier == target.modifier):
        return timestamp
    return f"pg_round_{target.name}({timestamp}, {target.modifier})"


def to_interval(sql: str, scale: str, source: SqlType, target: SqlType) -> str | None:
    if source.name in STRINGS:
        interval = f"pg_interval_in({sql})"
    elif source.name == "time":
        interval = f"to_microseconds(pg_time_us({sql}))"
    elif source.name == "interval":
        interval = sql
    else:
        return None
    return _restrict_interval(interval, target.modifier) if target.modifier != -1 else interval


_UNITS = {"second": 0, "minute": 60_000_000, "hour": 3_600_000_000}


def _restrict_interval(sql: str, modifier: int) -> str:
    """Restricts an interval to fields such as `day to minute`, with rounded seconds (AdjustIntervalForTypmod)."""
    fields, precision = modifier >> 16, modifier & 0xFFFF
    months, days, micros = "pg_interval_months({0})", "pg_interval_days({0})", "pg_interval_us({0})"
    if fields not in {ALL_INTERVAL_FIELDS, -1}:
        finest = next((unit for name, unit in _UNITS.items() if fields & INTERVAL_FIELDS[name]), None)
        if finest is None:
            micros = "0"
            if not fields & INTERVAL_FIELDS["day"]:
                days = "0"
                if not fields & INTERVAL_FIELDS["month"]:
                    months = f"({months} // 12 * 12)"
        elif finest:
            micros = f"({micros} // {finest} * {finest})"
    if precision < 6 and micros != "0":
        micros = f"pg_round_us({micros}, {precision})"
    return bind_values(lambda v: f"pg_make_interval({months}, {days}, {micros})".format(v), sql)

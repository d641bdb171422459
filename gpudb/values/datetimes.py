"""Dates, times of day and timestamps: parsed from PostgreSQL's text forms, and formatted.

A value within Python's years is `datetime.date`, `time` or `datetime` (naive for timestamp, in UTC for
timestamptz); values beyond and the infinities are strings that DuckDB reads (`calendar`).
"""

from __future__ import annotations

import datetime as dt

from gpudb.errors import SqlError
from gpudb.types import SqlType
from gpudb.values import calendar, zones
from gpudb.values.datetime_columns import format_moment
from gpudb.values.datetime_parser import Fields, decode_datetime
from gpudb.values.datetime_style import get_style
from gpudb.values.styled_datetimes import format_date_in_style

_LAST_DATE = calendar.days_from_civil(5_874_897, 12, 31)
_FIRST_TIMESTAMP = calendar.FIRST_DAY * calendar.DAY
_MILLENNIUM = calendar.days_from_civil(2000, 1, 1) * calendar.DAY
_LAST_TIMESTAMP = calendar.MAX_TIMESTAMP - 1  # DuckDB's limit, 29 years below PostgreSQL's
_SPECIAL_DAYS = {"today": 0, "tomorrow": 1, "yesterday": -1}


def parse_date(text: str, zone: zones.Zone, now: dt.datetime | None = None) -> dt.date | str:
    """Parses a date; 22007, 22008. `now` is the transaction's start, in UTC."""
    fields = decode_datetime(text, "date")
    special = fields.special
    if special in ("infinity", "-infinity"):
        return special
    if special == "epoch":
        days = 0
    elif special is not None:
        if special == "allballs":
            raise SqlError.of("invalid_datetime_format", f'invalid input syntax for type date: "{text}"')
        days = _get_local_now(zone, now) // calendar.DAY + _SPECIAL_DAYS.get(special, 0)
    else:
        assert fields.days is not None
        days = fields.days
    if not calendar.FIRST_DAY <= days <= _LAST_DATE:
        raise SqlError.of("datetime_field_overflow", f'date out of range: "{text}"')
    return calendar.date_from_days(days)


def parse_time(type_: SqlType, text: str, zone: zones.Zone, now: dt.datetime | None = None) -> dt.time | str:
    """Parses a time of day, ignoring zone and date; `24:00:00` is a string. 22007, 22008."""
    fields = decode_datetime(text, "time", time_only=True)
    if fields.special == "now":
        time = _get_local_now(zone, now) % calendar.DAY
    elif fields.special == "allballs":
        time = 0
    elif fields.special is not None or fields.time is None:
        raise SqlError.of("invalid_datetime_format", f'invalid input syntax for type time: "{text}"')
    else:
        time = fields.time
    return calendar.time_from_microseconds(round_microseconds(time, type_.modifier))


def parse_timestamp(type_: SqlType, text: str, zone: zones.Zone, now: dt.datetime | None = None) -> dt.datetime | str:
    """Parses a timestamp or timestamptz, by the type's name. 22007, 22008, 22009, 22023."""
    aware = type_.name == "timestamptz"
    name = "timestamp with time zone" if aware else "timestamp"
    fields = decode_datetime(text, name)
    special = fields.special
    if special in ("infinity", "-infinity"):
        return special
    if special == "epoch":
        value = 0
    elif special == "now":
        utc = _get_utc_now(now)
        value = utc if aware else utc + zones.get_offset(zone, utc) * 1_000_000
    else:
        value = _combine(fields, text, name, zone, now)
        if aware:
            offset = zones.get_local_offset(fields.zone or zone, value)
            value -= offset * 1_000_000
    value = round_microseconds(value - _MILLENNIUM, type_.modifier) + _MILLENNIUM  # halves away from the year 2000
    if not _FIRST_TIMESTAMP <= value <= _LAST_TIMESTAMP:
        raise SqlError.of("datetime_field_overflow", f'timestamp out of range: "{text}"')
    return calendar.timestamp_from_microseconds(value, aware)


def _combine(fields: Fields, text: str, name: str, zone: zones.Zone, now: dt.datetime | None) -> int:
    if fields.special in _SPECIAL_DAYS:
        days = _get_local_now(zone, now) // calendar.DAY + _SPECIAL_DAYS[fields.special]
    elif fields.special is not None:
        raise SqlError.of("invalid_datetime_format", f'invalid input syntax for type {name}: "{text}"')
    else:
        assert fields.days is not None
        days = fields.days
    return days * calendar.DAY + (fields.time or 0)


def round_microseconds(microseconds: int, precision: int) -> int:
    """Rounds microseconds to a precision of 0 to 6 digits (-1: unchanged), halves away from zero."""
    if not 0 <= precision < 6:
        return microseconds
    unit = int(10 ** (6 - precision))
    size: int = (abs(microseconds) + unit // 2) // unit * unit
    return -size if microseconds < 0 else size


def format_date(value: dt.date | str) -> str:
    """Formats a date in the session's DateStyle."""
    return format_date_in_style(calendar.days_from_date(value), get_style())


def format_timestamp(value: dt.datetime | str, zone: zones.Zone | None = None) -> str:
    """Formats a timestamp in the session's DateStyle, with a zone a timestamptz in that zone."""
    return format_moment(calendar.microseconds_from_timestamp(value), zone, get_style())


def _get_utc_now(now: dt.datetime | None) -> int:
    return calendar.microseconds_from_timestamp(now or dt.datetime.now(dt.UTC))


def _get_local_now(zone: zones.Zone, now: dt.datetime | None) -> int:
    utc = _get_utc_now(now)
    return utc + zones.get_offset(zone, utc) * 1_000_000

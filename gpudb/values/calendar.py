"""The proleptic Gregorian calendar over PostgreSQL's whole range, and the text and Python forms of its days.

Days and microseconds count from 1970-01-01. `datetime` ends at year 9999; later dates, dates before year 1 and the
infinities are strings that DuckDB reads as the same type: `infinity`, `12000-01-01`, `0044-03-15 (BC)`,
`0044-03-15 (BC) 10:00:00`.
"""

from __future__ import annotations

import datetime as dt

DAY = 86_400_000_000
"""Microseconds in a day."""

MAX_DATE = 2_147_483_647
MAX_TIMESTAMP = 9_223_372_036_854_775_807
"""DuckDB's and Arrow's value for infinity; minus infinity is its negative (or the type's minimum)."""

POSTGRES_EPOCH_DAYS = 10_957
"""2000-01-01."""

FIRST_DAY = -2_440_588
"""4714-11-24 BC, Julian day 0: PostgreSQL's earliest day."""

_ORDINAL = 719_163  # date.toordinal of 1970-01-01
_FIRST_ORDINAL, _LAST_ORDINAL = 1, 3_652_059


def days_from_civil(year: int, month: int, day: int) -> int:
    """Returns days since 1970-01-01; year 0 is 1 BC. The day may exceed the month's length."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Returns (year, month, day) of a day since 1970-01-01; year 0 is 1 BC."""
    era, year_of_era = divmod(days + 719_468, 146_097)
    year = (year_of_era - year_of_era // 1460 + year_of_era // 36_524 - year_of_era // 146_096) // 365
    day_of_year = year_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def days_in_month(year: int, month: int) -> int:
    """Returns the number of days in a month; year 0 is 1 BC."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def format_date(days: int) -> str:
    """Formats a date as PostgreSQL does: `2020-02-29`, `0044-03-15 BC`, `12000-01-01`, `infinity`."""
    if abs(days) >= MAX_DATE:
        return "infinity" if days > 0 else "-infinity"
    year, month, day = civil_from_days(days)
    return f"{year:04d}-{month:02d}-{day:02d}" if year > 0 else f"{1 - year:04d}-{month:02d}-{day:02d} BC"


def format_time(microseconds: int) -> str:
    """Formats a time of day without trailing zeros of the second: `04:05:06.5`, `24:00:00`."""
    seconds, fraction = divmod(microseconds, 1_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def format_offset(seconds: int) -> str:
    """Formats a zone's offset east of Greenwich: `+00`, `+05:30`, `-03:30:52`."""
    sign = "-" if seconds < 0 else "+"
    minutes, second = divmod(abs(seconds), 60)
    text = f"{sign}{minutes // 60:02d}"
    if second:
        return f"{text}:{minutes % 60:02d}:{second:02d}"
    return f"{text}:{minutes % 60:02d}" if minutes % 60 else text


def format_timestamp(microseconds: int, offset: int | None = None) -> str:
    """Formats a timestamp, or with an offset (seconds east, already added to the microseconds) a timestamptz."""
    if abs(microseconds) >= MAX_TIMESTAMP:
        return "infinity" if microseconds > 0 else "-infinity"
    days, time = divmod(microseconds, DAY)
    date, _, era = format_date(days).partition(" ")
    text = f"{date} {format_time(time)}" + ("" if offset is None else format_offset(offset))
    return f"{text} {era}" if era else text


def date_from_days(days: int) -> dt.date | str:
    """Returns a date as Python's, or as a string beyond Python's range."""
    if _FIRST_ORDINAL <= days + _ORDINAL <= _LAST_ORDINAL:
        return dt.date.fromordinal(days + _ORDINAL)
    return _format_for_duckdb(format_date(days))


def time_from_microseconds(microseconds: int) -> dt.time | str:
    """Returns a time of day as Python's, or the string `24:00:00`."""
    if microseconds >= DAY:
        return format_time(microseconds)
    seconds, fraction = divmod(microseconds, 1_000_000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction)


def timestamp_from_microseconds(microseconds: int, aware: bool = False) -> dt.datetime | str:
    """Returns a timestamp as Python's (`aware`: in UTC), or as a string beyond Python's range."""
    days, time = divmod(microseconds, DAY)
    if _FIRST_ORDINAL <= days + _ORDINAL <= _LAST_ORDINAL:
        zone = dt.UTC if aware else None
        return dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(days, microseconds=time)
    return _format_for_duckdb(format_timestamp(microseconds, 0 if aware else None))


def days_from_date(value: dt.date | str) -> int:
    """The inverse of `date_from_days`."""
    if isinstance(value, str):
        return _parse(value)[0]
    return value.toordinal() - _ORDINAL


def microseconds_from_time(value: dt.time | str) -> int:
    """The inverse of `time_from_microseconds`."""
    if isinstance(value, str):
        return DAY
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond


def microseconds_from_timestamp(value: dt.datetime | str) -> int:
    """The inverse of `timestamp_from_microseconds`."""
    if isinstance(value, str):
        days, time = _parse(value)
        return (MAX_TIMESTAMP if days > 0 else -MAX_TIMESTAMP) if abs(days) >= MAX_DATE else days * DAY + time
    epoch = dt.datetime(1970, 1, 1, tzinfo=None if value.tzinfo is None else dt.UTC)
    return (value - epoch) // dt.timedelta(microseconds=1)


def _format_for_duckdb(text: str) -> str:
    if not text.endswith(" BC"):
        return text
    date, _, rest = text.removesuffix(" BC").partition(" ")
    return f"{date} (BC) {rest}".rstrip()


def _parse(text: str) -> tuple[int, int]:
    """Parses (days, microseconds) from a string that this module wrote."""
    if text.endswith("infinity"):
        return (-MAX_DATE if text[0] == "-" else MAX_DATE), 0
    date, _, time = text.replace(" (BC)", "").partition(" ")
    year, month, day = (int(part) for part in date.split("-"))
    clock, _, fraction = time.removesuffix("+00").partition(".")
    hour, minute, second = (int(part) for part in (clock or "0:0:0").split(":"))
    days = days_from_civil(1 - year if "(BC)" in text else year, month, day)
    return days, ((hour * 60 + minute) * 60 + second) * 1_000_000 + int(fraction.ljust(6, "0"))

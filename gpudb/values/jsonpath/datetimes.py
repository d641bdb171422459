"""Dates and times inside a jsonpath: .datetime(), comparisons, and output as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpudb.errors import SqlError
from gpudb.values.calendar import (
    DAY,
    days_from_civil,
    days_in_month,
    format_date,
    format_offset,
    format_time,
    format_timestamp,
)
from gpudb.values.zones import Zone, get_local_offset

Kind = Literal[
    "date", "time without time zone", "time with time zone", "timestamp without time zone", "timestamp with time zone"
]
_ISO = re.compile(
    r"(?:(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2}))?(?P<between>[T ])?"
    r"(?:(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,6}))?"
    r"(?P<zone>\s?[+-]\d{1,2}(?::\d{2})?)?)?"
)
_TYPE_NAMES = {"date": "date", "time without time zone": "time", "time with time zone": "timetz",
          "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatetimeValue:
    """A value of .datetime(): a date's days, else microseconds (of UTC for a timestamptz); `offset` in seconds east."""

    kind: Kind
    value: int
    offset: int = 0

    def format(self) -> str:
        """Returns the text in JSON: ISO 8601."""
        match self.kind:
            case "date":
                return format_date(self.value)
            case "time without time zone":
                return format_time(self.value)
            case "time with time zone":
                return format_time(self.value) + _format_offset(self.offset)
            case "timestamp without time zone":
                return format_timestamp(self.value).replace(" ", "T", 1)
        formatted = format_timestamp(self.value + self.offset * 1_000_000).replace(" ", "T", 1)
        return formatted + _format_offset(self.offset)


def _format_offset(seconds: int) -> str:
    text = format_offset(seconds)
    return text if ":" in text else text + ":00"


def parse_datetime(text: str) -> DatetimeValue:
    """Parses a date or time in one of the ISO forms; 22031 for other text."""
    match = _ISO.fullmatch(text)
    if match is None or (match["year"] is None and match["hour"] is None):
        raise _unrecognized_error(text)
    if (match["between"] is not None) != (match["year"] is not None and match["hour"] is not None):
        raise _unrecognized_error(text)
    days = 0
    if match["year"] is not None:
        year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
        if year == 0 or not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
            raise SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')
        days = days_from_civil(year, month, day)
    if match["hour"] is None:
        return DatetimeValue("date", days)
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second)):
        raise SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')
    clock = (hour * 3600 + minute * 60 + second) * 1_000_000 + int((match["fraction"] or "").ljust(6, "0"))
    offset = _parse_offset(match["zone"]) if match["zone"] else None
    if match["year"] is None:
        if offset is None:
            return DatetimeValue("time without time zone", clock)
        return DatetimeValue("time with time zone", clock, offset)
    local = days * DAY + clock
    if offset is None:
        return DatetimeValue("timestamp without time zone", local)
    return DatetimeValue("timestamp with time zone", local - offset * 1_000_000, offset)


def _parse_offset(text: str) -> int:
    sign = -1 if "-" in text else 1
    hours, _, minutes = text.strip().lstrip("+-").partition(":")
    return sign * (int(hours) * 3600 + int(minutes or 0) * 60)


def _unrecognized_error(text: str) -> SqlError:
    hint = "Use a datetime template argument to specify the input data format."
    message = f'datetime format is not recognized: "{text}"'
    return SqlError.of("invalid_argument_for_sql_json_datetime_function", message, hint=hint)


def compare(left: DatetimeValue, right: DatetimeValue, zone: Zone | None) -> int | None:
    """Returns -1, 0 or 1; None for a time and a date. 0A000 if a zone is needed and `zone` is None."""
    time_kinds = "time without time zone", "time with time zone"
    if (left.kind in time_kinds) != (right.kind in time_kinds):
        return None
    if left.kind in time_kinds:
        if left.kind != right.kind:
            left, right = (_to_zoned(value, zone, "time with time zone") for value in (left, right))
        # by the time in UTC, then the zone
        a, b = ((value.value - value.offset * 1_000_000, -value.offset) for value in (left, right))
        return (a > b) - (a < b)
    if "timestamp with time zone" in (left.kind, right.kind):
        left, right = (_to_zoned(value, zone, "timestamp with time zone") for value in (left, right))
    x, y = _get_microseconds(left), _get_microseconds(right)
    return (x > y) - (x < y)


def _get_microseconds(value: DatetimeValue) -> int:
    return value.value * DAY if value.kind == "date" else value.value


def _to_zoned(value: DatetimeValue, zone: Zone | None, kind: Kind) -> DatetimeValue:
    if value.kind == kind:
        return value
    if zone is None:
        message = f"cannot convert value from {_TYPE_NAMES[value.kind]} to {_TYPE_NAMES[kind]} without time zone usage"
        raise SqlError.of("feature_not_supported", message, hint="Use *_tz() function for time zone support.")
    local = _get_microseconds(value)
    offset = get_local_offset(zone, local)
    if kind == "time with time zone":
        return DatetimeValue(kind, value.value, offset)
    return DatetimeValue(kind, local - offset * 1_000_000, offset)

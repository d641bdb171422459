"""Dates and times inside a jsonpath: .datetime(), comparisons, and output as JSON."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from gpudb.errors import SqlError
from gpudb.values.calendar import DAY, date_text, days_from_civil, days_in_month, offset_text, time_text, timestamp_text
from gpudb.values.zones import Zone, offset_of_local

Kind = Literal[
    "date", "time without time zone", "time with time zone", "timestamp without time zone", "timestamp with time zone"
]
_ISO = re.compile(
    r"(?:(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2}))?(?P<between>[T ])?"
    r"(?:(?P<hour>\d{1,2}):(?P<minute>\d{1,2}):(?P<second>\d{1,2})(?:\.(?P<fraction>\d{1,6}))?"
    r"(?P<zone>\s?[+-]\d{1,2}(?::\d{2})?)?)?"
)
_SPELT = {"date": "date", "time without time zone": "time", "time with time zone": "timetz",
          "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Moment:
    """A value of .datetime(): a date's days, else microseconds (of UTC for a timestamptz); `offset` in seconds east."""

    kind: Kind
    value: int
    offset: int = 0

    def text(self) -> str:
        """Returns the text in JSON: ISO 8601."""
        match self.kind:
            case "date":
                return date_text(self.value)
            case "time without time zone":
                return time_text(self.value)
            case "time with time zone":
                return time_text(self.value) + _whole_offset(self.offset)
            case "timestamp without time zone":
                return timestamp_text(self.value).replace(" ", "T", 1)
        made = timestamp_text(self.value + self.offset * 1_000_000).replace(" ", "T", 1)
        return made + _whole_offset(self.offset)


def _whole_offset(seconds: int) -> str:
    text = offset_text(seconds)
    return text if ":" in text else text + ":00"


def read(text: str) -> Moment:
    """Parses a date or time in one of the ISO forms; 22031 for other text."""
    found = _ISO.fullmatch(text)
    if found is None or (found["year"] is None and found["hour"] is None):
        raise _unrecognized(text)
    if (found["between"] is not None) != (found["year"] is not None and found["hour"] is not None):
        raise _unrecognized(text)
    days = 0
    if found["year"] is not None:
        year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
        if year == 0 or not 1 <= month <= 12 or not 1 <= day <= days_in_month(year, month):
            raise SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')
        days = days_from_civil(year, month, day)
    if found["hour"] is None:
        return Moment("date", days)
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second)):
        raise SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')
    clock = (hour * 3600 + minute * 60 + second) * 1_000_000 + int((found["fraction"] or "").ljust(6, "0"))
    offset = _offset(found["zone"]) if found["zone"] else None
    if found["year"] is None:
        if offset is None:
            return Moment("time without time zone", clock)
        return Moment("time with time zone", clock, offset)
    local = days * DAY + clock
    if offset is None:
        return Moment("timestamp without time zone", local)
    return Moment("timestamp with time zone", local - offset * 1_000_000, offset)


def _offset(text: str) -> int:
    sign = -1 if "-" in text else 1
    hours, _, minutes = text.strip().lstrip("+-").partition(":")
    return sign * (int(hours) * 3600 + int(minutes or 0) * 60)


def _unrecognized(text: str) -> SqlError:
    hint = "Use a datetime template argument to specify the input data format."
    message = f'datetime format is not recognized: "{text}"'
    return SqlError.of("invalid_argument_for_sql_json_datetime_function", message, hint=hint)


def compared(left: Moment, right: Moment, zone: Zone | None) -> int | None:
    """Returns -1, 0 or 1; None for a time and a date. 0A000 if a zone is needed and `zone` is None."""
    timed = "time without time zone", "time with time zone"
    if (left.kind in timed) != (right.kind in timed):
        return None
    if left.kind in timed:
        if left.kind != right.kind:
            left, right = (_zoned(each, zone, "time with time zone") for each in (left, right))
        # by the time in UTC, then the zone
        a, b = ((each.value - each.offset * 1_000_000, -each.offset) for each in (left, right))
        return (a > b) - (a < b)
    if "timestamp with time zone" in (left.kind, right.kind):
        left, right = (_zoned(each, zone, "timestamp with time zone") for each in (left, right))
    x, y = _microseconds(left), _microseconds(right)
    return (x > y) - (x < y)


def _microseconds(moment: Moment) -> int:
    return moment.value * DAY if moment.kind == "date" else moment.value


def _zoned(moment: Moment, zone: Zone | None, kind: Kind) -> Moment:
    if moment.kind == kind:
        return moment
    if zone is None:
        message = f"cannot convert value from {_SPELT[moment.kind]} to {_SPELT[kind]} without time zone usage"
        raise SqlError.of("feature_not_supported", message, hint="Use *_tz() function for time zone support.")
    local = _microseconds(moment)
    offset = offset_of_local(zone, local)
    if kind == "time with time zone":
        return Moment(kind, moment.value, offset)
    return Moment(kind, local - offset * 1_000_000, offset)

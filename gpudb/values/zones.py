"""Time zones by PostgreSQL's names: IANA names in any case, abbreviations, POSIX and fixed offsets.

A zone's offset is in seconds east of Greenwich. IANA data comes from the system or from the `tzdata` package.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import groupby
from zoneinfo import ZoneInfo, available_timezones

from gpudb import pgdata
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values import calendar

Zone = dt.tzinfo

_OFFSET = re.compile(r"([+-])(\d+)(?::(\d*)(?::(\d*))?)?", re.ASCII)
_POSIX = re.compile(r"(?:<([+-]?[\w:]+)>|([A-Za-z]{3,}))([+-]?)(\d{1,3})(?::(\d{1,2})(?::(\d{1,2}))?)?")
_MAX_HOURS = 15
_WESTWARD = re.compile(r"([+-])(\d{1,3})(?::(\d{1,2})(?::(\d{1,2}))?)?", re.ASCII)
_MAX_POSIX_HOURS = 167
_ENGINE_OFFSET = re.compile(r"gMT([+-])(\d\d):(\d\d)")
"""The engine's name of a fixed offset, which counts eastward: in capitals, GMT-08:00 is POSIX's, eight hours east."""


@cache
def _load_zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if not name.startswith(("posix", "right"))}


@cache
def get_abbreviations() -> dict[str, Zone]:
    """Meaning of each zone abbreviation, in lower case: PostgreSQL's default set.

    Some follow a zone's clocks at the time, or keep the last offset that IANA's data gave that abbreviation: `MSK` was
    four hours east from 2011 to 2014.
    """
    zones_by_name: dict[str, Zone] = {}
    for abbreviation, seconds in pgdata.load_table("timezone_abbrev").select("abbrev", "seconds"):
        zones_by_name[abbreviation.lower()] = fixed_offset_zone(int(seconds))
    moving = pgdata.load_table("moving_abbrev").select("abbrev", "zone", "since", "seconds")
    for (abbreviation, zone), rows in groupby(moving, lambda row: row[:2]):
        spans = [(since, seconds) for _, _, since, seconds in rows]
        zones_by_name[abbreviation.lower()] = AbbreviationZone(spans) if len(spans) > 1 else ZoneInfo(zone)
    return zones_by_name


class AbbreviationZone(dt.tzinfo):
    """The offsets of an abbreviation over time: seconds east, each from a local time on."""

    def __init__(self, spans: Sequence[tuple[str, str]]) -> None:
        offsets = [dt.timedelta(seconds=int(seconds)) for _, seconds in spans]
        self._spans = [
            (dt.datetime.fromisoformat(since), before, after)
            for (since, _), before, after in zip(spans[1:], offsets[:-1], offsets[1:], strict=True)
        ]
        self._first = offsets[0]

    def utcoffset(self, value: dt.datetime | None) -> dt.timedelta | None:
        """See `datetime.tzinfo`; of an ambiguous local time the first is `fold` 0."""
        if value is None:
            return None
        offset, local = self._first, value.replace(tzinfo=None)
        for since, before, after in self._spans:
            if local >= since and (value.fold or local - since >= before - after):
                offset = after
        return offset

    def fromutc(self, value: dt.datetime) -> dt.datetime:
        """See `datetime.tzinfo`."""
        offset, fold, utc = self._first, 0, value.replace(tzinfo=None)
        for since, before, after in self._spans:
            passed = utc - (since - min(before, after))
            if passed >= dt.timedelta(0):
                offset, fold = after, int(passed < before - after)
        return (value + offset).replace(fold=fold)

    def dst(self, value: dt.datetime | None) -> None:
        """See `datetime.tzinfo`: unknown."""

    def tzname(self, value: dt.datetime | None) -> None:
        """See `datetime.tzinfo`: unknown."""


def fixed_offset_zone(seconds: int, abbreviation: str | None = None) -> Zone:
    """Returns the zone of a constant offset, with an abbreviation if it has one."""
    if abbreviation is not None:
        return dt.timezone(dt.timedelta(seconds=seconds), abbreviation)
    return dt.UTC if seconds == 0 else dt.timezone(dt.timedelta(seconds=seconds))


@lru_cache(maxsize=256)
def find_zone(name: str) -> Zone | None:
    """Returns a zone by IANA name or POSIX text (`EST5`, `<+03>-03`), or None."""
    if (known := _load_zone_names().get(name.lower())) is not None:
        return dt.UTC if known in {"UTC", "Etc/UTC", "Zulu"} else ZoneInfo(known)
    if (posix := _POSIX.fullmatch(name)) is not None:
        # POSIX counts westward, and a daylight saving rule may follow; without one the offset is fixed
        hours, minutes, seconds = (int(part or 0) for part in posix.group(4, 5, 6))
        offset = hours * 3600 + minutes * 60 + seconds
        if offset <= 167 * 3600 and abs(offset) < 86_400:
            name = posix.group(1) or posix.group(2).upper()
            return fixed_offset_zone(offset if posix.group(3) == "-" else -offset, name)
    return None


def parse_offset(text: str) -> int | None:
    """Parses `+5`, `-0330`, `+05:30:10` to seconds east; None for other text; 22009 beyond 15:59:59."""
    match = _OFFSET.fullmatch(text)
    if match is None:
        return None
    sign, *parts = match.groups()
    hour, minute, second = (int(part[:9]) if part else 0 for part in parts)
    if parts[1] is None and len(text) > 3:
        hour, minute = divmod(hour, 100)
    if hour > _MAX_HOURS or minute > 59 or second > 59:
        message = f'time zone displacement out of range: "{text}"'
        raise SqlError.of("invalid_time_zone_displacement_value", message)
    seconds = (hour * 60 + minute) * 60 + second
    return -seconds if sign == "-" else seconds


def parse_session_zone(name: str) -> Zone:
    """Returns the zone of `SET TimeZone`: a name, an abbreviation or hours east of Greenwich; 22023 otherwise."""
    word = name.strip()
    if (hours := _parse_hours(word)) is not None:
        return fixed_offset_zone(hours, name_session_zone(word)[1:].partition(">")[0])
    if (match := _ENGINE_OFFSET.fullmatch(word)) is not None:
        seconds = int(match[2]) * 3600 + int(match[3]) * 60
        return fixed_offset_zone(-seconds if match[1] == "-" else seconds)
    if (zone := find_zone(word)) is not None:
        return zone
    if (abbreviated := get_abbreviations().get(word.lower())) is not None:
        return abbreviated
    if _WESTWARD.fullmatch(word) is not None:
        return fixed_offset_zone(get_offset(parse_zone(word), 0), "")
    raise SqlError.of("invalid_parameter_value", f'invalid value for parameter "TimeZone": "{name}"')


def name_session_zone(name: str) -> str:
    """Returns the name that SHOW TimeZone has for a zone: of hours east of Greenwich, POSIX's (`<-08>+08`)."""
    offset = _parse_hours(name.strip())
    if offset is None:
        return name
    minutes, seconds = divmod(abs(offset), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [hours] + [minutes] * bool(minutes or seconds) + [seconds] * bool(seconds)
    text = ":".join(f"{part:02}" for part in parts)
    return f"<-{text}>+{text}" if offset < 0 else f"<+{text}>-{text}"


def name_engine_zone(name: str) -> str:
    """Returns a session's zone as DuckDB and its calendar library name it: `gMT-08:00` for a fixed offset."""
    if name.lower() in _load_zone_names():
        return name
    zone = parse_session_zone(name)
    if not isinstance(zone, dt.timezone):
        return name
    offset = _to_seconds(zone.utcoffset(None))
    minutes, seconds = divmod(abs(offset), 60)
    if seconds:
        raise FeatureNotSupported(f'a time zone with seconds, "{name}", is not supported')
    return f"gMT{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if offset else "UTC"


def _parse_hours(word: str) -> int | None:
    """Returns the seconds of a number of hours below 24; None for other text."""
    if re.fullmatch(r"[+-]?\d+(\.\d+)?", word) and abs(float(word)) < 24:
        return round(float(word) * 3600)
    return None


def get_zone(name: str) -> Zone:
    """Returns the zone of AT TIME ZONE's text: abbreviations first, then names; 22023 if there is none."""
    word = name.strip()
    if (abbreviated := get_abbreviations().get(word.lower())) is not None:
        return abbreviated
    zone = find_zone(word)
    if zone is None:
        raise SqlError.of("invalid_parameter_value", f'time zone "{name}" not recognized')
    return zone


def parse_zone(name: str) -> Zone:
    """Returns the zone of AT TIME ZONE's text: a bare offset is POSIX's, which counts westward; else as `get_zone`."""
    word = name.strip()
    word = word if word[:1] in {"+", "-"} else "+" + word
    if (match := _WESTWARD.fullmatch(word)) is None:
        return get_zone(name)
    hour, minute, second = (int(part or 0) for part in match.groups()[1:])
    if hour > _MAX_POSIX_HOURS or minute > 59 or second > 59:
        return get_zone(name)  # there is none
    if hour >= 24:
        raise FeatureNotSupported(f'a time zone a day or more from Greenwich, "{name}", is not supported')
    seconds = (hour * 60 + minute) * 60 + second
    return fixed_offset_zone(seconds if match[1] == "-" else -seconds)


def get_offset(zone: Zone, microseconds: int) -> int:
    """Returns seconds east of Greenwich at a UTC time."""
    return _to_seconds(_to_local_time(zone, microseconds).utcoffset())


def get_zone_abbreviation(zone: Zone, microseconds: int) -> str:
    """Returns the zone's abbreviation at a UTC time, such as CEST; empty if it has none."""
    return _to_local_time(zone, microseconds).tzname() or ""


def _to_local_time(zone: Zone, microseconds: int) -> dt.datetime:
    value = calendar.timestamp_from_microseconds(_to_equivalent_time(microseconds), aware=True)
    assert isinstance(value, dt.datetime)
    return value.astimezone(zone)


def get_local_offset(zone: Zone, microseconds: int) -> int:
    """Returns seconds east of Greenwich for a local time; gaps and overlaps are read in standard time, as in
    PostgreSQL.
    """
    local = calendar.timestamp_from_microseconds(_to_equivalent_time(microseconds))
    assert isinstance(local, dt.datetime)
    first, second = (_to_seconds(local.replace(tzinfo=zone, fold=fold).utcoffset()) for fold in (0, 1))
    # a gap uses the offset before it, an overlap the offset after it
    return first if first <= second else second


def _to_equivalent_time(microseconds: int) -> int:
    """Returns a time within Python's years that has the same rules: years repeat every 400."""
    cycle = 146_097 * calendar.DAY
    low, high = calendar.days_from_civil(2, 1, 1) * calendar.DAY, calendar.days_from_civil(9998, 1, 1) * calendar.DAY
    if microseconds < low:
        return low
    while microseconds > high:
        microseconds -= cycle * ((microseconds - high) // cycle + 1)
    return microseconds


def _to_seconds(offset: dt.timedelta | None) -> int:
    return 0 if offset is None else round(offset.total_seconds())

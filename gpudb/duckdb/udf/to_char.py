"""to_char of dates and times, and the templates that it shares with to_date (PostgreSQL's formatting.c)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values import calendar, zones
from gpudb.values.text_columns import split_intervals

MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split()
ROMAN = "XII XI X IX VIII VII VI V IV III II I".split()
_PLAIN = (
    "A.D. A.M. AD AM B.C. BC CC DAY DDD DD DY Day Dy D FF1 FF2 FF3 FF4 FF5 FF6 HH24 HH12 HH IDDD ID IW IYYY IYY IY I J"
    " FX MI MM MONTH MON MS Month Mon OF P.M. PM Q RM SSSSS SSSS SS TZH TZM TZ US WW W Y,YYY YYYY YYY YY Y"
    " a.d. a.m. ad am b.c. bc cc day ddd dd dy d ff1 ff2 ff3 ff4 ff5 ff6 hh24 hh12 hh iddd id iw iyyy iyy iy i j"
    " fx mi mm month mon ms of p.m. pm q rm sssss ssss ss tzh tzm tz us ww w y,yyy yyyy yyy yy y"
).split()
_KEYWORD = re.compile("|".join(re.escape(word) for word in sorted(_PLAIN, key=len, reverse=True)))
_NO_CASE = frozenset(
    "CC DDD DD D FF1 FF2 FF3 FF4 FF5 FF6 FX HH24 HH12 HH IDDD ID IW IYYY IYY IY I J MI MM MS OF Q SSSSS SSSS SS TZH TZM"
    " US WW W Y,YYY YYYY YYY YY Y".split()
)


_NAMED = frozenset({"MONTH", "MON", "DAY", "DY"})
_PREFIXES = frozenset({"FM", "fm", "TM", "tm"})
"""Valid in these spellings only: in `YYYYThh` the T is text."""


@dataclass(frozen=True, slots=True)
class Token:
    """A template keyword with its modifiers, or (`key` empty) literal text, which may have been quoted."""

    key: str
    text: str
    fill: bool = True
    ordinal: str = ""
    quoted: bool = False


@lru_cache(maxsize=256)
def parse_template(template: str) -> tuple[Token, ...]:
    """Parses a template. Month and day names are the C locale's, without padding after TM. 0A000 for SP."""
    result: list[Token] = []
    at = 0
    while at < len(template):
        start, fill, local = at, True, False
        while template[at : at + 2] in _PREFIXES:
            prefix = template[at : at + 2].upper()
            fill, local, at = fill and prefix != "FM", local or prefix == "TM", at + 2
        found = _KEYWORD.match(template, at)
        if found is not None:
            at = found.end()
            key = found.group().upper() if found.group().upper() in _NO_CASE else found.group()
            fill = fill and not (local and key.upper() in _NAMED)
            ordinal = template[at : at + 2] if template[at : at + 2] in {"TH", "th"} else ""
            at += len(ordinal)
            if template[at : at + 2].upper() == "SP":
                raise FeatureNotSupported('the template modifier "SP" is not supported')
            result.append(Token(key, found.group(), fill, ordinal))
            continue
        if at > start:
            continue
        if template[at] == '"':
            end = at + 1
            text = ""
            while end < len(template) and template[end] != '"':
                end += template[end] == "\\" and end + 1 < len(template)
                text += template[end]
                end += 1
            result.append(Token("", text, quoted=True))
            at = end + 1
        elif template[at] == "\\" and template[at + 1 : at + 2] == '"':
            result.append(Token("", '"'))
            at += 2
        else:
            result.append(Token("", template[at]))
            at += 1
    return tuple(result)


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_columnar("pg_format_timestamp", "TIMESTAMP VARCHAR", "VARCHAR", _format_timestamps)
    registry.add_columnar("pg_format_timestamptz", "TIMESTAMPTZ VARCHAR VARCHAR", "VARCHAR", _format_timestamptz)
    registry.add_columnar("pg_format_interval", "INTERVAL VARCHAR", "VARCHAR", _format_intervals)


# ---------------------------------------------------------------------------------------------- writing


@dataclass(slots=True)
class Fields:
    """The fields that a template prints; `days` (of the calendar) is None for an interval."""

    year: int
    month: int
    day: int
    microseconds: int
    days: int | None = None
    offset: int | None = None
    zone: str = ""


def _format_timestamps(column: pa.Array, templates: pa.Array) -> pa.Array:
    values = column.cast(pa.timestamp("us")).view(pa.int64()).to_pylist()
    return pa.array([_format_timestamp(v, t) for v, t in zip(values, templates.to_pylist())], pa.string())


def _format_timestamptz(column: pa.Array, templates: pa.Array, names: pa.Array) -> pa.Array:
    values = column.cast(pa.timestamp("us", "UTC")).view(pa.int64()).to_pylist()
    zone = zones.parse_session_zone(names[0].as_py()) if len(names) else zones.fixed_offset_zone(0)
    return pa.array([_format_timestamp(v, t, zone) for v, t in zip(values, templates.to_pylist())], pa.string())


def _format_timestamp(value: int | None, template: str | None, zone: zones.Zone | None = None) -> str | None:
    if value is None or not template:
        return None
    if abs(value) >= calendar.MAX_TIMESTAMP:
        return None
    offset, name = None, ""
    if zone is not None:
        offset = zones.get_offset(zone, value)
        name = zones.get_zone_abbreviation(zone, value)
        value += offset * 1_000_000
    days, time = divmod(value, calendar.DAY)
    return format_fields(Fields(*calendar.civil_from_days(days), time, days, offset, name), template)


def _format_intervals(column: pa.Array, templates: pa.Array) -> pa.Array:
    valid = column.is_valid().to_pylist()
    result: list[str | None] = []
    parts = split_intervals(column).tolist() if len(column) else []
    for (months, days, nanoseconds), template, ok in zip(parts, templates.to_pylist(), valid):
        if not ok or not template:
            result.append(None)
            continue
        sign = -1 if months < 0 else 1
        years, months = sign * (abs(months) // 12), sign * (abs(months) % 12)
        result.append(format_fields(Fields(years, months, days, nanoseconds // 1000), template))
    return pa.array(result, pa.string())


def format_fields(fields: Fields, template: str) -> str:
    """Formats a value by a template; 22007 for a field that an interval lacks."""
    return "".join(
        _PRINTERS[token.key](fields, token) if token.key else token.text for token in parse_template(template)
    )


def _clock_fields(fields: Fields) -> tuple[int, int, int, int]:
    total = abs(fields.microseconds)
    sign = -1 if fields.microseconds < 0 else 1
    seconds, fraction = divmod(total, 1_000_000)
    return sign * (seconds // 3600), sign * (seconds // 60 % 60), sign * (seconds % 60), sign * fraction


def _ordinal(number: int, case: str) -> str:
    last = abs(number) % 100
    suffix = "th" if 11 <= last <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(last % 10, "th")
    return suffix.upper() if case == "TH" else suffix


def _pad(number: int, width: int, token: Token) -> str:
    return _pad_zeros(number, width + (number < 0) if token.fill else 0, token)


def _pad_zeros(number: int, width: int, token: Token) -> str:
    """Pads a number with zeros up to a width that includes a sign."""
    return f"{number:0{width}d}" + (_ordinal(number, token.ordinal) if token.ordinal else "")


def _apply_case(name: str, key: str, width: int, fill: bool) -> str:
    result = name.upper() if key.isupper() else name.lower() if key.islower() else name
    return result.ljust(width) if fill else result


def _display_year(fields: Fields) -> int:
    return fields.year if fields.year > 0 or fields.days is None else 1 - fields.year


def _print_clock_token(fields: Fields, token: Token) -> str:
    key = token.key
    hour, minute, second, fraction = _clock_fields(fields)
    match key:
        case "HH" | "HH12":
            return _pad_zeros(int(math.fmod(hour, 12)) or 12, 2 + (hour < 0) if token.fill else 0, token)
        case "HH24":
            return _pad(hour, 2, token)
        case "MI":
            return _pad(minute, 2, token)
        case "SS":
            return _pad(second, 2, token)
        case "MS":
            return _pad_zeros(int(fraction / 1000), 3, token)
        case "US":
            return _pad_zeros(fraction, 6, token)
        case "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6":
            places = int(key[2])
            return _pad_zeros(int(fraction / 10 ** (6 - places)), places, token)
        case "SSSS" | "SSSSS":
            return _pad(hour * 3600 + minute * 60 + second, 1, token)
        case "AM" | "PM" | "am" | "pm":
            result = "PM" if math.fmod(hour, 24) >= 12 else "AM"
            return result if key.isupper() else result.lower()
        case "A.M." | "P.M." | "a.m." | "p.m.":
            result = "P.M." if math.fmod(hour, 24) >= 12 else "A.M."
            return result if key.isupper() else result.lower()
    raise _unknown_pattern(key)


def _print_year_token(fields: Fields, token: Token) -> str:
    key = token.key
    match key:
        case "IYYY" if fields.days is None:
            text = f"{_iso_year(fields):0{4 if fields.year >= 0 else 5}d}" if token.fill else str(_iso_year(fields))
            return text + (_ordinal(_iso_year(fields), token.ordinal) if token.ordinal else "")
        case "YYYY" | "IYYY":
            return _pad(_iso_year(fields) if key[0] == "I" else _display_year(fields), 4, token)
        case "YYY" | "YY" | "Y" | "IYY" | "IY" | "I":
            year = _iso_year(fields) if key[0] == "I" else _display_year(fields)
            width = len(key) + (len(key) > 1 and _display_year(fields) < 0)
            return _pad_zeros(int(math.fmod(year, 10 ** len(key))), width if token.fill else 0, token)
        case "Y,YYY":
            year = _display_year(fields)
            result = f"{int(year / 1000)},{int(math.fmod(year, 1000)):03d}"
            return result + (_ordinal(year, token.ordinal) if token.ordinal else "")
        case "CC":
            year = _display_year(fields)
            century = (year + 99) // 100 if fields.days is not None else int(year / 100)
            return _pad(century if fields.year > 0 or fields.days is None else -century, 2, token)
        case "BC" | "AD" | "bc" | "ad" | "B.C." | "A.D." | "b.c." | "a.d.":
            _require_calendar(fields)
            result = "AD" if fields.year > 0 else "BC"
            result = ".".join(result) + "." if "." in key else result
            return result if key.isupper() else result.lower()
    raise _unknown_pattern(key)


def _print_month_token(fields: Fields, token: Token) -> str:
    key = token.key
    match key:
        case "MM":
            return _pad(fields.month, 2, token)
        case "DD":
            return _pad_zeros(fields.day, 2 if token.fill else 0, token)
        case "Q":
            return _pad(int((fields.month - 1) / 3) + 1, 1, token) if fields.month else ""
        case "MONTH" | "Month" | "month" | "MON" | "Mon" | "mon":
            _require_calendar(fields)
            name = MONTHS[fields.month - 1]
            short = len(key) == 3
            return _apply_case(name[:3] if short else name, key, 0 if short else 9, token.fill)
        case "RM" | "rm":
            if not fields.month and not fields.year:
                return ""
            # for whole years the last month, for negative years the first
            month = fields.month or (12 if fields.year > 0 else -12)
            result = ROMAN[12 - month if month > 0 else -month - 1]
            result = result if key == "RM" else result.lower()
            return result.ljust(4) if token.fill else result
    raise _unknown_pattern(key)


def _print_zone_token(fields: Fields, token: Token) -> str:
    _require_calendar(fields)
    offset = fields.offset or 0
    match token.key:
        case "TZ" | "tz":
            return fields.zone if token.key == "TZ" else fields.zone.lower()
        case "TZH":
            return f"{'-' if offset < 0 else '+'}{abs(offset) // 3600:02d}"
        case "TZM":
            return f"{abs(offset) // 60 % 60:02d}"
        case "OF":
            minutes = abs(offset) // 60 % 60
            hours = f"{abs(offset) // 3600:0{2 if token.fill else 0}d}"
            return ("-" if offset < 0 else "+") + hours + (f":{minutes:02d}" if minutes else "")
    raise _unknown_pattern(token.key)


def _require_calendar(fields: Fields) -> int:
    if fields.days is None:
        hint = "Intervals are not tied to specific calendar dates."
        raise SqlError.of("invalid_datetime_format", "invalid format specification for an interval value", hint=hint)
    return fields.days


def day_of_week(days: int) -> int:
    """Returns the day of the week; 0 is Sunday."""
    return (days + 4) % 7


def _iso_year_week(days: int) -> tuple[int, int]:
    """Returns the ISO 8601 year and week."""
    thursday = days - (day_of_week(days) + 6) % 7 + 3
    year = calendar.civil_from_days(thursday)[0]
    return year, (thursday - calendar.days_from_civil(year, 1, 1)) // 7 + 1


def _iso_year(fields: Fields) -> int:
    year = _iso_year_week(_day_number(fields))[0]
    return year if year > 0 or fields.days is None else 1 - year


def _day_number(fields: Fields) -> int:
    """Returns a date's day number; for an interval PostgreSQL's formula (date2j) over its years, months and days."""
    if fields.days is not None:
        return fields.days
    month, year = (
        (fields.month + 1, fields.year + 4800) if fields.month > 2 else (fields.month + 13, fields.year + 4799)
    )
    century = year // 100
    return year * 365 - 32167 + year // 4 - century + century // 4 + 7834 * month // 256 + fields.day - 2_440_588


def _print_day_token(fields: Fields, token: Token) -> str:
    key = token.key
    if key not in {"DDD", "IDDD", "W", "WW", "IW", "J"}:
        _require_calendar(fields)
    days = _day_number(fields)
    weekday = day_of_week(days)
    # an interval's day of the year counts months of 30 days
    span = (fields.year * 12 + fields.month) * 30 + fields.day
    day_of_year = span if fields.days is None else days - calendar.days_from_civil(fields.year, 1, 1) + 1
    match key:
        case "DAY" | "Day" | "day" | "DY" | "Dy" | "dy":
            short = len(key) == 2
            return _apply_case(DAYS[weekday][:3] if short else DAYS[weekday], key, 0 if short else 9, token.fill)
        case "DDD":
            return _pad_zeros(day_of_year, 3 if token.fill else 0, token)
        case "IDDD":
            return _pad((_iso_year_week(days)[1] - 1) * 7 + (weekday or 7), 3, token)
        case "D":
            return _pad(weekday + 1, 1, token)
        case "ID":
            return _pad(weekday or 7, 1, token)
        case "W":
            return _pad(int((fields.day - 1) / 7) + 1, 1, token)
        case "WW":
            return _pad_zeros(int((day_of_year - 1) / 7) + 1, 2 if token.fill else 0, token)
        case "IW":
            return _pad(_iso_year_week(days)[1], 2, token)
        case "J":
            return _pad(days + 2_440_588, 1, token)
    raise _unknown_pattern(key)


def _unknown_pattern(key: str) -> FeatureNotSupported:
    return FeatureNotSupported(f'the template pattern "{key}" is not supported')


_PRINTERS: dict[str, Callable[[Fields, Token], str]] = {
    "FX": lambda fields, token: "",  # FX affects input only
    **dict.fromkeys("HH HH12 HH24 MI SS MS US FF1 FF2 FF3 FF4 FF5 FF6 SSSS SSSSS".split(), _print_clock_token),
    **dict.fromkeys("AM PM am pm A.M. P.M. a.m. p.m.".split(), _print_clock_token),
    **dict.fromkeys("IYYY YYYY YYY YY Y IYY IY I Y,YYY CC".split(), _print_year_token),
    **dict.fromkeys("BC AD bc ad B.C. A.D. b.c. a.d.".split(), _print_year_token),
    **dict.fromkeys("MM DD Q MONTH Month month MON Mon mon RM rm".split(), _print_month_token),
    **dict.fromkeys("TZ tz TZH TZM OF".split(), _print_zone_token),
    **dict.fromkeys("DAY Day day DY Dy dy DDD IDDD D ID W WW IW J".split(), _print_day_token),
}

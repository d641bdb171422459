"""Intervals: months, days and microseconds, parsed from and formatted as PostgreSQL's text forms.

Texts of all styles are read in any IntervalStyle; in sql_standard a minus sign before all is that of every field.
Source: PostgreSQL 16's DecodeInterval, DecodeISO8601Interval and EncodeInterval.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from gpudb.errors import SqlError
from gpudb.types.interval_fields import list_interval_fields
from gpudb.values import calendar
from gpudb.values.datetime_style import get_style
from gpudb.values.numbers import SPACE

UNIT_SPELLINGS = {
    "microsecond": "us usec usecs useconds microsecon microsecond microseconds",
    "millisecond": "ms msec msecs mseconds millisecon millisecond milliseconds",
    "second": "s sec secs second seconds",
    "minute": "m min mins minute minutes",
    "hour": "h hr hrs hour hours",
    "day": "d day days",
    "week": "w week weeks",
    "month": "mon mons month months",
    "year": "y yr yrs year years",
    "decade": "dec decs decade decades",
    "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
}
"""Spellings of each unit of time, in lower case."""
UNITS = {name: unit for unit, names in UNIT_SPELLINGS.items() for name in names.split()}
"""Name of each spelling of a unit, in lower case."""
_BEGINNINGS = {name[:10]: unit for name, unit in UNITS.items()}  # PostgreSQL reads no more of longer words

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
}
_SECONDS = ("second", "millisecond", "microsecond")
_DATE_WORDS = frozenset({"d", "h", "m", "mon", "s", "y"})
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12, "decade": 120, "century": 1200, "millennium": 12000}

_FIELD = re.compile(
    r"\s*(?:(?P<time>[+-]?\s*\d+:[\d:]*(?:\.\d*)?)|(?P<years>[+-]?\s*\d+-\d+)"
    r"|(?P<number>[+-]?\s*\d+\.?\d*|\.\d+)|(?P<word>[a-zA-Z]+)|(?P<filler>[!-*,/:-@\[-`{-~]))",
    re.ASCII,
)
_ISO_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INT32, _INT64 = 1 << 31, 1 << 63
MAX_MICROSECONDS = (2**63 - 1) // 1000
"""Limit of an interval's hours, minutes and seconds: Arrow counts nanoseconds."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """A span of time in months, days and microseconds, each with its own sign."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __str__(self) -> str:
        """The text in IntervalStyle postgres."""
        return format_interval(self.months, self.days, self.microseconds)


def format_interval(months: int, days: int, microseconds: int) -> str:
    """Formats an interval: `1 year 2 mons -3 days +04:05:06.5`, `00:00:00`."""
    sign = -1 if months < 0 else 1
    years, months = sign * (abs(months) // 12), sign * (abs(months) % 12)
    parts = []
    negative = False
    for value, unit in ((years, "year"), (months, "mon"), (days, "day")):
        if value:
            plus = "+" if negative and value > 0 else ""
            parts.append(f"{plus}{value} {unit}{'' if value == 1 else 's'}")
            negative = value < 0
    if microseconds or not parts:
        minus = "-" if microseconds < 0 else "+" if negative else ""
        parts.append(minus + calendar.format_time(abs(microseconds)))
    return " ".join(parts)


def format_in_style(months: int, days: int, microseconds: int, style: str) -> str:
    """Formats an interval in an IntervalStyle: `@ 1 year 2 mons ago`, `P1Y2M-3DT4H5M6.5S`."""
    if style == "iso_8601":
        return _format_iso(months, days, microseconds)
    if style == "postgres_verbose":
        return _format_verbose(months, days, microseconds)
    if style == "sql_standard":
        return _format_standard(months, days, microseconds)
    return format_interval(months, days, microseconds)


def _split_time(microseconds: int) -> tuple[int, int, str]:
    """Returns hours and minutes with their signs, and the seconds' digits without; '' for none."""
    sign = -1 if microseconds < 0 else 1
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{second}.{fraction:06d}".rstrip("0").rstrip(".") if second or fraction else ""
    return sign * (minutes // 60), sign * (minutes % 60), text


def _split_months(months: int) -> tuple[int, int]:
    sign = -1 if months < 0 else 1
    return sign * (abs(months) // 12), sign * (abs(months) % 12)


def _format_iso(months: int, days: int, microseconds: int) -> str:
    years, months = _split_months(months)
    hours, minutes, seconds = _split_time(microseconds)
    minus = "-" if microseconds < 0 else ""
    date = "".join(f"{value}{unit}" for value, unit in ((years, "Y"), (months, "M"), (days, "D")) if value)
    time = "".join(f"{value}{unit}" for value, unit in ((hours, "H"), (minutes, "M")) if value)
    time += f"{minus}{seconds}S" if seconds else ""
    return f"P{date}T{time}" if time else f"P{date}" if date else "PT0S"


def _format_verbose(months: int, days: int, microseconds: int) -> str:
    """The sign of the first part is told by `ago`, those of others as they differ from it."""
    years, months = _split_months(months)
    hours, minutes, seconds = _split_time(microseconds)
    text, is_before = "@", None
    for value, unit in ((years, "year"), (months, "mon"), (days, "day"), (hours, "hour"), (minutes, "min")):
        if value:
            is_before = value < 0 if is_before is None else is_before
            shown = -value if is_before else value
            text += f" {shown} {unit}{'' if shown == 1 else 's'}"
    if seconds:
        is_negative = microseconds < 0
        minus = "-" if is_before is not None and is_negative is not is_before else ""
        is_before = is_negative if is_before is None else is_before
        text += f" {minus}{seconds} sec{'' if seconds == '1' else 's'}"
    return text + (" 0" if is_before is None else " ago" if is_before else "")


def _format_standard(months: int, days: int, microseconds: int) -> str:
    """`1-2`, `-3 4:05:06`; where SQL has no such interval every part has its sign: `+1-2 -3 +4:05:06`."""
    parts = (months, days, microseconds)
    has_negative, has_positive = min(parts) < 0, max(parts) > 0
    if not has_negative and not has_positive:
        return "0"
    years, month = divmod(abs(months), 12)
    seconds, fraction = divmod(abs(microseconds), 1_000_000)
    minutes, second = divmod(seconds, 60)
    clock = f"{minutes // 60}:{minutes % 60:02d}:{second:02d}"
    if fraction:
        clock += f".{fraction:06d}".rstrip("0")
    if (has_negative and has_positive) or (months and (days or microseconds)):
        signs = ["-" if part < 0 else "+" for part in parts]
        return f"{signs[0]}{years}-{month} {signs[1]}{abs(days)} {signs[2]}{clock}"
    text = f"{years}-{month}" if months else f"{abs(days)} {clock}" if days else clock
    return "-" + text if has_negative else text


def parse_interval(text: str, unit: str = "second") -> Interval:
    """Parses an interval; `unit` is the unit of a bare number, as in `INTERVAL '3' DAY`. 22007, 22008, 22015.

    With `minute to second`, `a:b` means minutes and seconds.
    """
    invalid = SqlError.of("invalid_datetime_format", f'invalid input syntax for type interval: "{text}"')
    try:
        total = _parse_iso(text) if text[:1] == "P" else _parse_fields(text, unit)
        if abs(total.microseconds) >= _INT64:
            raise _FieldOverflow
    except _BadFormat:
        raise invalid from None
    except _FieldOverflow:
        raise SqlError.of("interval_field_overflow", f'interval field value out of range: "{text}"') from None
    if not all(-_INT32 <= part < _INT32 for part in (total.months, total.days)):
        raise SqlError.of("datetime_field_overflow", "interval out of range")
    return Interval(total.months, total.days, total.microseconds)


def parse_restricted_interval(text: str, modifier: int) -> Interval:
    """Parses an interval and restricts it to a type's fields and precision (`INTERVAL '1' DAY`, `interval(3)`).

    Fields smaller than the type's are dropped.

    `modifier` is PostgreSQL's typmod: the fields' bits above 16 bits of precision.
    """
    named, precision = list_interval_fields(modifier), modifier & 0xFFFF
    smallest = named[-1] if named else "second"
    value = parse_interval(text, "minute to second" if named == ["minute", "second"] else smallest)
    months, days, microseconds = value.months, value.days, value.microseconds
    match smallest:
        case "year":
            return Interval(int(months / 12) * 12, 0, 0)
        case "month":
            return Interval(months, 0, 0)
        case "day":
            return Interval(months, days, 0)
        case "hour" | "minute":
            unit = _MICROSECONDS[smallest]
            return Interval(months, days, int(microseconds / unit) * unit)
    if precision < 6:
        unit = 10 ** (6 - precision)
        half = unit // 2 if microseconds >= 0 else -(unit // 2)
        microseconds = int((microseconds + half) / unit) * unit
    return Interval(months, days, microseconds)


class _BadFormat(Exception):
    """The text is not an interval."""


class _FieldOverflow(Exception):
    """A number in the text exceeds its field."""


class _Accumulator:
    """An interval's accumulator; a fraction of a unit is carried into the smaller ones."""

    def __init__(self) -> None:
        self.months = self.days = self.microseconds = 0

    def add(self, number: str, unit: str) -> None:
        """Adds `-1.5` units. Fractions are doubles, so that they round as in PostgreSQL."""
        sign = -1 if number.startswith("-") else 1
        digits, _, decimals = number.lstrip("+-").partition(".")
        if "e" in number.lower():
            digits, _, decimals = f"{abs(Decimal(number)):f}".partition(".")
        integer = sign * int(digits[:30] or 0)
        if not -_INT32 <= integer < _INT32 and unit not in _MICROSECONDS:
            raise _FieldOverflow
        rest = sign * float("0." + (decimals or "0"))
        if unit in _MICROSECONDS:
            self.microseconds += integer * _MICROSECONDS[unit] + _round_to_integer(rest * _MICROSECONDS[unit])
        elif unit in _DAYS:
            self.days += integer * _DAYS[unit]
            self._spill_days(rest * _DAYS[unit])
        elif unit == "month":
            self.months += integer
            self._spill_days(rest * 30)
        else:
            self.months += integer * _MONTHS[unit] + round(rest * _MONTHS[unit])

    def _spill_days(self, days: float) -> None:
        self.days += int(days)
        self.microseconds += _round_to_integer((days - int(days)) * calendar.DAY)


def _round_to_integer(value: float) -> int:
    """Returns the nearest integer, halves towards zero."""
    integer = int(value)
    return integer + (value - integer > 0.5) - (value - integer < -0.5)


def _parse_fields(text: str, unit: str) -> _Accumulator:
    fields: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip(SPACE)):
        match = _FIELD.match(text, at)
        if match is None:
            raise _BadFormat
        kind = str(match.lastgroup)
        if kind != "filler":
            fields.append((kind, match.group(kind).replace(" ", "")))
        at = match.end()
        if kind == "years" and text[at : at + 1] == "-":  # a date
            raise _BadFormat
        if kind == "word" and _joins_date(match.group(kind), text[at : at + 1]):
            raise _BadFormat
    if not fields:
        raise _BadFormat
    if get_style().interval == "sql_standard" and _is_negative_throughout([word for _, word in fields]):
        fields = [(kind, word if kind == "word" or word[0] == "-" else "-" + word) for kind, word in fields]
    total = _Accumulator()
    seen: set[str] = set()
    ago = False
    current = unit.split()[-1]
    # from the end, so that a unit is known before its number
    for kind, word in reversed(fields):
        if kind == "word":
            if word.lower() == "ago" and not seen:
                ago, current = True, "ago"
            elif word.lower()[:10] in _BEGINNINGS:
                current = _BEGINNINGS[word.lower()[:10]]
            else:
                raise _BadFormat
        elif kind == "time":
            _mark_seen(seen, "hour", "minute", *_SECONDS)
            total.microseconds += _parse_time(word, unit)
            current = "day"
        elif kind == "years":
            _mark_seen(seen, "month", "year")
            years, _, months = word.lstrip("+-").partition("-")
            if int(months) > 11:
                raise SqlError.of("interval_field_overflow", f'interval field value out of range: "{text}"')
            value = int(years) * 12 + int(months)
            total.months += -value if word[0] == "-" else value
        elif current == "ago":
            raise _BadFormat
        else:
            # a fraction of a second is its milliseconds and microseconds
            _mark_seen(seen, *(_SECONDS if current == "second" and word.partition(".")[2].strip("0") else (current,)))
            total.add(word, current)
            current = "day" if current == "hour" else current
    if not seen:
        raise _BadFormat
    if ago:
        total.months, total.days, total.microseconds = -total.months, -total.days, -total.microseconds
    return total


def _is_negative_throughout(words: list[str]) -> bool:
    """Whether the first field has the only sign, a minus, which in SQL is that of the whole interval."""
    return words[0][0] == "-" and all(word[0] not in "+-" for word in words[1:])


def _joins_date(word: str, following: str) -> bool:
    """Whether the following text makes a word a date, by PostgreSQL's rule: digits after a character that no date has
    do not.
    """
    return following in {"-", "/", "."} or (
        (following.isdigit() or following == "+") and word.lower() not in _DATE_WORDS
    )


def _mark_seen(seen: set[str], *units: str) -> None:
    if seen & set(units):
        raise _BadFormat
    seen.update(units)


def _parse_time(word: str, unit: str) -> int:
    """Parses `[-]hh:mm[:ss[.f]]` or `[-]mm:ss.f` to microseconds."""
    match = re.fullmatch(r"[+-]?(\d+):(\d*)(:\d*)?(\.\d*)?", word)
    if match is None:
        raise _BadFormat
    hour, minute, second, fraction = match.groups()
    if second is None and (fraction is not None or unit == "minute to second"):
        hour, minute, second = "0", hour, minute
    minutes, seconds = int(minute or 0), int((second or "").strip(":") or 0)
    if minutes > 59 or seconds > 60:
        raise SqlError.of("interval_field_overflow", f'interval field value out of range: "{word}"')
    seconds_total = ((int(hour) * 60 + minutes) * 60 + seconds) * 10**6
    value = seconds_total + round(float("0" + (fraction or ".0")) * 10**6)
    return -value if word[0] == "-" else value


def _parse_iso(text: str) -> _Accumulator:
    """Parses ISO 8601: `P1Y2M3DT4H5M6.5S`, and the alternative forms `P0001-02-03T04:05:06` and `P00010203T040506`."""
    date, mark, time = text[1:].partition("T")
    if not date and not mark:
        raise _BadFormat
    total = _Accumulator()
    _parse_iso_part(total, date, {"Y": "year", "M": "month", "W": "week", "D": "day"}, ("year", "month", "day"), "-", 8)
    _parse_iso_part(total, time, {"H": "hour", "M": "minute", "S": "second"}, ("hour", "minute", "second"), ":", 6)
    return total


def _parse_iso_part(
    total: _Accumulator, text: str, units: dict[str, str], fields: tuple[str, ...], separator: str, width: int
) -> None:
    """Parses the date or time part: numbers with unit letters, fields with separators, or fields by width."""
    at = 0
    while at < len(text):
        match = _ISO_NUMBER.match(text, at)
        if match is None:
            raise _BadFormat
        unit = text[match.end() : match.end() + 1]
        if unit in units:
            total.add(match[0], units[unit])
        elif at or unit not in {"", separator}:
            raise _BadFormat
        elif unit == "" and len(match[0].lstrip("-").partition(".")[0]) == width:
            return _parse_fixed_width(total, match[0], fields, width)
        else:
            return _parse_separated(total, text, fields, separator)
        at = match.end() + 1
    return None


def _parse_separated(total: _Accumulator, text: str, fields: tuple[str, ...], separator: str) -> None:
    """Parses `0001-02-03` or `04:05:06`, in which trailing fields are optional."""
    at = 0
    for index, unit in enumerate(fields):
        match = _ISO_NUMBER.match(text, at)
        if match is None:
            raise _BadFormat
        total.add(match[0], unit)
        at = match.end()
        if at == len(text):
            return
        if index == len(fields) - 1 or text[at] != separator:
            raise _BadFormat
        at += 1


def _parse_fixed_width(total: _Accumulator, number: str, fields: tuple[str, ...], width: int) -> None:
    """Parses `00010203` or `040506`; the smallest field may have a fraction."""
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    ends = (width - 4, width - 2)
    for value, unit in zip((digits[: ends[0]], digits[ends[0] : ends[1]], digits[ends[1] :]), fields, strict=True):
        total.add(sign + value, unit)

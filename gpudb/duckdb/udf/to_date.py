"""to_date and to_timestamp: parsing of dates and times by a template (PostgreSQL's formatting.c)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa

from gpudb.duckdb.udf.datetime_templates import DAYS, MONTHS, ROMAN, Token, parse_template
from gpudb.duckdb.udf.distinct_rows import find_valid, map_by_name
from gpudb.duckdb.udf.fixed_datetimes import read_fixed
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values import calendar, zones
from gpudb.values.text_pieces import Integers, Mask
from gpudb.values.zone_columns import get_local_offsets


def register(registry: FunctionRegistry) -> None:
    """Registers both functions."""
    registry.add_columnar("pg_read_date", "VARCHAR VARCHAR", "DATE", _read_dates)
    registry.add_columnar("pg_read_timestamptz", "VARCHAR VARCHAR VARCHAR", "TIMESTAMPTZ", _read_timestamps)


def _read_dates(texts: pa.Array, templates: pa.Array) -> pa.Array:
    def compute(template: str, rows: Integers) -> pa.Array:
        chosen = texts.take(pa.array(rows))
        fixed = read_fixed(chosen, template)
        days, _, read = fixed if fixed is not None else _none_read(len(rows))
        _read_others(days, read, chosen, lambda text: _read_date(text, template))
        return pa.array(days, pa.int32())

    return map_by_name(templates, find_valid(texts, templates), pa.int32(), compute).view(pa.date32())


def _read_timestamps(texts: pa.Array, templates: pa.Array, names: pa.Array) -> pa.Array:
    zone = names[0].as_py() if len(names) else "UTC"

    def compute(template: str, rows: Integers) -> pa.Array:
        chosen = texts.take(pa.array(rows))
        fixed = read_fixed(chosen, template)
        days, microseconds, read = fixed if fixed is not None else _none_read(len(rows))
        values = days * calendar.DAY + microseconds
        if read.any():
            values = values - get_local_offsets(zones.parse_session_zone(zone), values) * 1_000_000
        _read_others(values, read, chosen, lambda text: _read_timestamptz(text, template, zone))
        return pa.array(values, pa.int64())

    found = map_by_name(templates, find_valid(texts, templates), pa.int64(), compute)
    return found.view(pa.timestamp("us", "UTC"))


def _none_read(rows: int) -> tuple[Integers, Integers, Mask]:
    return np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.bool_)


def _read_others(values: Integers, read: Mask, texts: pa.Array, parse: Callable[[str], int]) -> None:
    """Parses the texts that were not read yet, each distinct one once."""
    known = cache(parse)
    for row in np.flatnonzero(~read).tolist():
        values[row] = known(texts[row].as_py())


def _read_date(text: str, template: str) -> int:
    days = _parse(text, template).days
    if not calendar.FIRST_DAY <= days <= calendar.days_from_civil(5_874_897, 12, 31):
        raise SqlError.of("datetime_field_overflow", f'date out of range: "{text}"')
    return days


@dataclass(slots=True)
class ParsedTimestamp:
    """A parsed date, time of day and time zone offset (None if there was none)."""

    days: int
    microseconds: int
    offset: int | None


_WIDTHS = {
    "HH": 2, "HH12": 2, "HH24": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 4, "SSSSS": 5, "YYYY": 4, "IYYY": 4,
    "YYY": 3, "IYY": 3, "YY": 2, "IY": 2, "Y": 1, "I": 1, "MM": 2, "DD": 2, "DDD": 3, "IDDD": 3, "D": 1, "ID": 1,
    "W": 1, "WW": 2, "IW": 2, "J": 1, "CC": 2, "Q": 1, "TZH": 2, "TZM": 2,
    "FF1": 1, "FF2": 2, "FF3": 3, "FF4": 4, "FF5": 5, "FF6": 6,
}  # fmt: skip


_QUANTITIES = {
    **dict.fromkeys(("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "Y,YYY"), "year"),
    **dict.fromkeys(("HH", "HH12", "HH24"), "hour"), **dict.fromkeys(("SSSS", "SSSSS"), "seconds"),
    **dict.fromkeys(("US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6"), "micros"),
    **dict.fromkeys(("MM", "MONTH", "MON", "RM"), "month"), **dict.fromkeys(("DDD", "IDDD"), "day of year"),
    **dict.fromkeys(("WW", "IW"), "week"), "DD": "day", **dict.fromkeys(("D", "ID", "DAY", "DY"), "weekday"),
    **dict.fromkeys(("AM", "PM", "A.M.", "P.M."), "pm"), **dict.fromkeys(("BC", "AD", "B.C.", "A.D."), "bc"),
}  # fmt: skip
"""The quantity that each field sets; several fields may set the same one."""
_ISO = frozenset({"IYYY", "IYY", "IY", "I", "IDDD", "ID", "IW"})
_GREGORIAN = frozenset("YYYY YYY YY Y Y,YYY DDD DD D MM MONTH MON RM W WW".split())


def _invalid(message: str, detail: str | None = None, hint: str | None = None) -> SqlError:
    return SqlError.of("invalid_datetime_format", message, detail=detail, hint=hint)


def _out_of_range(text: str) -> SqlError:
    return SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')


@dataclass(slots=True)
class _ParsedFields:
    """The values parsed so far: numbers by quantity (0 for none), and the date convention in use."""

    numbers: dict[str, int] = field(default_factory=dict)
    convention: str = ""
    year_digits: int = 0
    twelve_hours: bool = False
    sign: int = 0
    """The sign of the time zone: -1 for west, 0 if none was parsed."""

    def get(self, name: str) -> int:
        return self.numbers.get(name, 0)

    def put(self, key: str, value: int) -> None:
        """Sets a field's quantity; 22007 if it was set to another value before."""
        name = _QUANTITIES.get(key, key)
        if self.get(name) not in {0, value}:
            detail = "This value contradicts a previous setting for the same field type."
            raise _invalid(f'conflicting values for "{key}" field in formatting string', detail)
        self.numbers[name] = value

    def check_convention(self, key: str) -> None:
        """Raises 22007 if a key's date convention contradicts that of earlier keys."""
        own = "iso" if key in _ISO else "gregorian" if key in _GREGORIAN else self.convention
        if self.convention not in {"", own}:
            hint = "Do not mix Gregorian and ISO week date conventions in a formatting template."
            raise _invalid("invalid combination of date conventions", hint=hint)
        self.convention = own


def _parse(text: str, template: str) -> ParsedTimestamp:
    found = _ParsedFields()
    parts = parse_template(template)
    at, skipped, exact = 0, 0, False  # `skipped`: characters beyond those that the template asks for
    for number, token in enumerate(parts):
        if at >= len(text):
            break
        if not exact and token.key != "FX" and (token.key or not number):
            at, skipped = _skip_blanks(text, at, skipped)
        if token.key == "FX":
            exact = True
        elif token.key:
            at = _parse_field(text, at, token, parts[number + 1 : number + 2], found, skipped)
        else:
            at, skipped = _skip_literal(text, at, token, skipped, exact)
        if token.key and not exact:
            at, skipped = _skip_blanks(text, at, 0)
    hour = _hour(found)
    return ParsedTimestamp(_day(found, text), _time(found, hour, text), _zone(found, text))


def _skip_blanks(text: str, at: int, skipped: int) -> tuple[int, int]:
    start = at
    while at < len(text) and text[at].isspace():
        at += 1
    return at, skipped + at - start


def _skip_literal(text: str, at: int, token: Token, skipped: int, exact: bool) -> tuple[int, int]:
    """Skips literal text between fields.

    A blank or separator matches any separator or none; another character matches any character, unless blanks were
    skipped in its place. After FX each character matches exactly one.
    """
    for character in token.text:
        if exact:
            at += 1
        elif token.quoted or not (character.isspace() or _separates(character)):
            at, skipped = (at, skipped - 1) if skipped > 0 else (at + 1, skipped)
        elif text[at : at + 1].isspace() or _separates(text[at : at + 1]):
            at += 1
        else:
            skipped -= 1
    return at, skipped


def _separates(character: str) -> bool:
    return "!" <= character <= "~" and not character.isalnum()


def _parse_field(
    text: str, at: int, token: Token, following: tuple[Token, ...], found: _ParsedFields, skipped: int
) -> int:
    key = token.key.upper()
    found.check_convention(key)
    if key in _NAMES:
        return _parse_name(text, at, token.text, found)
    if key in {"TZ", "OF"}:
        raise FeatureNotSupported(f'formatting field "{key}" is only supported in to_char')
    if key == "Y,YYY":
        match = re.compile(r"\s*([+-]?\d+),\s*([+-]?\d{1,3})").match(text, at)
        if match is None:
            raise _invalid('invalid input string for "Y,YYY"')
        found.put(key, int(match[1]) * 1000 + int(match[2]))
        found.year_digits = 4
        return match.end() + 2 * bool(token.ordinal)
    if key == "TZH":
        # its sign may have been consumed as a separator
        signed = text[at : at + 1] in {"+", "-", " "}
        found.sign = -1 if (text[at] if signed or not skipped else text[at - 1]) == "-" else 1
        at += signed
    elif key == "TZM":
        found.sign = found.sign or 1
    width = _WIDTHS.get(key)
    if width is None:
        raise FeatureNotSupported(f'the template pattern "{key}" is not supported')
    value, end = _parse_number(text, at, key, width, fixed=_is_fixed(token, following))
    _put_number(key, value, end - at, found)
    return end + 2 * bool(token.ordinal)


def _is_fixed(token: Token, following: tuple[Token, ...]) -> bool:
    """Returns whether a number has its field's fixed width; it may vary if no digit follows."""
    if not following or not token.fill or token.ordinal:
        return False
    (after,) = following
    if after.key:
        return after.key == "Y,YYY" or (after.key in _WIDTHS and after.key != "TZH")
    return after.text[:1].isdigit()


_INTEGER = re.compile(r"\s*[+-]?\d+")


def _parse_number(text: str, at: int, key: str, width: int, *, fixed: bool) -> tuple[int, int]:
    """Parses a number; returns it and its end."""
    start = _skip_blanks(text, at, 0)[0]
    digits = text[start : start + width]
    match = _INTEGER.match(digits if fixed else text, 0 if fixed else at)
    if fixed and (len(digits) < width or (match is not None and match.end() < width)):
        hint = 'If your source string is not fixed-width, try using the "FM" modifier.'
        detail = f"Field requires {width} characters, but only"
        if len(digits) < width or match is None:
            message, detail = f'source string too short for "{key}" formatting field', f"{detail} {len(digits)} remain."
        else:
            message, detail = f'invalid value "{digits}" for "{key}"', f"{detail} {match.end()} could be parsed."
        raise _invalid(message, detail, hint)
    if match is None:
        raise _invalid(f'invalid value "{digits}" for "{key}"', "Value must be an integer.")
    value = int(match.group())
    if not -(2**31) <= value < 2**31:
        raise _out_of_range(text)
    return value, match.end() + start * fixed


def _put_number(key: str, value: int, length: int, found: _ParsedFields) -> None:
    """Sets a number's quantity, after comparing it as written with an earlier value.

    `length` is the number of characters. A short year becomes a full year, a fraction microseconds, and ID a day
    counted from Sunday.
    """
    if key == "Q":
        return  # the day that a quarter means is undefined
    found.put(key, value)
    name = _QUANTITIES.get(key, key)
    if name == "year":
        if len(key) < 4 and length < 4:
            found.numbers[name] = _full_year(value)
        found.year_digits = len(key)
    elif key in _FRACTIONS:
        found.numbers[name] = value * 10 ** max(_FRACTIONS[key] - length, 0)
        if key[0] == "F":
            found.numbers["places"] = int(key[2])
    elif key in {"HH", "HH12"}:
        found.twelve_hours = True
    elif key == "ID":
        found.numbers[name] = value + 1 if value < 7 else 1


_FRACTIONS = {"MS": 3, "US": 6, **{f"FF{digits}": 6 for digits in range(1, 7)}}


_NAMES: dict[str, list[str]] = {
    "MONTH": MONTHS, "MON": [name[:3] for name in MONTHS], "RM": ROMAN[::-1],
    "DAY": DAYS, "DY": [name[:3] for name in DAYS],
    "AM": ["AM", "PM"], "PM": ["AM", "PM"], "A.M.": ["A.M.", "P.M."], "P.M.": ["A.M.", "P.M."],
    "AD": ["AD", "BC"], "BC": ["AD", "BC"], "A.D.": ["A.D.", "B.C."], "B.C.": ["A.D.", "B.C."],
}  # fmt: skip


def _parse_name(text: str, at: int, written: str, found: _ParsedFields) -> int:
    key = written.upper()
    rest = text[at:].lower()
    fitting = [(len(name), number) for number, name in enumerate(_NAMES[key]) if rest.startswith(name.lower())]
    if not fitting:
        word = re.match(r"\S+", text[at:])
        raise _invalid(f'invalid value "{word.group() if word else ""}" for "{written}"')
    length, number = max(fitting)
    found.put(key, number + (_QUANTITIES.get(key) == "month"))
    found.twelve_hours |= _QUANTITIES.get(key) == "pm"
    if _QUANTITIES.get(key) == "weekday":
        found.numbers["weekday"] = number + 1
    return at + length


def _full_year(value: int) -> int:
    """Completes a year of fewer than four digits to the one nearest to 2020."""
    if value < 100:
        return value + (2000 if value < 70 else 1900)
    return value + (2000 if value < 520 else 1000)


def _year(found: _ParsedFields) -> int | None:
    """Returns the year, 0 for 1 BC; None if no field sets it."""
    year, century = found.get("year"), found.get("CC")
    century = -century if found.get("bc") else century
    if not year:
        return None if not century else century * 100 + (1 if century < 0 else -99)
    if century and found.year_digits <= 2:
        last = int(math.fmod(year, 100))
        if not last:
            return century * 100 + (century < 0)
        return last + (century - 1) * 100 if century > 0 else (century + 1) * 100 - last + 1
    year = -year if found.get("bc") else year
    return year + (year < 0)


def _day(found: _ParsedFields, text: str) -> int:
    year_or_none = _year(found)
    year, month, day = year_or_none or 0, 1, 1
    iso = found.convention == "iso"
    whole = False
    if found.get("J"):
        year_or_none, month, day = calendar.civil_from_days(found.get("J") - 2_440_588)
        year, whole = year_or_none, True
    day_of_year = found.get("day of year")
    if found.get("week") and iso:
        weekday = (found.get("weekday") + 5) % 7 if found.get("weekday") else 0
        days = _first_monday(year) + (found.get("week") - 1) * 7 + weekday
        year, month, day = calendar.civil_from_days(days)
    elif found.get("week"):
        day_of_year = (found.get("week") - 1) * 7 + 1
    if found.get("W"):
        found.numbers["day"] = (found.get("W") - 1) * 7 + 1
    day, month = found.get("day") or day, found.get("month") or month
    if day_of_year and (month <= 1 or day <= 1):
        if not year and not found.get("bc"):
            raise _invalid("cannot calculate day of year without year information")
        if iso:
            year, month, day = calendar.civil_from_days(_first_monday(year) + day_of_year - 1)
        else:
            whole = True
            first = calendar.days_from_civil(year, 1, 1)
            last = calendar.days_from_civil(year + 1, 1, 1) - first
            of_month, of_day = (1, day_of_year) if day_of_year < 1 else (13, day_of_year - last)  # in no year
            if 1 <= day_of_year <= last:
                _, of_month, of_day = calendar.civil_from_days(first + day_of_year - 1)
            month, day = month if month > 1 else of_month, day if day > 1 else of_day
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise _out_of_range(text)
    whole |= bool(found.get("day") and found.get("month"))
    if year_or_none is not None and whole and day > calendar.days_in_month(year, month):
        raise _out_of_range(text)
    return calendar.days_from_civil(year, month, 1) + day - 1


def day_of_week(days: int) -> int:
    """Returns the day of the week; 0 is Sunday."""
    return (days + 4) % 7


def _first_monday(year: int) -> int:
    """Returns the first day of an ISO 8601 year."""
    fourth = calendar.days_from_civil(year, 1, 4)
    return fourth - (day_of_week(fourth) + 6) % 7


def _hour(found: _ParsedFields) -> int:
    """Returns the hour; 22007 if it is invalid on the 12-hour clock."""
    hour = found.get("hour") or found.get("seconds") // 3600
    if not found.twelve_hours:
        return hour
    if not 1 <= hour <= 12:
        hint = "Use the 24-hour clock, or give an hour between 1 and 12."
        raise _invalid(f'hour "{hour}" is invalid for the 12-hour clock', hint=hint)
    return hour % 12 + 12 * found.get("pm")


def _time(found: _ParsedFields, hour: int, text: str) -> int:
    seconds = found.get("seconds")
    minute, second = found.get("MI") or seconds // 60 % 60, found.get("SS") or seconds % 60
    fraction = found.get("MS") * 1000 + found.get("micros")
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= fraction < 1_000_000):
        raise _out_of_range(text)
    unit: int = 10 ** (6 - (found.get("places") or 6))
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + (fraction + unit // 2) // unit * unit


def _zone(found: _ParsedFields, text: str) -> int | None:
    """Returns the time zone's offset in seconds east; None if there was none."""
    if found.get("TZH") > 15 or found.get("TZM") > 59:
        raise SqlError.of("invalid_time_zone_displacement_value", f'time zone displacement out of range: "{text}"')
    return found.sign * (found.get("TZH") * 3600 + found.get("TZM") * 60) if found.sign else None


def _read_timestamptz(text: str, template: str, zone: str) -> int:
    result = _parse(text, template)
    local = result.days * calendar.DAY + result.microseconds
    if not calendar.FIRST_DAY * calendar.DAY <= local <= calendar.MAX_TIMESTAMP:
        raise SqlError.of("datetime_field_overflow", "timestamp out of range")
    if result.offset is not None:
        return local - result.offset * 1_000_000
    return local - zones.get_local_offset(zones.parse_session_zone(zone), local) * 1_000_000

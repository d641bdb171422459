"""to_date and to_timestamp: dates and times read by a template (PostgreSQL's formatting.c)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from gpudb.engine.cpu.udf_formats import DAYS, MONTHS, ROMAN, Token, tokens, weekday_of
from gpudb.engine.cpu.udfs import Registry
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values import civil, zones


def register(registry: Registry) -> None:
    """Adds both."""
    registry.scalar("pg_read_date", "VARCHAR VARCHAR", "DATE", _read_date)
    registry.scalar("pg_read_timestamptz", "VARCHAR VARCHAR VARCHAR", "TIMESTAMPTZ", _read_moment)


def _read_date(text: str, template: str) -> int:
    days = _read(text, template).days
    if not civil.FIRST_DAY <= days <= civil.days_from_civil(5_874_897, 12, 31):
        raise SqlError.of("datetime_field_overflow", f'date out of range: "{text}"')
    return days


@dataclass(slots=True)
class Reading:
    """A date and a time of day, and a zone's offset if one was read."""

    days: int
    microseconds: int
    offset: int | None


_WIDTHS = {
    "HH": 2, "HH12": 2, "HH24": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 4, "SSSSS": 5, "YYYY": 4, "IYYY": 4,
    "YYY": 3, "IYY": 3, "YY": 2, "IY": 2, "Y": 1, "I": 1, "MM": 2, "DD": 2, "DDD": 3, "IDDD": 3, "D": 1, "ID": 1,
    "W": 1, "WW": 2, "IW": 2, "J": 1, "CC": 2, "Q": 1,
    "FF1": 1, "FF2": 2, "FF3": 3, "FF4": 4, "FF5": 5, "FF6": 6,
}  # fmt: skip


_TOLD = {
    **dict.fromkeys(("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I", "Y,YYY"), "year"),
    **dict.fromkeys(("HH", "HH12", "HH24"), "hour"), **dict.fromkeys(("SSSS", "SSSSS"), "seconds"),
    **dict.fromkeys(("US", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6"), "micros"),
    **dict.fromkeys(("MM", "MONTH", "MON", "RM"), "month"), **dict.fromkeys(("DDD", "IDDD"), "day of year"),
    **dict.fromkeys(("WW", "IW"), "week"), "DD": "day", **dict.fromkeys(("D", "ID", "DAY", "DY"), "weekday"),
    **dict.fromkeys(("AM", "PM", "A.M.", "P.M."), "pm"), **dict.fromkeys(("BC", "AD", "B.C.", "A.D."), "bc"),
}  # fmt: skip
"""What fields tell, where several tell the same."""
_ISO = frozenset({"IYYY", "IYY", "IY", "I", "IDDD", "ID", "IW"})
_GREGORIAN = frozenset("YYYY YYY YY Y Y,YYY DDD DD D MM MONTH MON RM W WW".split())


def _bad(message: str, detail: str | None = None, hint: str | None = None) -> SqlError:
    return SqlError.of("invalid_datetime_format", message, detail=detail, hint=hint)


def _out_of_range(text: str) -> SqlError:
    return SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')


@dataclass(slots=True)
class _Found:
    """What a template's fields have read so far: numbers by what they tell, 0 for nothing, and by which conventions."""

    numbers: dict[str, int] = field(default_factory=dict)
    convention: str = ""
    year_digits: int = 0
    twelve_hours: bool = False
    sign: int = 0
    """Of the zone: -1 for west, 0 where none was read."""

    def get(self, name: str) -> int:
        return self.numbers.get(name, 0)

    def put(self, key: str, value: int) -> None:
        """22007 for another value than what the same was found to be before."""
        name = _TOLD.get(key, key)
        if self.get(name) not in {0, value}:
            detail = "This value contradicts a previous setting for the same field type."
            raise _bad(f'conflicting values for "{key}" field in formatting string', detail)
        self.numbers[name] = value

    def agree(self, key: str) -> None:
        """22007 where a key's convention is not that of those before."""
        own = "iso" if key in _ISO else "gregorian" if key in _GREGORIAN else self.convention
        if self.convention not in {"", own}:
            hint = "Do not mix Gregorian and ISO week date conventions in a formatting template."
            raise _bad("invalid combination of date conventions", hint=hint)
        self.convention = own


def _read(text: str, template: str) -> Reading:
    found = _Found()
    parts = tokens(template)
    at = 0
    for number, token in enumerate(parts):
        if not token.key:
            at = _separator(text, at, token, template, number)
            continue
        after_field = number > 0 and parts[number - 1].key  # which takes the blanks behind it along
        if at >= len(text) or (after_field and text[at:].isspace()):
            break
        while at < len(text) and text[at].isspace():
            at += 1
        at = _field(text, at, token, parts[number + 1 : number + 2], found)
    return Reading(_day(found, text), _time(found, text), _zone(found, text))


def _separator(text: str, at: int, token: Token, template: str, number: int) -> int:
    """Blanks and signs of the template stand for any; text in quotes for as many characters."""
    if len(token.text) == 1 and not token.text.isalnum():
        if at < len(text) and "!" <= text[at] <= "~" and not text[at].isalnum():
            return at + 1
        if token.text.isspace():
            while at < len(text) and text[at].isspace():
                at += 1
            return at
        while at < len(text) and text[at].isspace():
            at += 1
        if at < len(text) and not text[at].isalnum() and text[at] not in "+-":
            return at + 1
        return at + 1 if at < len(text) and text[at] == token.text else at
    return at + len(token.text)


def _field(text: str, at: int, token: Token, following: tuple[Token, ...], found: _Found) -> int:
    key = token.key.upper()
    found.agree(key)
    if key in _NAMES:
        return _name(text, at, token.text, found)
    if key in {"TZH", "TZM"}:
        return _offset(text, at, key, found)
    if key in {"TZ", "OF"}:
        raise FeatureNotSupported(f'formatting field "{key}" is only supported in to_char')
    if key == "Y,YYY":
        match = re.compile(r"\s*([+-]?\d+),\s*([+-]?\d{1,3})").match(text, at)
        if match is None:
            raise _bad('invalid input string for "Y,YYY"')
        found.put(key, int(match[1]) * 1000 + int(match[2]))
        found.year_digits = 4
        return match.end() + 2 * bool(token.ordinal)
    width = _WIDTHS.get(key)
    if width is None:
        raise FeatureNotSupported(f'the template pattern "{key}" is not supported')
    # a number that no other digit follows may be longer or shorter than its field
    fixed = bool(following) and token.fill and not token.ordinal and _begins_with_digit(following[0])
    given = text[at : at + width]
    match = re.compile(r"[+-]?\d+").match(given if fixed else text, 0 if fixed else at)
    if fixed and (len(given) < width or (match is not None and match.end() < width)):
        hint = 'If your source string is not fixed-width, try using the "FM" modifier.'
        detail = f"Field requires {width} characters, but only"
        if len(given) < width or match is None:
            message, detail = f'source string too short for "{key}" formatting field', f"{detail} {len(given)} remain."
        else:
            message, detail = f'invalid value "{given}" for "{key}"', f"{detail} {match.end()} could be parsed."
        raise _bad(message, detail, hint)
    if match is None:
        raise _bad(f'invalid value "{given}" for "{key}"', "Value must be an integer.")
    digits = match.group().lstrip("+-")
    if len(digits) > 10:
        raise _out_of_range(text)
    _put_number(key, int(match.group()), len(digits), found)
    return match.end() + at * fixed + 2 * bool(token.ordinal)


def _begins_with_digit(token: Token) -> bool:
    key = token.key.upper()
    return key in _WIDTHS or key in {"Y,YYY", "TZM"} or token.text[:1].isdigit()


def _put_number(key: str, value: int, digits: int, found: _Found) -> None:
    if key == "Q":
        return  # which day a quarter means is not clear
    if _TOLD.get(key) == "year":
        if len(key) < 4 and digits < 4:
            value = _full_year(value)
        found.year_digits = len(key)
    elif key in _FRACTIONS:
        value *= 10 ** max(_FRACTIONS[key] - digits, 0)
        if key[0] == "F":
            found.numbers["places"] = int(key[2])
    elif key in {"HH", "HH12"}:
        found.twelve_hours = True
    found.put(key, value)
    if key == "ID":
        found.numbers["weekday"] = value + 1 if value < 7 else 1  # from Sunday on, as the others


_FRACTIONS = {"MS": 3, "US": 6, **{f"FF{digits}": 6 for digits in range(1, 7)}}


def _offset(text: str, at: int, key: str, found: _Found) -> int:
    match = re.compile(r"([+-]?)(\d{1,2})").match(text, at)
    if match is None:
        raise _bad(f'invalid value "{text[at : at + 2]}" for "{key}"')
    if key == "TZH" or not found.sign:
        found.sign = -1 if match[1] == "-" else 1
    found.put(key, int(match[2]))
    return match.end()


_NAMES: dict[str, list[str]] = {
    "MONTH": MONTHS, "MON": [name[:3] for name in MONTHS], "RM": ROMAN[::-1],
    "DAY": DAYS, "DY": [name[:3] for name in DAYS],
    "AM": ["AM", "PM"], "PM": ["AM", "PM"], "A.M.": ["A.M.", "P.M."], "P.M.": ["A.M.", "P.M."],
    "AD": ["AD", "BC"], "BC": ["AD", "BC"], "A.D.": ["A.D.", "B.C."], "B.C.": ["A.D.", "B.C."],
}  # fmt: skip


def _name(text: str, at: int, written: str, found: _Found) -> int:
    key = written.upper()
    rest = text[at:].lower()
    fitting = [(len(name), number) for number, name in enumerate(_NAMES[key]) if rest.startswith(name.lower())]
    if not fitting:
        word = re.match(r"\S+", text[at:])
        raise _bad(f'invalid value "{word.group() if word else ""}" for "{written}"')
    length, number = max(fitting)
    found.put(key, number + (_TOLD.get(key) == "month"))
    found.twelve_hours |= _TOLD.get(key) == "pm"
    if _TOLD.get(key) == "weekday":
        found.numbers["weekday"] = number + 1
    return at + length


def _full_year(value: int) -> int:
    """Years of fewer than four digits lie nearest to 2020."""
    if value < 100:
        return value + (2000 if value < 70 else 1900)
    return value + (2000 if value < 520 else 1000)


def _year(found: _Found) -> int | None:
    """The year, 0 for 1 BC; None if nothing tells it."""
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


def _day(found: _Found, text: str) -> int:
    told = _year(found)
    year, month, day = told or 0, 1, 1
    iso = found.convention == "iso"
    whole = False
    if found.get("J"):
        year, month, day = civil.civil_from_days(found.get("J") - 2_440_588)
    day_of_year = found.get("day of year")
    if found.get("week") and iso:
        weekday = (found.get("weekday") + 5) % 7 if found.get("weekday") else 0
        days = _first_monday(year) + (found.get("week") - 1) * 7 + weekday
        year, month, day = civil.civil_from_days(days)
    elif found.get("week"):
        day_of_year = (found.get("week") - 1) * 7 + 1
    if found.get("W"):
        found.numbers["day"] = (found.get("W") - 1) * 7 + 1
    day, month = found.get("day") or day, found.get("month") or month
    if day_of_year and (month <= 1 or day <= 1):
        if not year and not found.get("bc"):
            raise _bad("cannot calculate day of year without year information")
        if iso:
            year, month, day = civil.civil_from_days(_first_monday(year) + day_of_year - 1)
        else:
            whole = True
            last = civil.days_from_civil(year + 1, 1, 1) - civil.days_from_civil(year, 1, 1)
            if not 1 <= day_of_year <= last:
                raise _out_of_range(text)
            _, of_month, of_day = civil.civil_from_days(civil.days_from_civil(year, 1, 1) + day_of_year - 1)
            month, day = month if month > 1 else of_month, day if day > 1 else of_day
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise _out_of_range(text)
    whole |= bool(found.get("day") and found.get("month"))
    if told is not None and whole and day > civil.days_in_month(year, month):
        raise _out_of_range(text)
    return civil.days_from_civil(year, month, 1) + day - 1


def _first_monday(year: int) -> int:
    """The first day of ISO 8601's year."""
    fourth = civil.days_from_civil(year, 1, 4)
    return fourth - (weekday_of(fourth) + 6) % 7


def _time(found: _Found, text: str) -> int:
    seconds = found.get("seconds")
    hour = found.get("hour") or seconds // 3600
    minute, second = found.get("MI") or seconds // 60 % 60, found.get("SS") or seconds % 60
    if found.twelve_hours:
        if not 1 <= hour <= 12:
            hint = "Use the 24-hour clock, or give an hour between 1 and 12."
            raise _bad(f'hour "{hour}" is invalid for the 12-hour clock', hint=hint)
        hour = hour % 12 + 12 * found.get("pm")
    fraction = found.get("MS") * 1000 + found.get("micros")
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= fraction < 1_000_000):
        raise _out_of_range(text)
    unit: int = 10 ** (6 - (found.get("places") or 6))
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + (fraction + unit // 2) // unit * unit


def _zone(found: _Found, text: str) -> int | None:
    """Seconds east; None if no zone was read."""
    if found.get("TZH") > 15 or found.get("TZM") > 59:
        raise SqlError.of("invalid_time_zone_displacement_value", f'time zone displacement out of range: "{text}"')
    return found.sign * (found.get("TZH") * 3600 + found.get("TZM") * 60) if found.sign else None


def _read_moment(text: str, template: str, zone: str) -> int:
    made = _read(text, template)
    local = made.days * civil.DAY + made.microseconds
    if not civil.FIRST_DAY * civil.DAY <= local <= civil.MAX_TIMESTAMP:
        raise SqlError.of("datetime_field_overflow", "timestamp out of range")
    if made.offset is not None:
        return local - made.offset * 1_000_000
    return local - zones.offset_of_local(zones.session_zone(zone), local) * 1_000_000

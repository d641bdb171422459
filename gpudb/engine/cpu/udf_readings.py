"""to_date and to_timestamp: dates and times read by a template (PostgreSQL's formatting.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from gpudb.engine.cpu.udf_formats import DAYS, MONTHS, ROMAN, Token, tokens, weekday_of
from gpudb.engine.cpu.udfs import Registry
from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.values import civil, zones


def register(registry: Registry) -> None:
    """Adds both."""
    registry.scalar("pg_read_date", "VARCHAR VARCHAR", "DATE", _read_date)
    registry.scalar("pg_read_timestamptz", "VARCHAR VARCHAR VARCHAR", "TIMESTAMPTZ", _read_moment)


def _read_date(text: str, template: str) -> int | None:
    if not template:
        return None
    days = _read(text, template).days
    if days > civil.days_from_civil(5_874_897, 12, 31):
        raise SqlError.of("datetime_field_overflow", f'date out of range: "{text}"')
    return days


@dataclass(slots=True)
class Reading:
    """A date and a time of day, and a zone's offset if one was read."""

    days: int
    microseconds: int
    offset: int | None


_WIDTHS = {
    "HH": 2, "HH12": 2, "HH24": 2, "MI": 2, "SS": 2, "MS": 3, "US": 6, "SSSS": 5, "SSSSS": 5, "YYYY": 4, "IYYY": 4,
    "YYY": 3, "IYY": 3, "YY": 2, "IY": 2, "Y": 1, "I": 1, "MM": 2, "DD": 2, "DDD": 3, "IDDD": 3, "D": 1, "ID": 1,
    "W": 1, "WW": 2, "IW": 2, "J": 7, "CC": 2, "Q": 1,
    "FF1": 1, "FF2": 2, "FF3": 3, "FF4": 4, "FF5": 5, "FF6": 6,
}  # fmt: skip


def _bad(message: str, detail: str | None = None) -> SqlError:
    return SqlError.of("invalid_datetime_format", message, detail=detail)


def _out_of_range(text: str) -> SqlError:
    return SqlError.of("datetime_field_overflow", f'date/time field value out of range: "{text}"')


def _read(text: str, template: str) -> Reading:
    found: dict[str, Any] = {}
    parts = tokens(template)
    at = 0
    for number, token in enumerate(parts):
        if not token.key:
            at = _separator(text, at, token, template, number)
            continue
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            break
        at = _field(text, at, token, parts[number + 1 : number + 2], found)
    return _assembled(found, text)


def _separator(text: str, at: int, token: Token, template: str, number: int) -> int:
    """Blanks and signs of the template stand for any; text in quotes for as many characters."""
    if len(token.text) == 1 and not token.text.isalnum():
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


def _field(text: str, at: int, token: Token, following: tuple[Token, ...], found: dict[str, Any]) -> int:
    key = token.key.upper()
    if key in {"MONTH", "MON", "DAY", "DY", "AM", "PM", "A.M.", "P.M.", "BC", "AD", "B.C.", "A.D.", "RM"}:
        return _name(text, at, token.text, found)
    if key in {"TZH", "TZM"}:
        match = re.compile(r"([+-]?)(\d{1,2})").match(text, at)
        if match is None:
            raise _bad(f'invalid value "{text[at : at + 2]}" for "{key}"')
        found[key] = int(match.group(2)) * (-1 if match.group(1) == "-" else 1)
        if key == "TZH":
            found["TZS"] = -1 if match.group(1) == "-" else 1
        return match.end()
    if key in {"TZ", "OF"}:
        raise FeatureNotSupported(f'formatting field "{key}" is only supported in to_char')
    width = _WIDTHS.get(key)
    if width is None:
        raise FeatureNotSupported(f'the template pattern "{key}" is not supported')
    # a number that no other number follows may be longer than its field
    adjacent = bool(following) and following[0].key.upper() in _WIDTHS
    pattern = rf"[+-]?\d{{1,{width}}}" if adjacent and token.fill else r"[+-]?\d+"
    match = re.compile(pattern).match(text, at)
    if match is None:
        raise _bad(f'invalid value "{text[at : at + width]}" for "{key}"', "Value must be an integer.")
    digits = match.group()
    if len(digits.lstrip("+-")) > 10:
        raise _out_of_range(text)
    found[key] = int(digits)
    found[key + "#"] = len(digits.lstrip("+-"))
    return match.end()


def _name(text: str, at: int, written: str, found: dict[str, Any]) -> int:
    key = written.upper()
    rest = text[at:].lower()
    lists: dict[str, tuple[str, list[str]]] = {
        "MONTH": ("MM", MONTHS), "MON": ("MM", [name[:3] for name in MONTHS]),
        "DAY": ("DAYNAME", DAYS), "DY": ("DAYNAME", [name[:3] for name in DAYS]),
        "RM": ("MM", ROMAN[::-1]),
        "AM": ("PM", ["AM", "PM"]), "PM": ("PM", ["AM", "PM"]),
        "A.M.": ("PM", ["A.M.", "P.M."]), "P.M.": ("PM", ["A.M.", "P.M."]),
        "BC": ("BC", ["AD", "BC"]), "AD": ("BC", ["AD", "BC"]),
        "B.C.": ("BC", ["A.D.", "B.C."]), "A.D.": ("BC", ["A.D.", "B.C."]),
    }  # fmt: skip
    field, names = lists[key]
    fitting = [(len(name), number) for number, name in enumerate(names) if rest.startswith(name.lower())]
    if not fitting:
        word = re.match(r"\S+", text[at:])
        raise _bad(f'invalid value "{word.group() if word else ""}" for "{written}"')
    length, number = max(fitting)
    found[field] = number + 1 if field == "MM" else number
    return at + length


def _full_year(value: int, digits: int, key: str) -> int:
    """Years of fewer than four digits lie nearest to 2020."""
    if key.endswith("YYYY") or digits > 3:
        return value
    if digits == 3:
        return value + (2000 if value < 520 else 1000)
    return value + (2000 if value < 70 else 1900)


def _assembled(found: dict[str, Any], text: str) -> Reading:
    year, month, day = 1, 1, 1
    given = False
    for key in ("YYYY", "YYY", "YY", "Y"):
        if key in found:
            year, given = _full_year(found[key], found[key + "#"], key), True
    if "CC" in found and not given:
        year, given = (found["CC"] - 1) * 100 + 1, True
    if not given:
        year = 0  # PostgreSQL's 1 BC
    if found.get("BC"):
        year = 1 - year
    elif given and year < 0:
        year += 1
    month, day = found.get("MM", 1), found.get("DD", 1)
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        raise _out_of_range(text)
    if "DDD" in found:
        if not 1 <= found["DDD"] <= 366:
            raise _out_of_range(text)
        days = civil.days_from_civil(year, 1, 1) + found["DDD"] - 1
    elif "WW" in found:
        days = civil.days_from_civil(year, 1, 1) + (found["WW"] - 1) * 7
    elif "J" in found:
        days = found["J"] - 2_440_588
    elif any(key in found for key in ("IYYY", "IYY", "IY", "I")):
        days = _iso_day(found)
    else:
        if "W" in found and "DD" not in found:
            day = (found["W"] - 1) * 7 + 1
        if day > civil.days_in_month(year, month):
            raise _out_of_range(text)
        days = civil.days_from_civil(year, month, day)
    return Reading(days, _time(found, text), _offset(found))


def _iso_day(found: dict[str, Any]) -> int:
    key = next(key for key in ("IYYY", "IYY", "IY", "I") if key in found)
    year = _full_year(found[key], found[key + "#"], key)
    fourth = civil.days_from_civil(year, 1, 4)
    monday = fourth - (weekday_of(fourth) + 6) % 7
    if "IDDD" in found:
        return int(monday + found["IDDD"] - 1)
    return int(monday + (found.get("IW", 1) - 1) * 7 + found.get("ID", 1) - 1)


def _time(found: dict[str, Any], text: str) -> int:
    if "SSSS" in found or "SSSSS" in found:
        seconds = int(found.get("SSSS", found.get("SSSSS", 0)))
        hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    else:
        hour, minute, second = (
            found.get("HH24", found.get("HH12", found.get("HH", 0))),
            found.get("MI", 0),
            found.get("SS", 0),
        )
    if "HH24" not in found and ("HH" in found or "HH12" in found):
        if not 1 <= hour <= 12:
            hint = "Use the 24-hour clock, or give an hour between 1 and 12."
            raise SqlError.of("invalid_datetime_format", f'hour "{hour}" is invalid for the 12-hour clock', hint=hint)
        hour = hour % 12 + 12 * found.get("PM", 0) if "PM" in found else hour
    if not 0 <= hour <= 24 or not 0 <= minute <= 59 or not 0 <= second <= 60:
        raise _out_of_range(text)
    fraction = 0
    for key, digits in (("MS", 3), ("US", 6), *((f"FF{n}", n) for n in range(1, 7))):
        if key in found:
            written = found[key + "#"]
            scaled = (
                found[key] * 10 ** (digits - written) if written <= digits else found[key] // 10 ** (written - digits)
            )
            fraction += scaled * 10 ** (6 - digits)
    return int(((hour * 60 + minute) * 60 + second) * 1_000_000 + fraction)


def _offset(found: dict[str, Any]) -> int | None:
    if "TZH" not in found and "TZM" not in found:
        return None
    return int(found.get("TZH", 0) * 3600 + found.get("TZS", 1) * found.get("TZM", 0) * 60)


def _read_moment(text: str, template: str, zone: str) -> int:
    made = _read(text, template)
    local = made.days * civil.DAY + made.microseconds
    if made.offset is not None:
        return local - made.offset * 1_000_000
    return local - zones.offset_of_local(zones.session_zone(zone), local) * 1_000_000

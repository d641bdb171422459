"""to_char of dates, times and intervals: a template's fields are computed for all rows (PostgreSQL's formatting.c)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import pyarrow as pa

from gpudb.duckdb.udf.datetime_templates import DAYS, MONTHS, ROMAN, Token, parse_template
from gpudb.duckdb.udf.distinct_rows import map_by_name
from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import SqlError
from gpudb.values import calendar, zones
from gpudb.values.calendar_columns import civil_from_days, days_from_civil, iso_from_days, weekday_from_days
from gpudb.values.interval_columns import split_intervals
from gpudb.values.text_pieces import Integers, Mask, Piece, join_pieces, make_literal, pick_words, write_integers
from gpudb.values.zone_columns import get_zone_abbreviations, get_zone_offsets

_SECOND, _HOUR = 1_000_000, 3_600_000_000
_ORDINALS = ("th", "st", "nd", "rd")


def register(registry: FunctionRegistry) -> None:
    """Registers the functions."""
    registry.add_columnar("pg_format_timestamp", "TIMESTAMP VARCHAR", "VARCHAR", _format_timestamps)
    registry.add_columnar("pg_format_timestamptz", "TIMESTAMPTZ VARCHAR VARCHAR", "VARCHAR", _format_timestamptz)
    registry.add_columnar("pg_format_interval", "INTERVAL VARCHAR", "VARCHAR", _format_intervals)


# ---------------------------------------------------------------------------------------------- fields


class Fields:
    """The fields that templates print, of each row, computed when they are asked for: numbers of the calendar, and
    microseconds of the day. `offset` (seconds east of Greenwich) and `zone` are set for a timestamptz.
    """

    is_interval = False

    def __init__(self, timestamps: Integers, zone: zones.Zone | None = None) -> None:
        self._utc = timestamps
        self._zone = zone
        self.offset = np.zeros_like(timestamps) if zone is None else get_zone_offsets(zone, timestamps)
        self.days, self.microseconds = np.divmod(timestamps + self.offset * _SECOND, calendar.DAY)

    def __len__(self) -> int:
        return len(self.microseconds)

    @cached_property
    def civil(self) -> tuple[Integers, Integers, Integers]:
        """Years (0 is 1 BC), months and days."""
        return civil_from_days(self.days)

    @cached_property
    def display_year(self) -> Integers:
        """Years as they are printed: 1 is 1 BC too."""
        year = self.civil[0]
        return np.where(year > 0, year, 1 - year)

    @cached_property
    def clock(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Hours, minutes, seconds and microseconds, all with the sign of the time."""
        sizes = np.abs(self.microseconds)
        signs = np.where(self.microseconds < 0, -1, 1)
        seconds, fraction = np.divmod(sizes, _SECOND)
        return signs * (seconds // 3600), signs * (seconds // 60 % 60), signs * (seconds % 60), signs * fraction

    @cached_property
    def weekday(self) -> Integers:
        """Days of the week; 0 is Sunday."""
        return weekday_from_days(self.days)

    @cached_property
    def day_of_year(self) -> Integers:
        """Days of the year, from 1."""
        days: Integers = self.days - days_from_civil(self.civil[0], 1, 1) + 1
        return days

    @cached_property
    def iso(self) -> tuple[Integers, Integers]:
        """ISO 8601 years, as they are printed, and weeks."""
        year, week = iso_from_days(self.days)
        return np.where(year > 0, year, 1 - year), week

    def abbreviations(self) -> tuple[tuple[str, ...], Integers]:
        """Abbreviations of the zone, and the place of each row's."""
        if self._zone is None:
            return ("",), np.zeros(len(self), np.int64)
        return get_zone_abbreviations(self._zone, self._utc)


class _IntervalFields(Fields):
    """The fields of intervals; some follow PostgreSQL's formula for Julian days (date2j) of years, months and days."""

    is_interval = True

    def __init__(self, months: Integers, days: Integers, microseconds: Integers) -> None:
        signs, sizes = np.where(months < 0, -1, 1), np.abs(months)
        self._parts: tuple[Integers, Integers, Integers] = signs * (sizes // 12), signs * (sizes % 12), days
        self.microseconds = microseconds
        year, month, day = self._parts
        month, year = np.where(month > 2, month + 1, month + 13), np.where(month > 2, year + 4800, year + 4799)
        century = year // 100
        whole = year * 365 - 32167 + year // 4 - century + century // 4
        self.days = whole + 7834 * month // 256 + day - 2_440_588

    @cached_property
    def civil(self) -> tuple[Integers, Integers, Integers]:
        return self._parts

    @cached_property
    def display_year(self) -> Integers:
        return self._parts[0]

    @cached_property
    def day_of_year(self) -> Integers:
        """Days in months of 30 days."""
        year, month, day = self._parts
        days: Integers = (year * 12 + month) * 30 + day
        return days

    @cached_property
    def iso(self) -> tuple[Integers, Integers]:
        return iso_from_days(self.days)


# ---------------------------------------------------------------------------------------------- columns


def _format_timestamps(column: pa.Array, templates: pa.Array) -> pa.Array:
    return _format_moments(column.cast(pa.timestamp("us")), templates, None)


def _format_timestamptz(column: pa.Array, templates: pa.Array, names: pa.Array) -> pa.Array:
    zone = zones.parse_session_zone(names[0].as_py()) if len(names) else zones.fixed_offset_zone(0)
    return _format_moments(column.cast(pa.timestamp("us", "UTC")), templates, zone)


def _format_moments(column: pa.Array, templates: pa.Array, zone: zones.Zone | None) -> pa.Array:
    values = column.view(pa.int64()).fill_null(calendar.MAX_TIMESTAMP).to_numpy(zero_copy_only=False)
    valid = (values < calendar.MAX_TIMESTAMP) & (values > -calendar.MAX_TIMESTAMP)
    return _format_by_template(templates, valid, lambda rows: Fields(values[rows], zone))


def _format_intervals(column: pa.Array, templates: pa.Array) -> pa.Array:
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    parts = split_intervals(column)
    months, days, nanoseconds = (parts[name].astype(np.int64) for name in ("months", "days", "nanoseconds"))
    return _format_by_template(
        templates, valid, lambda rows: _IntervalFields(months[rows], days[rows], nanoseconds[rows] // 1000)
    )


def _format_by_template(templates: pa.Array, valid: Mask, get_fields: Callable[[Integers], Fields]) -> pa.Array:
    def compute(template: str, rows: Integers) -> pa.Array | None:
        return _format_rows(template, get_fields(rows)) if template else None

    return map_by_name(templates, valid, pa.string(), compute)


def _format_rows(template: str, fields: Fields) -> pa.Array:
    pieces = []
    for token in parse_template(template):
        if not token.key:
            pieces.append(make_literal(token.text))
        elif token.key != "FX":  # it is of input alone
            pieces += _PRINTERS[token.key](fields, token)
    return join_pieces(pieces, len(fields))


# ---------------------------------------------------------------------------------------------- pieces


def _divide(values: Integers, divisor: int) -> Integers:
    """Returns quotients, truncated towards zero."""
    quotients: Integers = np.sign(values) * (np.abs(values) // divisor)
    return quotients


def _with_ordinal(numbers: Integers, piece: Piece, token: Token) -> list[Piece]:
    if not token.ordinal:
        return [piece]
    last = np.abs(numbers) % 100
    places = np.where((last >= 11) & (last <= 13) | (last % 10 > 3), 0, last % 10)
    words = tuple(map(str.upper, _ORDINALS)) if token.ordinal == "TH" else _ORDINALS
    return [piece, pick_words(words, places)]


def _pad(numbers: Integers, width: int, token: Token) -> list[Piece]:
    """Pads numbers with zeros up to a width without their sign."""
    return _with_ordinal(numbers, write_integers(numbers, width if token.fill else 1), token)


def _pad_signed(numbers: Integers, width: int | Integers, token: Token) -> list[Piece]:
    """Pads numbers with zeros up to a width that includes a sign."""
    least = width - (numbers < 0) if not isinstance(width, int) or (numbers < 0).any() else width
    return _with_ordinal(numbers, write_integers(numbers, least), token)


def _pick_cased(names: tuple[str, ...], places: Integers, key: str, width: int, fill: bool) -> list[Piece]:
    cased = tuple(name.upper() if key.isupper() else name.lower() if key.islower() else name for name in names)
    return [pick_words(tuple(name.ljust(width) for name in cased) if fill else cased, places)]


def _print_clock_token(fields: Fields, token: Token) -> list[Piece]:
    key = token.key
    hour, minute, second, fraction = fields.clock
    match key:
        case "HH" | "HH12":
            shown = np.fmod(hour, 12)
            # twelve has no sign
            width = 2 + ((hour < 0) & (shown == 0)) if token.fill else 0
            shown = np.where(shown == 0, 12, shown)
            least: int | Integers = width if isinstance(width, int) else width.astype(np.int64)
            return _with_ordinal(shown, write_integers(shown, least), token)
        case "HH24":
            return _pad(hour, 2, token)
        case "MI":
            return _pad(minute, 2, token)
        case "SS":
            return _pad(second, 2, token)
        case "MS":
            return _pad_signed(_divide(fraction, 1000), 3, token)
        case "US":
            return _pad_signed(fraction, 6, token)
        case "SSSS" | "SSSSS":
            return _pad(hour * 3600 + minute * 60 + second, 1, token)
        case "AM" | "PM" | "am" | "pm" | "A.M." | "P.M." | "a.m." | "p.m.":
            words = ("A.M.", "P.M.") if "." in key else ("AM", "PM")
            return _pick_cased(words, (np.fmod(hour, 24) >= 12).astype(np.int64), key, 0, False)
    places = int(key[2])  # FF1 to FF6
    return _pad_signed(_divide(fraction, 10 ** (6 - places)), places, token)


def _print_year_token(fields: Fields, token: Token) -> list[Piece]:
    key = token.key
    year, shown = fields.civil[0], fields.display_year
    match key:
        case "IYYY" if fields.is_interval:
            numbers = fields.iso[0]
            width = np.where(year >= 0, 4, 5) if token.fill else np.zeros_like(year)
            return _with_ordinal(numbers, write_integers(numbers, width - (numbers < 0)), token)
        case "YYYY" | "IYYY":
            return _pad(fields.iso[0] if key[0] == "I" else shown, 4, token)
        case "Y,YYY":
            # the thousands of a negative year below 1000 have no sign, its rest has one
            thousands, rest = _divide(shown, 1000), np.fmod(shown, 1000)
            pieces = [write_integers(thousands), make_literal(","), write_integers(rest, 3 - (rest < 0))]
            return [*pieces[:-1], *_with_ordinal(shown, pieces[-1], token)]
        case "CC":
            if fields.is_interval:
                return _pad(_divide(year, 100), 2, token)
            century = (shown + 99) // 100
            return _pad(np.where(year > 0, century, -century), 2, token)
        case "YYY" | "YY" | "Y" | "IYY" | "IY" | "I":
            numbers = np.fmod(fields.iso[0] if key[0] == "I" else shown, 10 ** len(key))
            width = len(key) + ((shown < 0) & (len(key) > 1)) if token.fill else np.zeros_like(shown)
            if fields.is_interval:
                return _pad_signed(numbers, width.astype(np.int64), token)
            return _pad_signed(numbers, len(key) if token.fill else 0, token)
    _require_calendar(fields)
    words = ("B.C.", "A.D.") if "." in key else ("BC", "AD")
    return _pick_cased(words, (year > 0).astype(np.int64), key, 0, False)


def _print_month_token(fields: Fields, token: Token) -> list[Piece]:
    key = token.key
    year, month, day = fields.civil
    match key:
        case "MM":
            return _pad(month, 2, token)
        case "DD":
            return _pad_signed(day, 2 if token.fill else 0, token)
        case "Q":
            pieces = _pad(_divide(month - 1, 3) + 1, 1, token)
            return [piece.when(month != 0) for piece in pieces] if fields.is_interval else pieces
        case "RM" | "rm":
            # for whole years the last month, for negative years the first
            counted = np.where(month == 0, np.where(year > 0, 12, -12), month)
            names = _pick_cased(tuple(ROMAN), np.where(counted > 0, 12 - counted, -counted - 1), key, 4, token.fill)
            return [piece.when((month != 0) | (year != 0)) for piece in names] if fields.is_interval else names
    _require_calendar(fields)
    short = len(key) == 3
    names_ = tuple(name[:3] if short else name for name in MONTHS)
    return _pick_cased(names_, month - 1, key, 0 if short else 9, token.fill)


def _print_zone_token(fields: Fields, token: Token) -> list[Piece]:
    _require_calendar(fields)
    sign = pick_words(("+", "-"), (fields.offset < 0).astype(np.int64))
    hours, minutes = np.abs(fields.offset) // 3600, np.abs(fields.offset) // 60 % 60
    match token.key:
        case "TZH":
            return [sign, write_integers(hours, 2)]
        case "TZM":
            return [write_integers(minutes, 2)]
        case "OF":
            shown = minutes != 0
            rest = [make_literal(":").when(shown), write_integers(minutes, 2).when(shown)] if shown.any() else []
            return [sign, write_integers(hours, 2 if token.fill else 1), *rest]
    words, places = fields.abbreviations()
    return [pick_words(words if token.key == "TZ" else tuple(map(str.lower, words)), places)]


def _require_calendar(fields: Fields) -> None:
    if fields.is_interval:
        hint = "Intervals are not tied to specific calendar dates."
        raise SqlError.of("invalid_datetime_format", "invalid format specification for an interval value", hint=hint)


def _print_day_token(fields: Fields, token: Token) -> list[Piece]:
    key = token.key
    if key not in {"DDD", "IDDD", "W", "WW", "IW", "J"}:
        _require_calendar(fields)
    match key:
        case "DDD":
            return _pad_signed(fields.day_of_year, 3 if token.fill else 0, token)
        case "IDDD":
            weekday = np.where(fields.weekday == 0, 7, fields.weekday)
            return _pad((fields.iso[1] - 1) * 7 + weekday, 3, token)
        case "D":
            return _pad(fields.weekday + 1, 1, token)
        case "ID":
            return _pad(np.where(fields.weekday == 0, 7, fields.weekday), 1, token)
        case "W":
            return _pad(_divide(fields.civil[2] - 1, 7) + 1, 1, token)
        case "WW":
            return _pad_signed(_divide(fields.day_of_year - 1, 7) + 1, 2 if token.fill else 0, token)
        case "IW":
            return _pad(fields.iso[1], 2, token)
        case "J":
            return _pad(fields.days + 2_440_588, 1, token)
    short = len(key) == 2
    names = tuple(name[:3] if short else name for name in DAYS)
    return _pick_cased(names, fields.weekday, key, 0 if short else 9, token.fill)


_PRINTERS: dict[str, Callable[[Fields, Token], list[Piece]]] = {
    **dict.fromkeys("HH HH12 HH24 MI SS MS US FF1 FF2 FF3 FF4 FF5 FF6 SSSS SSSSS".split(), _print_clock_token),
    **dict.fromkeys("AM PM am pm A.M. P.M. a.m. p.m.".split(), _print_clock_token),
    **dict.fromkeys("IYYY YYYY YYY YY Y IYY IY I Y,YYY CC".split(), _print_year_token),
    **dict.fromkeys("BC AD bc ad B.C. A.D. b.c. a.d.".split(), _print_year_token),
    **dict.fromkeys("MM DD Q MONTH Month month MON Mon mon RM rm".split(), _print_month_token),
    **dict.fromkeys("TZ tz TZH TZM OF".split(), _print_zone_token),
    **dict.fromkeys("DAY Day day DY Dy dy DDD IDDD D ID W WW IW J".split(), _print_day_token),
}

"""Parser of dates, times and timestamps in every form that PostgreSQL accepts.

Follows PostgreSQL 16's datetime.c: a text is split into fields by shape, then each field gets its meaning from the
fields before it. A date's numbers are in the order of DateStyle unless a year of three digits or more comes first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from string import punctuation

from gpudb.errors import SqlError
from gpudb.values import calendar, zones
from gpudb.values.datetime_style import get_style
from gpudb.values.numbers import SPACE

_FIELD = re.compile(
    r"""(?P<time>\d+:[\d:.]*)
      | (?P<date>\d+([-/])(?:\d+(?:\3(?:\d|\3)*)?|[^\W_]\w*(?:\3\w*)*)|\d+\.\d+\.[\d.]*
          |\d+\.[^\W\d_][^\W_.]*(?:\.\w*)*)
      | (?P<number>\d+(?:\.\d*)?|\.\d+)
      | (?P<word>[^\W\d_]+)
      | (?P<zone>[+-]\s*\d[\d:.-]*)
      | (?P<special>[+-]\s*[^\W\d_]+)""",
    re.VERBOSE | re.ASCII,
)
_DATE_WORD = re.compile(r"[\w+\-/.:]+", re.ASCII)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = {name: n for names in (MONTHS, _FULL_MONTHS) for n, name in enumerate(names, 1)} | {"sept": 9}
_WEEKDAYS = frozenset(
    "sun sunday mon monday tue tues tuesday wed weds wednesday thu thur thurs thursday fri friday sat saturday".split()
)
_IGNORED = frozenset({"at", "on"})
_SPECIAL = frozenset({"epoch", "infinity", "now", "today", "tomorrow", "yesterday", "allballs"})
_KNOWN = (
    frozenset(_MONTH)
    | _WEEKDAYS
    | _IGNORED
    | _SPECIAL
    | {"am", "pm", "ad", "bc", "t", "z", "zulu", "utc", "dst", "j", "jd", "julian"}
)
_FIRST_PARTS = {"MDY": "month", "DMY": "day", "YMD": "year"}
_MD_HINT = 'Perhaps you need a different "datestyle" setting.'


@dataclass(slots=True)
class Fields:
    """The parsed fields. `days` is None without a date, `time` (microseconds) None without a time of day."""

    special: str | None = None
    days: int | None = None
    time: int | None = None
    zone: zones.Zone | None = None


def decode_datetime(text: str, type_name: str, time_only: bool = False) -> Fields:
    """Parses a text; raises 22007, 22008, 22009 and 22023 as PostgreSQL does, naming `type_name`."""
    return _Decoder(text, type_name, time_only, get_style().order).run()


@dataclass(slots=True)
class _Decoder:
    text: str
    type_name: str
    time_only: bool
    order: str
    present: set[str] = field(default_factory=set)
    year: int = 0
    month: int = 0
    day: int = 0
    day_of_year: int = 0
    days: int | None = None
    time: int | None = None
    zone: zones.Zone | None = None
    special: str | None = None
    meridian: str | None = None
    bc: bool = False
    two_digits: bool = False
    text_month: bool = False
    julian: bool = False
    after_t: bool = False
    weekday: bool = False

    def run(self) -> Fields:
        fields = self._split(self.text.strip(SPACE).lower())
        if not fields:
            raise self._invalid_error()
        for at, (kind, word) in enumerate(fields):
            # a date may precede a time of day: the type time ignores it
            is_date_allowed = not self.time_only or (
                at == 0 and len(fields) > 1 and (fields[1][0] == "time" or fields[-1][0] == "date")
            )
            if kind == "date":
                self._read_date_or_zone(word, is_date_allowed)
            elif kind == "time":
                self._read_time(word)
            elif kind == "zone":
                self._read_offset(word.replace(" ", ""))
            elif kind == "number":
                self._read_number_field(word, is_date_allowed)
            else:
                self._read_word(word.replace(" ", ""))
        return self._finish()

    def _invalid_error(self) -> SqlError:
        message = f'invalid input syntax for type {self.type_name}: "{self.text}"'
        return SqlError.of("invalid_datetime_format", message)

    def _overflow_error(self, hint: str | None = None) -> SqlError:
        message = f'date/time field value out of range: "{self.text}"'
        return SqlError.of("datetime_field_overflow", message, hint=hint)

    def _split(self, text: str) -> list[tuple[str, str]]:
        fields: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _FIELD.match(text, at)
            if match is None:
                if text[at] in "+-" or text[at] not in punctuation + SPACE:
                    raise self._invalid_error()
                at += 1
                continue
            kind = next(name for name, value in match.groupdict().items() if value is not None)
            word = match.group(kind)
            at = match.end()
            if kind == "word" and at < len(text):
                is_joined = text[at] in "+_" or text[at].isdigit()
                if text[at] in "-/." or (is_joined and word not in _KNOWN):
                    date_word = _DATE_WORD.match(text, match.start())
                    assert date_word is not None
                    kind, word, at = "date", date_word.group(), date_word.end()
            fields.append((kind, word))
        return fields

    # ---- fields

    def _read_date_or_zone(self, word: str, is_date_allowed: bool) -> None:
        if is_date_allowed and not {"month", "day"} <= self.present and self.days is None:
            self._read_date(word)
        elif word[0].isdigit():
            number, sign, offset = re.split("([-+])", word, maxsplit=1) if "-" in word else (word, "", "")
            if not sign or self.time is not None:
                raise self._invalid_error()
            self._read_offset(sign + offset)
            self._read_digits(number)
        else:
            self._read_zone_name(word, unknown="_" not in word or not self.time_only)

    def _read_date(self, word: str) -> None:
        parts = re.findall(r"[^\W_\d]+|\d+", word)
        if len(parts) > 3 or re.search(r"[^\w\-/.]", word) or self.time is not None:
            raise self._invalid_error()
        numbers = []
        for part in parts:
            if part[0].isdigit():
                numbers.append(part)
            elif part in _MONTH and "month" not in self.present:
                self.month, self.text_month = _MONTH[part], True
                self.present.add("month")
            elif part not in _IGNORED and part not in _WEEKDAYS:
                raise self._invalid_error()
        for number in numbers:
            self._read_number(number)
        if not ({"year", "month", "day"} <= self.present or "doy" in self.present):
            raise self._invalid_error()

    def _read_number_field(self, word: str, is_date_allowed: bool) -> None:
        integer, point, _ = word.partition(".")
        if self.julian and self.days is None:
            self._read_julian_day(word)
        elif not is_date_allowed or self._has_date():
            self._read_digits(word)
        elif point and not self.present:
            self._read_date(word)
        elif point and len(integer) <= 2:
            raise self._invalid_error()
        elif point or len(word) >= 6:
            self._read_digits(word)
        else:
            self._read_number(word)

    def _has_date(self) -> bool:
        numbers = {"year", "month", "day"} <= self.present or "doy" in self.present
        return numbers or self.days is not None or self.special is not None

    def _read_julian_day(self, word: str) -> None:
        integer, _, fraction = word.partition(".")
        self.days = int(integer[:10]) + calendar.FIRST_DAY
        if fraction:
            self.time = round(float("0." + fraction) * calendar.DAY)
        self.julian = False

    def _read_number(self, word: str) -> None:
        """Interprets one number of a date."""
        value, known = int(word[:12]), self.present & {"year", "month", "day"}
        if len(word) == 3 and known == {"year"} and 1 <= value <= 366:
            self.day_of_year = value
            self.present.add("doy")
            return
        match sorted(known):
            case []:
                part = "year" if len(word) >= 3 else _FIRST_PARTS[self.order]
            case ["year"]:
                part = "month"
            case ["month"]:
                is_year = self.text_month and (len(word) >= 3 or self.order == "YMD")
                part = "year" if is_year else "day"
            case ["month", "year"]:
                part = "day"
                if self.text_month and len(word) >= 3 and self.two_digits:
                    self.day, self.year, self.two_digits = self.year, value, False
                    self.present.add("day")
                    return
            case ["day"]:
                part = "month"
            case ["day", "month"]:
                part = "year"
            case _:
                return self._read_digits(word)
        setattr(self, part, value)
        self.present.add(part)
        if part == "year":
            self.two_digits = len(word) <= 2

    def _read_digits(self, word: str) -> None:
        """Interprets digits without separators: `20200131`, `200131`, `040506.789`, `0405`."""
        integer, point, fraction = word.partition(".")
        if not point and not self._has_date() and not self.time_only and len(integer) >= 6:
            if self.present & {"year", "month", "day"}:
                raise self._invalid_error()
            self.year, self.month, self.day = int(integer[:-4][:12]), int(integer[-4:-2]), int(integer[-2:])
            self.two_digits = len(integer) == 6
            self.present |= {"year", "month", "day"}
        elif self.time is None and len(integer) in (4, 6):
            self._set_time(int(integer[:2]), int(integer[2:4]), int(integer[4:] or 0), fraction)
        else:
            raise self._invalid_error()

    def _read_time(self, word: str) -> None:
        if self.time is not None:
            raise self._invalid_error()
        match = re.fullmatch(r"(\d+):(\d*)(:\d*)?(?:\.(\d*))?", word)
        if match is None:
            raise self._invalid_error()
        hour, minute, second, fraction = match.groups()
        if second is None and fraction is not None:
            hour, minute, second = "0", hour, minute  # mm:ss.fraction
        self._set_time(int(hour[:9]), int(minute[:9] or 0), int((second or "").strip(":")[:9] or 0), fraction or "")

    def _set_time(self, hour: int, minute: int, second: int, fraction: str) -> None:
        micro = round(float("0." + fraction) * 1_000_000) if fraction else 0
        time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + micro
        if hour > 24 or minute > 59 or second > 60 or time > calendar.DAY:
            raise self._overflow_error()
        self.time = time

    def _read_offset(self, word: str) -> None:
        try:
            seconds = zones.parse_offset(word)
        except SqlError as error:
            error.args = (f'time zone displacement out of range: "{self.text}"',)
            error.message = error.args[0]
            raise
        if seconds is None:
            raise self._invalid_error()
        if self.zone is not None:  # `EST+3`: POSIX counts westward
            base = zones.get_offset(self.zone, 0)
            self.zone = zones.fixed_offset_zone(base - seconds if base else -seconds)
        else:
            self.zone = zones.fixed_offset_zone(seconds)

    def _read_zone_name(self, word: str, unknown: bool = False) -> None:
        zone = zones.find_zone(word)
        if zone is None:
            if unknown:
                raise SqlError.of("invalid_parameter_value", f'time zone "{word}" not recognized')
            raise self._invalid_error()
        if self.zone is not None:
            raise self._invalid_error()
        self.zone = zone

    def _read_word(self, word: str) -> None:
        if word in _SPECIAL or word.lstrip("+-") == "infinity":
            if self.special is not None:
                raise self._invalid_error()
            self.special = "-infinity" if word[0] == "-" else word.lstrip("+")
        elif (abbreviation := zones.get_abbreviations().get(word)) is not None or word == "z":
            if self.zone is not None:
                raise self._invalid_error()
            self.zone = abbreviation or zones.fixed_offset_zone(0)
        elif word in _MONTH:
            if "month" in self.present:
                if self.text_month or "day" in self.present:
                    raise self._invalid_error()
                self.day = self.month  # the preceding number was the day
                self.present.add("day")
            self.month, self.text_month = _MONTH[word], True
            self.present.add("month")
        elif word in {"am", "pm"} and self.meridian is None:
            self.meridian = word
        elif word in {"ad", "bc"}:
            self.bc = word == "bc"
        elif word in {"j", "jd", "julian"}:
            self.julian = True
        elif word == "t":
            if (not self._has_date() and not self.time_only) or self.after_t:
                raise self._invalid_error()
            self.after_t = True
        elif word in _WEEKDAYS and not self.weekday:
            self.weekday = True
        elif word not in _IGNORED and word != "dst":
            self._read_zone_name(word)

    # ---- the end

    def _finish(self) -> Fields:
        if self.after_t and self.time is None:
            raise self._invalid_error()
        if self.meridian is not None and self.time is not None:
            if self.time >= 13 * 3_600_000_000:
                raise self._overflow_error()
            noon = 12 * 3_600_000_000
            self.time = self.time % noon + (noon if self.meridian == "pm" else 0)
        if self.special is not None:
            alone = self.special == "epoch" or self.special.endswith("infinity")
            if self.present or self.days is not None or (alone and (self.time is not None or self.zone is not None)):
                raise self._invalid_error()
            return Fields(self.special, None, self.time, self.zone)
        if self.days is None and self.present:
            self.days = self._compute_days()
        if self.days is None and not self.time_only:
            raise self._invalid_error()
        if self.time_only and self.time is None:
            raise self._invalid_error()
        return Fields(None, self.days, self.time, self.zone)

    def _check_range(self) -> None:
        """Checks month and day as far as they are present."""
        month, day = (
            "month" not in self.present or 1 <= self.month <= 12,
            "day" not in self.present or 1 <= self.day <= 31,
        )
        if not month or not day:
            raise self._overflow_error(_MD_HINT)

    def _compute_days(self) -> int:
        complete = self.present in ({"year", "month", "day"}, {"year", "doy"})
        if "year" not in self.present:
            self._check_range()
        if not complete:
            raise self._invalid_error()
        year = self.year
        if self.bc:
            if year <= 0:
                raise self._overflow_error()
            year = 1 - year
        elif self.two_digits:
            year += 2000 if year < 70 else 1900
        elif year <= 0:
            raise self._overflow_error()
        if "doy" in self.present:
            return calendar.days_from_civil(year, 1, 1) + self.day_of_year - 1
        self._check_range()
        if self.day > calendar.days_in_month(year, self.month):
            raise self._overflow_error()
        return calendar.days_from_civil(year, self.month, self.day)

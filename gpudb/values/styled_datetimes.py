"""Dates and timestamps in the formats of DateStyle other than ISO: `17/12/1997`, `Wed Dec 17 07:37:16 1997 PST`.

Columns are rearranged from their texts in ISO format. Source: PostgreSQL 16's EncodeDateOnly and EncodeDateTime.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values import calendar
from gpudb.values.datetime_style import DateTimeStyle

Integers = npt.NDArray[np.int64]

MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WEEKDAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")  # 1970-01-01 is the first
_LONGEST_ABBREVIATION = 10
_SEPARATORS = {"SQL": "/", "Postgres": "-", "German": "."}


def format_date_in_style(days: int, style: DateTimeStyle) -> str:
    """Formats a date: `12/17/1997`, `17-12-1997`, `17.12.1997 BC`, `infinity`."""
    text = calendar.format_date(days)
    if style.format == "ISO" or text.endswith("infinity"):
        return text
    date, _, era = text.partition(" ")
    return " ".join(filter(None, (_rearrange_date(date, style), era)))


def _rearrange_date(date: str, style: DateTimeStyle) -> str:
    year, month, day = date.split("-")
    is_day_first = style.order == "DMY" or style.format == "German"
    return _SEPARATORS[style.format].join((day, month, year) if is_day_first else (month, day, year))


def format_timestamp_in_style(
    microseconds: int, style: DateTimeStyle, offset: int | None = None, abbreviation: str = ""
) -> str:
    """Formats a timestamp, or with an offset (seconds east, already added) and a zone's abbreviation a timestamptz."""
    if style.format == "ISO" or abs(microseconds) >= calendar.MAX_TIMESTAMP:
        return calendar.format_timestamp(microseconds, offset)
    days, time = divmod(microseconds, calendar.DAY)
    date, _, era = calendar.format_date(days).partition(" ")
    zone = "" if offset is None else " " + abbreviation[:_LONGEST_ABBREVIATION]
    clock = calendar.format_time(time)
    if style.format == "Postgres":
        year, month, day = date.split("-")
        name = MONTH_NAMES[int(month) - 1]
        both = f"{day} {name}" if style.order == "DMY" else f"{name} {day}"
        text = f"{_WEEKDAYS[days % 7]} {both} {clock} {year}{zone}"
    else:
        text = f"{_rearrange_date(date, style)} {clock}{zone}"
    return f"{text} {era}" if era else text


def format_zones(abbreviations: tuple[str, ...], places: Integers) -> pa.StringArray:
    """Returns ` CET` for each row, by the place of its zone's abbreviation."""
    return pa.array([" " + each[:_LONGEST_ABBREVIATION] for each in abbreviations], pa.string()).take(pa.array(places))


def rearrange_dates(iso: pa.StringArray, style: DateTimeStyle) -> pa.StringArray:
    """Rearranges texts `1997-12-17` of years with four digits, and no more of longer texts."""
    year, month, day = (pc.utf8_slice_codeunits(iso, *ends) for ends in ((0, 4), (5, 7), (8, 10)))
    is_day_first = style.order == "DMY" or style.format == "German"
    parts = (day, month, year) if is_day_first else (month, day, year)
    return pc.binary_join_element_wise(*parts, _SEPARATORS[style.format])


def rearrange_timestamps(
    iso: pa.StringArray, days: Integers, zones: pa.Array | str, style: DateTimeStyle
) -> pa.StringArray:
    """Rearranges texts `1997-12-17 07:37:16.5` of years with four digits; `days` are their days since 1970."""
    clock = pc.utf8_slice_codeunits(iso, 11)
    if style.format != "Postgres":
        text = pc.binary_join_element_wise(rearrange_dates(iso, style), clock, " ")
        return pc.binary_join_element_wise(text, zones, "")
    weekday = pa.array(_WEEKDAYS).take(pa.array(days % 7))
    months = pc.subtract(pc.cast(pc.utf8_slice_codeunits(iso, 5, 7), pa.int64()), 1)
    name, day = pa.array(MONTH_NAMES).take(months), pc.utf8_slice_codeunits(iso, 8, 10)
    both = (day, name) if style.order == "DMY" else (name, day)
    text = pc.binary_join_element_wise(weekday, *both, clock, pc.utf8_slice_codeunits(iso, 0, 4), " ")
    return pc.binary_join_element_wise(text, zones, "")

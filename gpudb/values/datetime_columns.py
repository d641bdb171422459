"""Text of date, time and timestamp columns, with years beyond 9999 and infinities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values import calendar, zones
from gpudb.values.datetime_style import DateTimeStyle, get_style
from gpudb.values.styled_datetimes import (
    format_date_in_style,
    format_timestamp_in_style,
    format_zones,
    rearrange_dates,
    rearrange_timestamps,
)
from gpudb.values.zone_columns import get_zone_abbreviations, get_zone_offsets

Integers = npt.NDArray[np.int64]

_FIRST_DAY, _LAST_DAY = calendar.days_from_civil(1, 1, 2), calendar.days_from_civil(9999, 12, 30)
_SECOND = 1_000_000


def format_date_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of dates in the session's DateStyle: `2020-02-29`."""
    style = get_style()
    days = pc.cast(column, pa.date32()).view(pa.int32())
    is_outside = _find_outside(days, _FIRST_DAY, _LAST_DAY)
    inside = days if is_outside is None else pc.if_else(pa.array(is_outside), pa.scalar(0, pa.int32()), days)
    text = pc.cast(inside.view(pa.date32()), pa.string())
    if style.format != "ISO":
        text = rearrange_dates(text, style)
    if is_outside is None:
        return text
    return _replace_outside(text, days, is_outside, lambda value: format_date_in_style(value, style))


def format_time_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of times of day: `04:05:06.5`."""
    times = pc.cast(column, pa.time64("us")).view(pa.int64())
    is_outside = _find_outside(times, 0, calendar.DAY - 1)
    if is_outside is None:
        return _strip_zeros(pc.cast(times.view(pa.time64("us")), pa.string()))
    inside = pc.if_else(pa.array(is_outside), 0, times)
    return _replace_outside(
        _strip_zeros(pc.cast(inside.view(pa.time64("us")), pa.string())), times, is_outside, calendar.format_time
    )


def format_timestamp_column(column: pa.Array, zone: str | None) -> pa.StringArray:
    """Formats a column of timestamps in the session's DateStyle: `2020-02-29 04:05:06.5`; with a zone as timestamptz
    in that session zone.
    """
    style = get_style()
    timestamps = pc.cast(column, pa.timestamp("us", column.type.tz)).view(pa.int64())
    is_outside = _find_outside(timestamps, _FIRST_DAY * calendar.DAY, _LAST_DAY * calendar.DAY)
    inside = timestamps if is_outside is None else pc.if_else(pa.array(is_outside), 0, timestamps)
    session_zone = None if zone is None else zones.parse_session_zone(zone)
    suffix: pa.Array | str = ""
    moments = inside
    if session_zone is not None:
        inside, suffix = _to_local(inside, session_zone)
    text = _format_timestamps(inside)
    if style.format != "ISO":
        if session_zone is not None:
            suffix = _format_zone_names(moments, session_zone)
        days = pc.fill_null(inside, 0).to_numpy(zero_copy_only=False) // calendar.DAY
        text = rearrange_timestamps(text, days, suffix, style)
    elif session_zone is not None:
        text = pc.binary_join_element_wise(text, suffix, "")
    if is_outside is None:
        return text
    return _replace_outside(text, timestamps, is_outside, lambda value: format_moment(value, session_zone, style))


def format_moment(microseconds: int, zone: zones.Zone | None, style: DateTimeStyle) -> str:
    """Formats a timestamp, with a zone as timestamptz in that session zone."""
    if zone is None or abs(microseconds) >= calendar.MAX_TIMESTAMP:
        return format_timestamp_in_style(microseconds, style)
    offset = zones.get_offset(zone, microseconds)
    name = "" if style.format == "ISO" else zones.get_zone_abbreviation(zone, microseconds)
    return format_timestamp_in_style(microseconds + offset * _SECOND, style, offset, name)


def _format_zone_names(moments: pa.Array, zone: zones.Zone) -> pa.StringArray:
    names, places = get_zone_abbreviations(zone, pc.fill_null(moments, 0).to_numpy(zero_copy_only=False))
    return format_zones(names, places)


def _format_timestamps(timestamps: pa.Array) -> pa.StringArray:
    """Formats microseconds within years 1 to 9999. Whole seconds are formatted without a fraction to strip."""
    values = timestamps.to_numpy(zero_copy_only=False)
    if timestamps.null_count == 0 and not (values % _SECOND).any():
        return pc.cast(pa.array(values // _SECOND).view(pa.timestamp("s")), pa.string())
    return _strip_zeros(pc.cast(timestamps.view(pa.timestamp("us")), pa.string()))


def _to_local(timestamps: pa.Array, zone: zones.Zone) -> tuple[pa.Array, pa.Array | str]:
    """Returns local microseconds of UTC timestamps, and the text of their offsets."""
    utc = zones.get_offset(zone, 0) if zone == zones.fixed_offset_zone(0) else None
    if utc == 0:
        return timestamps, "+00"
    values = pc.fill_null(timestamps, 0).to_numpy(zero_copy_only=False)
    offsets = get_zone_offsets(zone, values)
    distinct, index = np.unique(offsets, return_inverse=True)
    texts = pa.array([calendar.format_offset(offset) for offset in distinct.tolist()], pa.string())
    mask = pc.is_null(timestamps).to_numpy(zero_copy_only=False) if timestamps.null_count else None
    return pa.array(values + offsets * _SECOND, pa.int64(), mask=mask), texts.take(pa.array(index))


def _find_outside(values: pa.Array, low: int, high: int) -> npt.NDArray[np.bool_] | None:
    """Returns which values are outside low … high; None if none is."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or (ends["min"] >= low and ends["max"] <= high):
        return None
    numbers = pc.fill_null(values, low).to_numpy(zero_copy_only=False)
    return np.asarray((numbers < low) | (numbers > high))


def _replace_outside(
    text: pa.StringArray, values: pa.Array, is_outside: npt.NDArray[np.bool_], format_value: Callable[[int], str]
) -> pa.StringArray:
    numbers = values.filter(pa.array(is_outside)).to_pylist()
    return pc.replace_with_mask(
        text, pa.array(is_outside), pa.array([format_value(number) for number in numbers], pa.string())
    )


def _strip_zeros(text: pa.StringArray) -> pa.StringArray:
    """Strips trailing zeros of a fraction, and an all-zero fraction."""
    return pc.ascii_rtrim(pc.ascii_rtrim(text, characters="0"), characters=".")

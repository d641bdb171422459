"""Text of date, time and timestamp columns, with years beyond 9999 and infinities."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values import calendar, zones

Integers = npt.NDArray[np.int64]

_FIRST_DAY, _LAST_DAY = calendar.days_from_civil(1, 1, 2), calendar.days_from_civil(9999, 12, 30)
_SECOND = 1_000_000


def format_date_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of dates: `2020-02-29`."""
    days = pc.cast(column, pa.date32()).view(pa.int32())
    is_outside = _find_outside(days, _FIRST_DAY, _LAST_DAY)
    if is_outside is None:
        return pc.cast(days.view(pa.date32()), pa.string())
    inside = pc.if_else(pa.array(is_outside), pa.scalar(0, pa.int32()), days)
    return _replace_outside(pc.cast(inside.view(pa.date32()), pa.string()), days, is_outside, calendar.format_date)


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
    """Formats a column of timestamps: `2020-02-29 04:05:06.5`; with a zone as timestamptz in that session zone."""
    timestamps = pc.cast(column, pa.timestamp("us", column.type.tz)).view(pa.int64())
    is_outside = _find_outside(timestamps, _FIRST_DAY * calendar.DAY, _LAST_DAY * calendar.DAY)
    inside = timestamps if is_outside is None else pc.if_else(pa.array(is_outside), 0, timestamps)
    session_zone = None if zone is None else zones.parse_session_zone(zone)
    suffix: pa.Array | str = ""
    if session_zone is not None:
        inside, suffix = _to_local(inside, session_zone)
    text = _format_timestamps(inside)
    if session_zone is not None:
        text = pc.binary_join_element_wise(text, suffix, "")

    def format_value(value: int) -> str:
        if session_zone is None or abs(value) >= calendar.MAX_TIMESTAMP:
            return calendar.format_timestamp(value)
        offset = zones.get_offset(session_zone, value)
        return calendar.format_timestamp(value + offset * _SECOND, offset)

    return text if is_outside is None else _replace_outside(text, timestamps, is_outside, format_value)


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


def get_zone_offsets(zone: zones.Zone, timestamps: Integers) -> Integers:
    """Returns seconds east of Greenwich at each timestamp (microseconds of UTC, years 1 to 9999)."""
    if len(timestamps) == 0:
        return timestamps
    first, last = (
        calendar.civil_from_days(int(end) // calendar.DAY)[0] for end in (timestamps.min(), timestamps.max())
    )
    changes = [change for year in range(first, last + 1) for change in _list_changes(zone, year)]
    starts = np.array([start for start, _ in changes], np.int64)
    offsets = np.array([offset for _, offset in changes], np.int64)
    return offsets[np.searchsorted(starts, timestamps, side="right") - 1]


@lru_cache(maxsize=20_000)
def _list_changes(zone: zones.Zone, year: int) -> tuple[tuple[int, int], ...]:
    """Returns (UTC timestamp, offset from then on) for the beginning of a year and each change within it."""
    start, end = (calendar.days_from_civil(y, 1, 1) * calendar.DAY for y in (year, year + 1))
    changes = [(start, zones.get_offset(zone, start))]
    for day in range(start, end, calendar.DAY):
        low, high = day, min(day + calendar.DAY, end)
        before, after = changes[-1][1], zones.get_offset(zone, high)
        if before == after:
            continue
        while high - low > _SECOND:
            middle = (low + high) // 2 // _SECOND * _SECOND
            low, high = (middle, high) if zones.get_offset(zone, middle) == before else (low, middle)
        changes.append((high, after))
    return tuple(changes)


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

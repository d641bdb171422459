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


def date_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of dates: `2020-02-29`."""
    days = pc.cast(column, pa.date32()).view(pa.int32())
    odd = _outside(days, _FIRST_DAY, _LAST_DAY)
    if odd is None:
        return pc.cast(days.view(pa.date32()), pa.string())
    tame = pc.if_else(pa.array(odd), pa.scalar(0, pa.int32()), days)
    return _mended(pc.cast(tame.view(pa.date32()), pa.string()), days, odd, calendar.date_text)


def time_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of times of day: `04:05:06.5`."""
    times = pc.cast(column, pa.time64("us")).view(pa.int64())
    odd = _outside(times, 0, calendar.DAY - 1)
    if odd is None:
        return _trimmed(pc.cast(times.view(pa.time64("us")), pa.string()))
    tame = pc.if_else(pa.array(odd), 0, times)
    return _mended(_trimmed(pc.cast(tame.view(pa.time64("us")), pa.string())), times, odd, calendar.time_text)


def timestamp_column(column: pa.Array, zone: str | None) -> pa.StringArray:
    """Formats a column of timestamps: `2020-02-29 04:05:06.5`; with a zone as timestamptz in that session zone."""
    moments = pc.cast(column, pa.timestamp("us", column.type.tz)).view(pa.int64())
    odd = _outside(moments, _FIRST_DAY * calendar.DAY, _LAST_DAY * calendar.DAY)
    tame = moments if odd is None else pc.if_else(pa.array(odd), 0, moments)
    where = None if zone is None else zones.session_zone(zone)
    suffix: pa.Array | str = ""
    if where is not None:
        tame, suffix = _local(tame, where)
    text = _moments_text(tame)
    if where is not None:
        text = pc.binary_join_element_wise(text, suffix, "")

    def write(moment: int) -> str:
        if where is None or abs(moment) >= calendar.MAX_TIMESTAMP:
            return calendar.timestamp_text(moment)
        offset = zones.offset_at(where, moment)
        return calendar.timestamp_text(moment + offset * _SECOND, offset)

    return text if odd is None else _mended(text, moments, odd, write)


def _moments_text(moments: pa.Array) -> pa.StringArray:
    """Formats microseconds within years 1 to 9999. Whole seconds are formatted without a fraction to strip."""
    values = moments.to_numpy(zero_copy_only=False)
    if moments.null_count == 0 and not (values % _SECOND).any():
        return pc.cast(pa.array(values // _SECOND).view(pa.timestamp("s")), pa.string())
    return _trimmed(pc.cast(moments.view(pa.timestamp("us")), pa.string()))


def _local(moments: pa.Array, zone: zones.Zone) -> tuple[pa.Array, pa.Array | str]:
    """Returns local microseconds of UTC timestamps, and the text of their offsets."""
    utc = zones.offset_at(zone, 0) if zone == zones.fixed(0) else None
    if utc == 0:
        return moments, "+00"
    values = pc.fill_null(moments, 0).to_numpy(zero_copy_only=False)
    offsets = zone_offsets(zone, values)
    kinds, index = np.unique(offsets, return_inverse=True)
    texts = pa.array([calendar.offset_text(offset) for offset in kinds.tolist()], pa.string())
    mask = pc.is_null(moments).to_numpy(zero_copy_only=False) if moments.null_count else None
    return pa.array(values + offsets * _SECOND, pa.int64(), mask=mask), texts.take(pa.array(index))


def zone_offsets(zone: zones.Zone, moments: Integers) -> Integers:
    """Returns seconds east of Greenwich at each timestamp (microseconds of UTC, years 1 to 9999)."""
    if len(moments) == 0:
        return moments
    first, last = (calendar.civil_from_days(int(end) // calendar.DAY)[0] for end in (moments.min(), moments.max()))
    changes = [change for year in range(first, last + 1) for change in _changes(zone, year)]
    starts = np.array([start for start, _ in changes], np.int64)
    offsets = np.array([offset for _, offset in changes], np.int64)
    return offsets[np.searchsorted(starts, moments, side="right") - 1]


@lru_cache(maxsize=20_000)
def _changes(zone: zones.Zone, year: int) -> tuple[tuple[int, int], ...]:
    """Returns (UTC timestamp, offset from then on) for the beginning of a year and each change within it."""
    start, end = (calendar.days_from_civil(y, 1, 1) * calendar.DAY for y in (year, year + 1))
    found = [(start, zones.offset_at(zone, start))]
    for day in range(start, end, calendar.DAY):
        low, high = day, min(day + calendar.DAY, end)
        before, after = found[-1][1], zones.offset_at(zone, high)
        if before == after:
            continue
        while high - low > _SECOND:
            middle = (low + high) // 2 // _SECOND * _SECOND
            low, high = (middle, high) if zones.offset_at(zone, middle) == before else (low, middle)
        found.append((high, after))
    return tuple(found)


def _outside(values: pa.Array, low: int, high: int) -> npt.NDArray[np.bool_] | None:
    """Returns which values are outside low … high; None if none is."""
    ends = pc.min_max(values).as_py()
    if ends["min"] is None or (ends["min"] >= low and ends["max"] <= high):
        return None
    numbers = pc.fill_null(values, low).to_numpy(zero_copy_only=False)
    return np.asarray((numbers < low) | (numbers > high))


def _mended(
    text: pa.StringArray, values: pa.Array, odd: npt.NDArray[np.bool_], write: Callable[[int], str]
) -> pa.StringArray:
    numbers = values.filter(pa.array(odd)).to_pylist()
    return pc.replace_with_mask(text, pa.array(odd), pa.array([write(number) for number in numbers], pa.string()))


def _trimmed(text: pa.StringArray) -> pa.StringArray:
    """Strips trailing zeros of a fraction, and an all-zero fraction."""
    return pc.ascii_rtrim(pc.ascii_rtrim(text, characters="0"), characters=".")

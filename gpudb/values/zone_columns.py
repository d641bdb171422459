"""Offsets and abbreviations of time zones at columns of times: NumPy arrays of microseconds since 1970.

A zone's changes are found once by bisection, and cached by year. Before 1800 clocks showed local mean time; from 2100
on the rules of a zone repeat every 400 years with the calendar.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpudb.values import calendar, zones

Integers = npt.NDArray[np.int64]

_SECOND = 1_000_000
_FIRST_YEAR, _LAST_YEAR = 1800, 2100
_FIRST, _LAST = (calendar.days_from_civil(year, 1, 1) * calendar.DAY for year in (_FIRST_YEAR, _LAST_YEAR))
_CYCLE = 146_097 * calendar.DAY
_RULES_YEAR = 2038
"""From this year on clocks change by rules, weeks apart."""
_BLOCK = 20
"""Years of which the changes are found together."""


def get_zone_offsets(zone: zones.Zone, timestamps: Integers) -> Integers:
    """Returns seconds east of Greenwich at each UTC time."""
    if len(timestamps) == 0 or isinstance(zone, dt.timezone):
        return np.full(len(timestamps), zones.get_offset(zone, 0), np.int64)
    times = _to_equivalent_times(timestamps)
    starts, offsets, _ = _list_changes(zone, *_list_blocks(times))
    return offsets[np.searchsorted(starts, times, side="right") - 1]


def get_local_offsets(zone: zones.Zone, timestamps: Integers) -> Integers:
    """Returns seconds east of Greenwich at each local time; gaps and overlaps are read in standard time."""
    if len(timestamps) == 0 or isinstance(zone, dt.timezone):
        return np.full(len(timestamps), zones.get_offset(zone, 0), np.int64)
    if isinstance(zone, zones.AbbreviationZone):  # its gaps are read after the change
        return np.array([zones.get_local_offset(zone, each) for each in timestamps.tolist()], np.int64)
    times = _to_equivalent_times(timestamps)
    starts, offsets, _ = _list_changes(zone, *_list_blocks(times))
    # in a gap the offset before it is right, in an overlap the one after it: both change at this local time
    local = np.searchsorted(starts + offsets * _SECOND, times, side="right") - 1
    return offsets[np.maximum(local, 0)]


def get_zone_abbreviations(zone: zones.Zone, timestamps: Integers) -> tuple[tuple[str, ...], Integers]:
    """Returns abbreviations, such as CEST, and the place of each UTC time's among them."""
    if len(timestamps) == 0 or isinstance(zone, dt.timezone):
        return (zones.get_zone_abbreviation(zone, 0),), np.zeros(len(timestamps), np.int64)
    times = _to_equivalent_times(timestamps)
    starts, _, names = _list_changes(zone, *_list_blocks(times))
    return names, np.searchsorted(starts, times, side="right") - 1


def _to_equivalent_times(timestamps: Integers) -> Integers:
    """Returns times from 1800 to 2500 that have the same offsets."""
    first, last = int(timestamps.min()), int(timestamps.max())
    if first < _FIRST:
        timestamps = np.maximum(timestamps, _FIRST)
    if last >= _LAST:
        timestamps = np.where(timestamps < _LAST, timestamps, (timestamps - _LAST) % _CYCLE + _LAST)
    return timestamps


def _list_blocks(times: Integers) -> tuple[int, int]:
    """Returns the first and last block of years in which times lie, with the neighbours: a local time may be there."""
    years = (calendar.civil_from_days(int(end) // calendar.DAY)[0] for end in (times.min(), times.max()))
    first, last = years
    return (first - 1) // _BLOCK, (last + 1) // _BLOCK


@lru_cache(maxsize=512)
def _list_changes(zone: zones.Zone, first: int, last: int) -> tuple[Integers, Integers, tuple[str, ...]]:
    """Returns UTC times, and the offset and abbreviation from each on, of the years of some blocks."""
    changes = [
        change for year in range(first * _BLOCK, (last + 1) * _BLOCK) for change in _list_changes_of_year(zone, year)
    ]
    starts, offsets = (np.array([change[place] for change in changes], np.int64) for place in (0, 1))
    return starts, offsets, tuple(name for _, _, name in changes)


@lru_cache(maxsize=20_000)
def _list_changes_of_year(zone: zones.Zone, year: int) -> tuple[tuple[int, int, str], ...]:
    """Returns (UTC time, offset, abbreviation from then on) for the beginning of a year and each change within it."""
    start, end = (calendar.days_from_civil(y, 1, 1) * calendar.DAY for y in (year, year + 1))
    changes = [(start, *_describe(zone, start))]
    midnight = dt.datetime(year, 1, 1, tzinfo=dt.UTC)
    days, step = (end - start) // calendar.DAY, 1 if year < _RULES_YEAR else 7
    for number in range(0, days, step):
        until = min(number + step, days)
        local = (midnight + dt.timedelta(until)).astimezone(zone)
        before = changes[-1][1:]
        if local.utcoffset() == dt.timedelta(seconds=before[0]) and (local.tzname() or "") == before[1]:
            continue
        low, high = start + number * calendar.DAY, start + until * calendar.DAY
        while high - low > _SECOND:
            middle = (low + high) // 2 // _SECOND * _SECOND
            low, high = (middle, high) if _describe(zone, middle) == before else (low, middle)
        changes.append((high, *_describe(zone, high)))
    return tuple(changes)


def _describe(zone: zones.Zone, microseconds: int) -> tuple[int, str]:
    return zones.get_offset(zone, microseconds), zones.get_zone_abbreviation(zone, microseconds)

"""When rides happen: months and their sizes per kind of cab, days, hours, and each day's weather."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from gpudb.demo.city import Picks, make_pick_table

FIRST_YEAR, LAST_YEAR = 2009, 2016

CABS = ("yellow", "green", "uber")

DAY_BITS = HOUR_BITS = 12

# thousands of rides a month, from the city's trip records
_YELLOW = {
    2009: 14200,
    2010: 14100,
    2011: 14700,
    2012: 14900,
    2013: 14450,
    2014: 13750,
    2015: 12200,
    2016: 10950,
}
_GREEN = {2013: 240, 2014: 1320, 2015: 1600, 2016: 1370}
_SEASON = (0.97, 0.95, 1.07, 1.05, 1.07, 1.02, 0.97, 0.92, 0.97, 1.04, 0.97, 1.00)

_WEEKDAY = (0.93, 0.98, 1.02, 1.05, 1.08, 1.07, 0.90)  # Monday first
_HOURS = (
    (
        30,
        18,
        11,
        8,
        9,
        14,
        34,
        56,
        68,
        66,
        62,
        64,
        68,
        67,
        69,
        64,
        56,
        68,
        83,
        86,
        80,
        78,
        73,
        55,
    ),  # working days
    (
        70,
        58,
        46,
        34,
        22,
        10,
        11,
        15,
        26,
        40,
        52,
        58,
        63,
        63,
        62,
        62,
        58,
        64,
        72,
        70,
        62,
        62,
        66,
        62,
    ),  # weekends
)

_WEATHER_SEED = 20090102


@dataclass(frozen=True, slots=True)
class Calendar:
    """Arrays over months and over days (day 0 is 1 January of the first year)."""

    share: npt.NDArray[np.float64]  # (months,): cumulative share of all rides
    cabs: npt.NDArray[np.uint16]  # (months, 2): upper bounds of yellow and of green, out of 65536 rides
    month_start: npt.NDArray[np.int32]  # (months + 1,): first day
    days: list[Picks]  # a month's days, selected by DAY_BITS random bits
    hours: Picks  # (2, 2^HOUR_BITS): working days, weekends
    epoch_day: int  # day 0 in days since 1970-01-01
    weather: dict[str, npt.NDArray[np.int16]]


@cache
def make_calendar() -> Calendar:
    """Returns the calendar; computed once a process."""
    months = [(year, month) for year in range(FIRST_YEAR, LAST_YEAR + 1) for month in range(1, 13)]
    rides = np.array([_get_rides(year, month) for year, month in months])
    starts = np.array([f"{year}-{month:02}" for year, month in months] + [f"{LAST_YEAR + 1}-01"], "datetime64[M]")
    first_days = starts.astype("datetime64[D]").astype(np.int64)
    epoch_day = int(first_days[0])
    month_start = (first_days - epoch_day).astype(np.int32)
    weekday = np.array(_WEEKDAY)
    ends = np.cumsum(rides, axis=1) / rides.sum(axis=1, keepdims=True)
    return Calendar(
        share=np.cumsum(rides.sum(axis=1)) / rides.sum(),
        cabs=np.minimum(ends[:, :2] * 65536, 65535).astype(np.uint16),
        month_start=month_start,
        days=[
            make_pick_table(weekday[(np.arange(first, last) + 3) % 7], DAY_BITS)  # 1970-01-01 was a Thursday
            for first, last in pairwise(first_days)
        ],
        hours=np.stack([make_pick_table(np.array(hours, np.float64), HOUR_BITS) for hours in _HOURS]),
        epoch_day=epoch_day,
        weather=_generate_weather(int(month_start[-1])),
    )


def _get_rides(year: int, month: int) -> tuple[float, float, float]:
    season = _SEASON[month - 1]
    green = _GREEN.get(year, 0) if (year, month) >= (2013, 8) else 0
    uber = 750 if year == 2014 and 4 <= month <= 9 else 2400 if year == 2015 and month <= 6 else 0
    return _YELLOW[year] * season, green * season, uber


def _generate_weather(days: int) -> dict[str, npt.NDArray[np.int16]]:
    """Returns daily figures in stations' units: tenths of mm (snow: mm), of a degree Celsius, of a metre a second."""
    rng = np.random.default_rng(_WEATHER_SEED)
    season = np.cos((np.arange(days) % 365.25 - 22) / 365.25 * 2 * np.pi)  # 1 in the coldest week
    drift = np.convolve(rng.normal(0, 30, days + 6), np.ones(7) / 2.6, "valid")
    highest = np.round(170 - 135 * season + drift)
    lowest = highest - np.round(60 + rng.gamma(4, 8, days))
    wet = rng.random(days) < 0.33
    rain = np.where(wet, np.round(rng.gamma(0.7, 130, days)), 0)
    snows = wet & (lowest < 5) & (highest < 45)
    snowfall = np.where(snows, np.round(rain * 0.9), 0)
    depth = np.zeros(days)
    for day in range(1, days):  # snow lies until it melts
        depth[day] = max(0.0, depth[day - 1] + snowfall[day] - max(0.0, highest[day]) * 0.5 - 4)
    wind = np.round(np.clip(rng.gamma(9, 3.0, days) + 6 * season, 4, 120))
    figures = {
        "precipitation": rain,
        "snow_depth": np.round(depth),
        "snowfall": snowfall,
        "max_temperature": highest,
        "min_temperature": lowest,
        "average_wind_speed": wind,
    }
    return {name: values.astype(np.int16) for name, values in figures.items()}

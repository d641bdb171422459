"""The proleptic Gregorian calendar over columns: NumPy arrays of days since 1970-01-01, year 0 being 1 BC."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

_MONTH_DAYS: Integers = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def civil_from_days(days: Integers) -> tuple[Integers, Integers, Integers]:
    """Returns the years, months and days of the month."""
    era, year_of_era = np.divmod(days + 719_468, 146_097)
    year = (year_of_era - year_of_era // 1460 + year_of_era // 36_524 - year_of_era // 146_096) // 365
    day_of_year = year_of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month = np.where(month < 10, month + 3, month - 9)
    return year + era * 400 + (month <= 2), month, day


def days_from_civil(year: Integers, month: Integers | int, day: Integers | int) -> Integers:
    """Returns the days of dates; the day may exceed the month's length."""
    year = year - (np.asarray(month) <= 2)
    era, year_of_era = np.divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    found: Integers = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    return found


def days_in_month(year: Integers, month: Integers) -> Integers:
    """Returns the lengths of months."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths: Integers = _MONTH_DAYS[month] + ((month == 2) & leap)
    return lengths


def weekday_from_days(days: Integers) -> Integers:
    """Returns the days of the week; 0 is Sunday."""
    return (days + 4) % 7


def iso_from_days(days: Integers) -> tuple[Integers, Integers]:
    """Returns the ISO 8601 years and weeks."""
    thursday = days - (weekday_from_days(days) + 6) % 7 + 3
    year = civil_from_days(thursday)[0]
    return year, (thursday - days_from_civil(year, 1, 1)) // 7 + 1

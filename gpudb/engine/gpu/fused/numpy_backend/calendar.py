"""Fields of days and microseconds since 1970 in the proleptic Gregorian calendar, computed with NumPy.

Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013). kernels/calendar.cuh does the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.values.calendar import DAY

_ERA = 146_097


def first_day_of_year(year: int) -> int:
    """Returns the first of January of a positive year, in days since 1970."""
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 - 719_162


def extract_field(name: str, value: Any, *, micros: bool) -> Any:
    """Computes a field of dates (days), or of timestamps (`micros`), as int64; a year BC is negative."""
    days = value // DAY if micros else value
    match name:
        case "hour":
            return value % DAY // 3_600_000_000
        case "minute":
            return value % 3_600_000_000 // 60_000_000
        case "dow":
            return (days + 4) % 7
        case "isodow":
            return (days + 3) % 7 + 1
    shifted = days + 719_468
    era = shifted // _ERA
    of_era = shifted - era * _ERA
    year_of_era = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    part = (5 * of_year + 2) // 153
    month = np.where(part < 10, part + 3, part - 9)
    year = year_of_era + era * 400 + (month <= 2)
    match name:
        case "year":
            return np.where(year > 0, year, year - 1)
        case "month":
            return month
        case "quarter":
            return (month + 2) // 3
        case "day":
            return of_year - (153 * part + 2) // 5 + 1
    leap = ((year % 4 == 0) & (year % 100 != 0)) | (year % 400 == 0)
    # The computational year begins on 1 March.
    return np.where(month <= 2, of_year - 305, of_year + 60 + leap)

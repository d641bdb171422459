"""Averages with PostgreSQL's division (see `duckdb.udf.quotient`), vectorised by NumPy where 64-bit words suffice."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.duckdb.udf.quotient import divide_numeric
from gpudb.types import CARRIED_SCALE, MAX_DIGITS

Array = np.ndarray[Any, Any]
_MOST_TOTAL, _MOST_COUNT, _MOST_POWER = 10**17, 1 << 31, 18
_SIGNIFICANT = 16
_STEP_DIGITS = 9
"""Digits of a quotient computed per step: a remainder below _MOST_COUNT has room for them in a word."""
_MIN_VECTORISED = 48
"""Row count below which a loop is faster."""
_TENS = np.array([10**power for power in range(19)], np.int64)


def divide_averages(totals: Array, counts: Array, scale: int, shown: Array) -> tuple[Array, Array]:
    """Divides totals, which have `scale` decimals, by counts.

    Returns the quotients with CARRIED_SCALE decimals as Python integers, and their display scales, at least `shown`;
    both are 0 where the count is 0. Raises 22003.
    """
    words = len(totals) >= _MIN_VECTORISED and totals.dtype == counts.dtype == np.int64
    made = divide_words(totals, counts, scale, shown) if words else None
    if made is not None:
        return made
    found = [
        divide_numeric(total, scale, count, 0, show) if count else (0, 0)
        for total, count, show in zip(totals.tolist(), counts.tolist(), shown.tolist(), strict=True)
    ]
    return np.array([value for value, _ in found], object), np.array([show for _, show in found], np.int8)


def divide_words(totals: Array, counts: Array, scale: int, shown: Array) -> tuple[Array, Array] | None:
    """Computes `averages` in 64-bit words; None if an intermediate value does not fit."""
    if totals.min() <= -_MOST_TOTAL or totals.max() >= _MOST_TOTAL or counts.max() >= _MOST_COUNT:
        return None
    there = counts > 0
    dividends, divisors = np.abs(totals), np.where(there, counts, 1)
    weight, digit = _leading_digit(dividends, scale)
    divisor_weight, divisor_digit = _leading_digit(divisors, 0)
    weight = weight - divisor_weight - (digit <= divisor_digit)
    shown = np.where(there, np.maximum(np.maximum(_SIGNIFICANT - 4 * weight, shown), 0), 0)
    decimals = np.minimum(shown, CARRIED_SCALE)
    # Where the count or the total is 0, the quotient is 0 with any number of decimals.
    zero = ~there | (dividends == 0)
    power = np.where(zero, 0, decimals - scale)
    if scale > CARRIED_SCALE or power.min() < 0 or power.max() > _MOST_POWER:
        return None
    whole, rest = np.divmod(dividends, divisors)
    first = np.minimum(power, _STEP_DIGITS)
    high, rest = np.divmod(rest * _TENS[first], divisors)
    low, rest = np.divmod(rest * _TENS[power - first], divisors)
    part = high * _TENS[power - first] + low + (2 * rest >= divisors)
    more = np.where(zero, 0, CARRIED_SCALE - decimals)
    if more.max() > _MOST_POWER:
        return None
    values = whole.astype(object) * 10 ** (CARRIED_SCALE - scale) + part.astype(object) * _TENS[more].astype(object)
    values = np.where(zero, 0, np.where(totals < 0, -values, values))
    return values, np.where(zero, np.minimum(shown, MAX_DIGITS), decimals).astype(np.int8)


def _leading_digit(values: Array, scale: int) -> tuple[Array, Array]:
    """Returns the leading power of 10000 of numbers, and the digit there."""
    length = np.searchsorted(_TENS, values, side="right")
    weight = (length - 1 - scale) // 4
    power = scale + 4 * weight
    digit = np.where(power >= 0, values // _TENS[np.maximum(power, 0)], values * _TENS[np.maximum(-power, 0)])
    return np.where(values == 0, 0, weight), digit

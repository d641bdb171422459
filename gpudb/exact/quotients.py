"""numeric / numeric as PostgreSQL divides: exact, at a scale that depends on both values (`select_div_scale`).

Python's integers divide a few rows faster than limbs do.
"""

from __future__ import annotations

import numpy as np

from gpudb.exact import limbs, words
from gpudb.exact.limbs import Array, Limbs
from gpudb.exact.numerics import (
    BLOCK_ROWS,
    SIGNIFICANT_DIGITS,
    Numerics,
    exceeds_digits,
    quotient_scale,
    scale_up,
)
from gpudb.types import CARRIED_SCALE, MAX_DIGITS

_LIMIT = 10**MAX_DIGITS
FEW_ROWS = 32
"""Most rows whose quotients are computed one by one."""


def divide(dividends: Array, dividend_scale: int, divisors: Array, divisor_scale: int, shown: Array) -> Numerics:
    """Divides unscaled numerics, (low, high) words a row; `shown` is the operands' greater display scale.

    Values have CARRIED_SCALE decimals. A quotient by 0 is 0 with a display scale of 0.
    """
    rows = len(dividends)
    if rows <= FEW_ROWS:
        return _divide_few(dividends, dividend_scale, divisors, divisor_scale, shown)
    made = Numerics(np.empty((rows, 2), np.int64), np.empty(rows, np.int8), np.empty(rows, bool))
    for first in range(0, rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        negative, dividend = limbs.split(dividends[part])
        other_negative, divisor = limbs.split(divisors[part])
        values, decimals, overflow = divide_limbs(
            dividend, dividend_scale, divisor, divisor_scale, shown[part].astype(np.int64)
        )
        made.values[part] = limbs.join(values, negative != other_negative)
        made.shown[part], made.overflow[part] = decimals, overflow
    return made


def _divide_few(dividends: Array, dividend_scale: int, divisors: Array, divisor_scale: int, least: Array) -> Numerics:
    found = [
        divide_value(a, dividend_scale, b, divisor_scale, shown) if b else (0, 0)
        for a, b, shown in zip(words.to_integers(dividends), words.to_integers(divisors), least.tolist(), strict=True)
    ]
    overflow = [abs(value) >= _LIMIT for value, _ in found]
    values = [0 if beyond else value for (value, _), beyond in zip(found, overflow, strict=True)]
    return Numerics(
        words.from_integers(values), np.array([scale for _, scale in found], np.int8), np.array(overflow, bool)
    )


def divide_value(dividend: int, dividend_scale: int, divisor: int, divisor_scale: int, shown: int) -> tuple[int, int]:
    """Divides a value by one that is not 0; returns the quotient with CARRIED_SCALE decimals, and its display scale."""
    negative, a, b = (dividend < 0) != (divisor < 0), abs(dividend), abs(divisor)
    weight, digit = _leading_digit(a, dividend_scale)
    other_weight, other_digit = _leading_digit(b, divisor_scale)
    weight = weight - other_weight - (digit <= other_digit)
    scale = max(SIGNIFICANT_DIGITS - 4 * weight, shown, 0)
    if a == 0:
        return 0, min(scale, MAX_DIGITS)
    scale = min(scale, CARRIED_SCALE)
    power = scale + divisor_scale - dividend_scale
    a, b = (a * 10**power, b) if power >= 0 else (a, b * 10**-power)
    value = (2 * a + b) // (2 * b) * 10 ** (CARRIED_SCALE - scale)
    return (-value if negative else value), scale


def _leading_digit(value: int, scale: int) -> tuple[int, int]:
    """Returns the power of 10000 of a number's first base-10000 digit, and that digit."""
    if value == 0:
        return 0, 0
    weight = (len(str(value)) - 1 - scale) // 4
    power = scale + 4 * weight
    return weight, value // 10**power if power >= 0 else value * 10**-power


def divide_limbs(
    dividend: Limbs, dividend_scale: int, divisor: Limbs, divisor_scale: int, shown: Array
) -> tuple[Limbs, Array, Array]:
    """Divides magnitudes; returns quotients with CARRIED_SCALE decimals, display scales, and overflow."""
    nothing = limbs.is_zero(divisor)
    if nothing.any():
        divisor = limbs.add_bit(divisor, nothing)
    digits, scale, beyond = divide_to_scale(dividend, dividend_scale, divisor, divisor_scale, shown, limit=4)
    decimals = np.minimum(scale, CARRIED_SCALE)
    values = scale_up(digits, CARRIED_SCALE - decimals)
    overflow = (beyond | exceeds_digits(values)) & ~nothing
    # Zero may display more decimals than a quotient has.
    decimals = np.where(limbs.is_zero(dividend), np.minimum(scale, MAX_DIGITS), decimals)
    return [np.where(nothing | overflow, 0, limb) for limb in values], np.where(nothing, 0, decimals), overflow


def divide_to_scale(
    dividend: Limbs, dividend_scale: int, divisor: Limbs, divisor_scale: int, shown: Array, *, limit: int
) -> tuple[Limbs, Array, Array]:
    """Divides magnitudes by others than 0; returns rounded quotients, their scales, and which exceed `limit` limbs.

    The quotients have as many decimals as their scale says, CARRIED_SCALE at most.
    """
    scale = quotient_scale(dividend, dividend_scale, divisor, divisor_scale, shown)
    power = np.minimum(scale, CARRIED_SCALE) + divisor_scale - dividend_scale
    upper, lower = scale_up(dividend, np.maximum(power, 0)), scale_up(divisor, np.maximum(-power, 0))
    quotient, rest, beyond = limbs.divide(upper, lower, limit)
    return limbs.add_bit(quotient, limbs.is_at_least(limbs.add(rest, rest), lower)), scale, beyond

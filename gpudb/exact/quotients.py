"""numeric / numeric as PostgreSQL divides: exact, at a scale that depends on both values (`select_div_scale`).

Python's integers divide a few rows faster than limbs do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudb.exact import limbs, words
from gpudb.exact.limbs import Array, Limbs
from gpudb.exact.numerics import (
    BLOCK_ROWS,
    MOST_SHOWN,
    SIGNIFICANT_DIGITS,
    Numerics,
    exceeds_digits,
    required_scale,
    scale_up,
    significant_scale,
)
from gpudb.types import CARRIED_SCALE, MAX_DIGITS

_LIMIT = 10**MAX_DIGITS
HALF = 10**19
"""The unit of the high part of a sum in two parts, half of the digits of a numeric."""
FEW_ROWS = 32
"""Most rows whose quotients are computed one by one."""


def divide(
    dividends: Array,
    dividend_scale: int,
    divisors: Array,
    divisor_scale: int,
    shown: Array,
    *,
    carried: int = CARRIED_SCALE,
) -> Numerics:
    """Divides unscaled numerics, (low, high) words a row; `shown` is the operands' greater display scale.

    Values have `carried` decimals. A quotient by 0 is 0 with a display scale of 0.
    """
    rows = len(dividends)
    if rows <= FEW_ROWS:
        return _divide_few(dividends, dividend_scale, divisors, divisor_scale, shown, carried)
    made = Numerics.of_rows(rows)
    for first in range(0, rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        negative, dividend = limbs.split(dividends[part])
        other_negative, divisor = limbs.split(divisors[part])
        found = divide_limbs(
            dividend, dividend_scale, divisor, divisor_scale, shown[part].astype(np.int64), carried=carried
        )
        values, *rest = found
        made.fill(part, values, negative != other_negative, *rest)
    return made


def average(
    high: Array, low: Array, counts: Array, scale: int, shown: Array, *, carried: int = CARRIED_SCALE
) -> Numerics:
    """Returns averages with `carried` decimals of values of `scale` decimals; 0 for no values.

    The unscaled sums, which may exceed 128 bits, are high × HALF + low: (low, high) words a row each.
    """
    made = Numerics.of_rows(len(counts))
    unit = [np.uint64(HALF >> 32 * place & 2**32 - 1) for place in range(2)]
    for first in range(0, len(counts), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        above_negative, above = limbs.split(high[part])
        negative, below = limbs.split(low[part])
        above = limbs.multiply(above, [np.full(len(negative), limb) for limb in unit])
        less = ~limbs.is_at_least(above, below)
        difference = limbs.select(less, limbs.subtract(below, above), limbs.subtract(above, below))
        apart = negative != above_negative
        total = limbs.select(apart, difference, limbs.add(above, below))
        _, count = limbs.split(words.widen(counts[part]))
        values, *rest = divide_limbs(total, scale, count, 0, shown[part].astype(np.int64), carried=carried)
        made.fill(part, values, np.where(apart & less, negative, above_negative | (~apart & negative)), *rest)
    return made


def _divide_few(
    dividends: Array, dividend_scale: int, divisors: Array, divisor_scale: int, least: Array, carried: int
) -> Numerics:
    found = [
        divide_value(a, dividend_scale, b, divisor_scale, shown, carried) if b else (0, 0, False)
        for a, b, shown in zip(words.to_integers(dividends), words.to_integers(divisors), least.tolist(), strict=True)
    ]
    overflow = [abs(value) >= _LIMIT for value, _, _ in found]
    values = [0 if beyond else value for (value, _, _), beyond in zip(found, overflow, strict=True)]
    return Numerics(
        words.from_integers(values),
        np.array([scale for _, scale, _ in found], np.int8),
        np.array(overflow, bool),
        np.array([lost for _, _, lost in found], bool),
    )


def divide_value(
    dividend: int, dividend_scale: int, divisor: int, divisor_scale: int, shown: int, carried: int = CARRIED_SCALE
) -> tuple[int, int, bool]:
    """Divides a value by one that is not 0.

    Returns the quotient with `carried` decimals, its display scale, and whether decimals that it shows are lost.
    """
    negative, a, b = (dividend < 0) != (divisor < 0), abs(dividend), abs(divisor)
    significant = least_scale(a, dividend_scale, b, divisor_scale)
    scale = max(significant, shown)
    if a == 0:
        return 0, min(scale, MAX_DIGITS), False
    decimals = min(scale, carried)
    power = decimals + divisor_scale - dividend_scale
    a, b = (a * 10**power, b) if power >= 0 else (a, b * 10**-power)
    value = (2 * a + b) // (2 * b) * 10 ** (carried - decimals)
    if scale > carried and a % b:
        required = max(significant, SIGNIFICANT_DIGITS if shown > MOST_SHOWN else shown)
        return (-value if negative else value), carried, required > carried
    return (-value if negative else value), min(scale, MAX_DIGITS), False


def least_scale(dividend: int, dividend_scale: int, divisor: int, divisor_scale: int) -> int:
    """Returns the least number of decimals of a quotient of magnitudes, of which the divisor is not 0."""
    weight, digit = _leading_digit(dividend, dividend_scale)
    other_weight, other_digit = _leading_digit(divisor, divisor_scale)
    return max(SIGNIFICANT_DIGITS - 4 * (weight - other_weight - (digit <= other_digit)), 0)


def _leading_digit(value: int, scale: int) -> tuple[int, int]:
    """Returns the power of 10000 of a number's first base-10000 digit, and that digit."""
    if value == 0:
        return 0, 0
    weight = (len(str(value)) - 1 - scale) // 4
    power = scale + 4 * weight
    return weight, value // 10**power if power >= 0 else value * 10**-power


def divide_limbs(
    dividend: Limbs, dividend_scale: int, divisor: Limbs, divisor_scale: int, shown: Array, *, carried: int
) -> tuple[Limbs, Array, Array, Array]:
    """Divides magnitudes; returns quotients with `carried` decimals, display scales, and which overflow or are lost."""
    nothing = limbs.is_zero(divisor)
    if nothing.any():
        divisor = limbs.add_bit(divisor, nothing)
    found = divide_to_scale(dividend, dividend_scale, divisor, divisor_scale, shown, carried=carried, limit=4)
    values = scale_up(found.digits, carried - found.decimals)
    overflow = (found.beyond | exceeds_digits(values)) & ~nothing
    decimals = np.where(nothing, 0, found.shown)
    return [np.where(nothing | overflow, 0, limb) for limb in values], decimals, overflow, found.lost & ~nothing


@dataclass(frozen=True, slots=True)
class Rounded:
    """Quotients of `decimals`, and the display scales `shown` of those that more decimals would not change.

    Those of more than a limit of limbs are `beyond` it; `lost` are those that lose decimals.
    """

    digits: Limbs
    decimals: Array
    scale: Array
    """PostgreSQL's display scales."""
    required: Array
    """The decimals that must not be lost."""
    shown: Array
    beyond: Array
    lost: Array


def divide_to_scale(
    dividend: Limbs,
    dividend_scale: int,
    divisor: Limbs,
    divisor_scale: int,
    shown: Array,
    *,
    carried: int,
    limit: int,
) -> Rounded:
    """Divides magnitudes by others than 0: quotients of at most `carried` decimals and `limit` limbs."""
    significant = significant_scale(dividend, dividend_scale, divisor, divisor_scale)
    scale = np.maximum(significant, shown)
    decimals = np.minimum(scale, carried)
    power = decimals + divisor_scale - dividend_scale
    upper, lower = scale_up(dividend, np.maximum(power, 0)), scale_up(divisor, np.maximum(-power, 0))
    quotient, rest, beyond = limbs.divide(upper, lower, limit)
    exact = limbs.is_zero(rest)
    quotient = limbs.add_bit(quotient, limbs.is_at_least(limbs.add(rest, rest), lower))
    required = required_scale(significant, shown)
    displayed = np.where(exact, np.minimum(scale, MAX_DIGITS), decimals)
    return Rounded(quotient, decimals, scale, required, displayed, beyond, ~exact & (required > carried))

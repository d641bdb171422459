"""Numerics over limbs: leading digits, PostgreSQL's scale of a quotient, rounding, and the limit of 38 digits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpudb.errors import numeric_overflow
from gpudb.exact import limbs
from gpudb.exact.limbs import MAX_POWER, Array, Limbs
from gpudb.types import MAX_DIGITS

SIGNIFICANT_DIGITS = 16
"""The least number of significant digits of a quotient."""
MOST_SHOWN = 20
"""The most decimals of an operand that its quotients surely have."""
BLOCK_ROWS = 1 << 14
"""Rows computed at once, so that their limbs stay in a processor's cache."""
_FLOAT_TENS = np.array([float(10**power) for power in range(MAX_POWER + 1)])
_WORD_TENS = np.array([10**power for power in range(19)], np.int64)
_EXACT_FLOAT = 2.0**53
_NEAR = 1e-12


@dataclass(frozen=True, slots=True)
class Numerics:
    """A column of numerics: unscaled values as (low, high) words a row, display scales, and which are not held.

    Values of more than 38 digits `overflow`; they are any. Those that PostgreSQL shows with decimals which the column
    has not are `lost` (see `required_scale`).
    """

    values: Array
    shown: Array
    overflow: Array
    lost: Array

    @classmethod
    def of_rows(cls, rows: int) -> Numerics:
        """Returns a column to be filled."""
        return cls(np.empty((rows, 2), np.int64), np.empty(rows, np.int8), np.empty(rows, bool), np.empty(rows, bool))

    @property
    def columns(self) -> tuple[Array, Array, Array, Array]:
        """The arrays."""
        return self.values, self.shown, self.overflow, self.lost

    def fill(self, part: slice, values: Limbs, negative: Array, shown: Array, overflow: Array, lost: Array) -> None:
        """Fills some rows by magnitudes and signs."""
        self.values[part] = limbs.join(values, negative)
        self.shown[part], self.overflow[part], self.lost[part] = shown, overflow, lost

    def check(self, valid: Array | None = None) -> None:
        """Raises 22003 if a `valid` value (None: all are) is not held."""
        for which, lost in ((self.overflow, False), (self.lost, True)):
            if (which if valid is None else which & valid).any():
                raise numeric_overflow(lost=lost)


def leading_digits(value: Limbs, scale: int) -> tuple[Array, Array]:
    """Returns the power of 10000 of each number's first base-10000 digit, and that digit; 0 and 0 for 0."""
    if len(value) < 2 or (len(value) == 2 and not (value[1] >> np.uint64(31)).any()):
        return _leading_of_words(_to_words(value), scale)
    size = limbs.to_float(value)
    length = np.searchsorted(_FLOAT_TENS, size, side="right")
    at = np.minimum(length, MAX_POWER)
    # Near a power of ten a float does not tell on which side the number is.
    unsure = (size >= _EXACT_FLOAT) & (
        (np.abs(size - _FLOAT_TENS[at]) < size * _NEAR) | (np.abs(size - _FLOAT_TENS[at - 1]) < size * _NEAR)
    )
    if unsure.any():
        rows = np.flatnonzero(unsure)
        some, most = limbs.take(value, rows), length[rows]
        reached = limbs.is_at_least(some, limbs.power_of_ten(np.minimum(most, MAX_POWER)))
        missed = ~limbs.is_at_least(some, limbs.power_of_ten(most - 1))
        length[rows] = most + reached - missed
    weight = (length - 1 - scale) // 4
    power = scale + 4 * weight
    below = np.maximum(power, 0)
    digit = np.where(power >= 0, size / _FLOAT_TENS[below], size * _FLOAT_TENS[np.maximum(-power, 0)])
    found = np.rint(digit)
    unsure = np.abs(digit - found) < found * _NEAR
    digit = np.floor(digit).astype(np.int64)
    if unsure.any():
        rows = np.flatnonzero(unsure & (power >= 0))
        whole = found[rows].astype(np.int64)
        product = limbs.multiply(limbs.power_of_ten(below[rows]), [whole.astype(np.uint64)])
        digit[rows] = whole - ~limbs.is_at_least(limbs.take(value, rows), product)
        rows = np.flatnonzero(unsure & (power < 0))
        digit[rows] = found[rows]
    zero = limbs.is_zero(value)
    return np.where(zero, 0, weight), np.where(zero, 0, digit)


def _to_words(value: Limbs) -> Array:
    words = value[0] if len(value) == 1 else value[0] | value[1] << np.uint64(32)
    return words.view(np.int64)


def _leading_of_words(words: Array, scale: int) -> tuple[Array, Array]:
    length = np.searchsorted(_WORD_TENS, words, side="right")
    weight = (length - 1 - scale) // 4
    power = scale + 4 * weight
    digit = np.where(
        power >= 0, words // _WORD_TENS[np.maximum(power, 0)], words * _WORD_TENS[np.minimum(np.maximum(-power, 0), 18)]
    )
    return np.where(words == 0, 0, weight), np.where(words == 0, 0, digit)


def significant_scale(dividend: Limbs, dividend_scale: int, divisor: Limbs, divisor_scale: int) -> Array:
    """Returns the least number of decimals of quotients (PostgreSQL's `select_div_scale`)."""
    weight, digit = leading_digits(dividend, dividend_scale)
    other_weight, other_digit = leading_digits(divisor, divisor_scale)
    weight = weight - other_weight - (digit <= other_digit)
    scale: Array = np.maximum(SIGNIFICANT_DIGITS - 4 * weight, 0)
    return scale


def required_scale(significant: Array, shown: Array) -> Array:
    """Returns the number of decimals that a quotient must not lose: the `significant` ones, and those of its operands.

    Of operands that show more than MOST_SHOWN decimals SIGNIFICANT_DIGITS are enough; the others may be rounded.
    """
    return np.maximum(significant, np.where(shown > MOST_SHOWN, SIGNIFICANT_DIGITS, shown))


def scale_up(value: Limbs, power: Array) -> Limbs:
    """Returns numbers multiplied by ten to a power from 0 to MAX_POWER."""
    return limbs.multiply(value, limbs.power_of_ten(power)) if power.any() else value


def exceeds_digits(value: Limbs) -> Array:
    """Returns which numbers have more than 38 digits."""
    if len(value) < 4:
        return np.zeros(len(value[0]), bool)
    return limbs.is_at_least(value, limbs.power_of_ten(np.full(len(value[0]), MAX_DIGITS)))

"""Columns of large unsigned integers as limbs: arrays of 32 bits of each row, in 64-bit words.

A number is a list of limbs, the least significant first. An intermediate result needs up to 320 bits, which neither
NumPy nor Arrow has. Every function computes whole columns; none of them changes its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Limbs = list[Array]
"""Limbs of a number in each row: uint64 arrays whose values are less than 2³²."""

_BITS = np.uint64(32)
_MASK = np.uint64(2**32 - 1)
_SIGN = np.uint64(63)
_BASE = np.uint64(2**32)
_LIMB_BITS_LOG2 = np.uint64(5)
_ONE = np.uint64(1)
MAX_POWER = 96
"""The largest power of ten that `power_of_ten` returns."""
_TENS = np.array(
    [[10**power >> 32 * limb & 0xFFFFFFFF for power in range(MAX_POWER + 1)] for limb in range(10)], np.uint64
)
_TENS_LIMBS = [-(-(10**power).bit_length() // 32) for power in range(MAX_POWER + 1)]


def split(halves: Array) -> tuple[Array, Limbs]:
    """Splits signed 128-bit integers, an array of (low, high) words a row; returns signs and magnitudes."""
    low, high = halves[:, 0].view(np.uint64), halves[:, 1].view(np.uint64)
    negative = (high >> _SIGN).astype(bool)
    if negative.any():
        low_size = np.where(negative, ~low + _ONE, low)
        high = np.where(negative, ~high + (low == 0), high)
        low = low_size
    return negative, trim([low & _MASK, low >> _BITS, high & _MASK, high >> _BITS])


def join(limbs: Limbs, negative: Array) -> Array:
    """Joins magnitudes of at most 127 bits to signed 128-bit integers: an array of (low, high) words a row."""
    first, second, third, fourth = _pad(limbs, 4)[:4]
    low, high = first | second << _BITS, third | fourth << _BITS
    made = np.empty((len(low), 2), np.uint64)
    made[:, 0] = np.where(negative, ~low + _ONE, low)
    made[:, 1] = np.where(negative, ~high + (low == 0), high)
    return made.view(np.int64)


def trim(limbs: Limbs) -> Limbs:
    """Drops leading limbs that are 0 in every row."""
    count = len(limbs)
    while count > 1 and not limbs[count - 1].any():
        count -= 1
    return limbs[:count]


def to_float(limbs: Limbs) -> Array:
    """Returns the numbers as floats, each within two units of its last bit."""
    result = limbs[-1].astype(np.float64)
    for limb in limbs[-2::-1]:
        result = result * 2.0**32 + limb
    return result


def is_zero(limbs: Limbs) -> Array:
    """Returns which numbers are 0."""
    result: Array = limbs[0] == 0
    for limb in limbs[1:]:
        result &= limb == 0
    return result


def is_at_least(left: Limbs, right: Sequence[Any]) -> Array:
    """Returns whether left ≥ right in each row; the right numbers may be one for all rows."""
    result: Array = np.ones(len(left[0]), bool)
    for one, other in zip_longest(left, right, fillvalue=np.uint64(0)):
        result = (one > other) | ((one == other) & result)
    return result


def select(condition: Array, left: Limbs, right: Limbs) -> Limbs:
    """Returns the left number where a condition is true, else the right one."""
    pairs = zip_longest(left, right, fillvalue=np.uint64(0))
    return [np.where(condition, one, other) for one, other in pairs]


def take(limbs: Limbs, rows: Array) -> Limbs:
    """Returns the numbers of some rows."""
    return [limb[rows] for limb in limbs]


def power_of_ten(power: Array) -> Limbs:
    """Returns ten to powers from 0 to MAX_POWER."""
    count = _TENS_LIMBS[int(power.max(initial=0))]
    return [_TENS[limb][power] for limb in range(count)]


def add(left: Limbs, right: Limbs) -> Limbs:
    """Returns left + right."""
    carry: Any = np.uint64(0)
    made = []
    for one, other in zip_longest(left, right, fillvalue=np.uint64(0)):
        total = one + other + carry
        carry = total >> _BITS
        made.append(total & _MASK)
    return trim([*made, carry])


def sum_groups(limbs: Limbs, starts: Array) -> Limbs:
    """Returns the sums of runs of at most 2³¹ rows, which begin at `starts`."""
    carry: Any = np.uint64(0)
    made = []
    for limb in limbs:
        total = np.add.reduceat(limb, starts) + carry
        carry = total >> _BITS
        made.append(total & _MASK)
    return trim([*made, carry & _MASK, carry >> _BITS])


def shift_words(limbs: Limbs) -> Limbs:
    """Returns the number × 2⁶⁴."""
    return [np.zeros_like(limbs[0]), np.zeros_like(limbs[0]), *limbs]


def add_bit(limbs: Limbs, bit: Array) -> Limbs:
    """Returns the number, or the next one where `bit` is true."""
    return add(limbs, [bit.astype(np.uint64)])


def subtract(left: Limbs, right: Limbs) -> Limbs:
    """Returns left - right, modulo 2³² to the power of the number of limbs where it is negative."""
    borrow: Any = np.uint64(0)
    made = []
    for one, other in zip_longest(left, right, fillvalue=np.uint64(0)):
        rest = one - other - borrow
        borrow = rest >> _SIGN
        made.append(rest & _MASK)
    return trim(made)


def multiply(left: Limbs, right: Limbs) -> Limbs:
    """Returns left × right."""
    columns: list[Any] = [np.uint64(0)] * (len(left) + len(right))
    for place, one in enumerate(left):
        for other_place, other in enumerate(right):
            product = one * other
            columns[place + other_place] = columns[place + other_place] + (product & _MASK)
            columns[place + other_place + 1] = columns[place + other_place + 1] + (product >> _BITS)
    carry: Any = np.uint64(0)
    made = []
    for column in columns:
        total = column + carry
        carry = total >> _BITS
        made.append(total & _MASK)
    return trim(made)


def bit_length(limbs: Limbs) -> Array:
    """Returns the number of bits of each number; 0 for 0."""
    result = np.zeros(len(limbs[0]), np.int64)
    for place, limb in enumerate(limbs):
        result = np.where(limb > 0, 32 * place + np.frexp(limb.astype(np.float64))[1], result)
    return result


def divide(dividend: Limbs, divisor: Limbs, limit: int = 4) -> tuple[Limbs, Limbs, Array]:
    """Returns quotients of at most `limit` limbs, remainders, and where a quotient is larger (its values are any).

    Divisors must not be 0.
    """
    if len(divisor) == 1:
        quotient, rest = _divide_by_limb(dividend, divisor[0])
        beyond = np.zeros(len(rest), bool) if len(quotient) <= limit else ~is_zero(quotient[limit:])
        return trim(quotient[:limit]), [rest], beyond
    return _divide_long(dividend, divisor, limit)


def _divide_by_limb(dividend: Limbs, divisor: Array) -> tuple[Limbs, Array]:
    rest = dividend[-1] % divisor
    made = [dividend[-1] // divisor]
    for limb in dividend[-2::-1]:
        current = rest << _BITS | limb
        digit = current // divisor
        rest = current - digit * divisor
        made.append(digit)
    return made[::-1], rest


def _divide_long(dividend: Limbs, divisor: Limbs, limit: int) -> tuple[Limbs, Limbs, Array]:
    """Divides digit by digit (Knuth's algorithm D): a digit that is estimated from two limbs is at most 2 too large."""
    size = len(divisor)
    shift = (32 * size - bit_length(divisor)).astype(np.uint64)
    v = _shift_left(divisor, shift, size)
    u = _pad(_shift_left(dividend, shift, len(dividend) + size), size + limit)
    beyond = is_at_least(u[limit:], v)
    if beyond.any():
        u = [np.where(beyond, 0, limb) for limb in u]
    digits = [_next_digit(u, v, place) for place in range(limit - 1, -1, -1)]
    return trim(digits[::-1]), _shift_right(u[:size], shift), beyond


def _next_digit(u: Limbs, v: Limbs, place: int) -> Array:
    """Returns the quotient's digit at a place, and subtracts its multiple of `v` from the remainder `u`."""
    size = len(v)
    top, below = v[-1], v[-2]
    current = u[place + size] << _BITS | u[place + size - 1]
    digit: Array = np.minimum(current // top, _MASK)
    rest = current - digit * top
    for _ in range(2):
        large = (rest < _BASE) & (digit * below > (rest << _BITS | u[place + size - 2]))
        digit = digit - large
        rest = rest + top * large
    carry: Any = np.uint64(0)
    borrow: Any = np.uint64(0)
    for offset in range(size):
        product = digit * v[offset] + carry
        carry = product >> _BITS
        left = u[place + offset] - (product & _MASK) - borrow
        borrow = left >> _SIGN
        u[place + offset] = left & _MASK
    left = u[place + size] - carry - borrow
    u[place + size] = left & _MASK
    negative: Array = left >> _SIGN
    if negative.any():
        digit = digit - negative
        carry = np.uint64(0)
        for offset in range(size):
            total = u[place + offset] + v[offset] * negative + carry
            u[place + offset] = total & _MASK
            carry = total >> _BITS
        u[place + size] = u[place + size] + carry & _MASK
    return digit


def _shift_left(limbs: Limbs, bits: Array, size: int) -> Limbs:
    """Shifts each number left by its bits, to `size` limbs."""
    made = _pad(limbs, size)
    step = 1
    while step < size:
        far = (bits >> _LIMB_BITS_LOG2 & np.uint64(step)).astype(bool)
        if far.any():
            made = [np.where(far, made[place - step] if place >= step else 0, made[place]) for place in range(size)]
        step *= 2
    near = bits & np.uint64(31)
    result, below = [], np.zeros_like(made[0])
    for limb in made:
        result.append(limb << near & _MASK | below)
        below = limb >> _BITS - near
    return result


def _shift_right(limbs: Limbs, bits: Array) -> Limbs:
    """Shifts each number right by its bits."""
    made, size = list(limbs), len(limbs)
    step = 1
    while step < size:
        far = (bits >> _LIMB_BITS_LOG2 & np.uint64(step)).astype(bool)
        if far.any():
            nothing = np.zeros_like(made[0])
            made = [
                np.where(far, made[place + step] if place + step < size else nothing, made[place])
                for place in range(size)
            ]
        step *= 2
    near = bits & np.uint64(31)
    above = [*made[1:], np.zeros_like(made[0])]
    return trim([limb >> near | more << _BITS - near & _MASK for limb, more in zip(made, above, strict=True)])


def _pad(limbs: Limbs, size: int) -> Limbs:
    return [*limbs, *(np.zeros_like(limbs[0]) for _ in range(size - len(limbs)))]

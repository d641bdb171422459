"""Variances and standard deviations of exact numbers (PostgreSQL's `numeric_stddev_internal`), and square roots."""

from __future__ import annotations

import numpy as np

from gpudb.exact import limbs
from gpudb.exact.limbs import Array, Limbs
from gpudb.exact.numerics import BLOCK_ROWS, Numerics, exceeds_digits, scale_up
from gpudb.exact.quotients import divide_to_scale
from gpudb.exact.words import widen
from gpudb.types import CARRIED_SCALE


def deviations(
    counts: Array, totals: Array, squares: Array, high: Array | None, scale: int, *, sample: bool, root: bool
) -> Numerics:
    """Returns variances, or with `root` standard deviations, with CARRIED_SCALE decimals.

    `counts` are int64; `totals` and `squares` are the sums of unscaled values of `scale` decimals, and of their
    squares, as (low, high) words a row; `high` × 2⁶⁴ adds to the latter. Rows whose count is 0, or 1 in a sample,
    are 0.
    """
    rows = len(counts)
    made = Numerics(np.empty((rows, 2), np.int64), np.empty(rows, np.int8), np.empty(rows, bool))
    for first in range(0, rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        _, count = limbs.split(widen(counts[part]))
        _, total = limbs.split(totals[part])
        _, square = limbs.split(squares[part])
        if high is not None:
            square = limbs.add(square, limbs.shift_words(limbs.split(high[part])[1]))
        values, shown, overflow = _deviate(count, total, square, scale, sample=sample, root=root)
        made.values[part] = limbs.join(values, np.zeros(len(shown), bool))
        made.shown[part], made.overflow[part] = shown, overflow
    return made


def _deviate(
    count: Limbs, total: Limbs, square: Limbs, scale: int, *, sample: bool, root: bool
) -> tuple[Limbs, Array, Array]:
    above, below = limbs.multiply(count, square), limbs.multiply(total, total)
    varies = ~limbs.is_at_least(below, above)
    upper = [np.where(varies, limb, 0) for limb in limbs.subtract(above, below)]
    lower = limbs.multiply(count, count)
    if sample:
        lower = limbs.subtract(lower, count)
    lower = limbs.add_bit(lower, limbs.is_zero(lower))
    digits, shown, beyond = divide_to_scale(upper, 2 * scale, lower, 0, np.full(len(varies), 2 * scale), limit=8)
    shown = np.minimum(shown, CARRIED_SCALE)
    if root:
        # The root has as many decimals as the variance, which is rounded.
        digits = round_root(scale_up(digits, shown))
    values = scale_up(digits, CARRIED_SCALE - shown)
    overflow = varies & (beyond | exceeds_digits(values))
    return [np.where(varies & ~overflow, limb, 0) for limb in values], np.where(varies, shown, 0), overflow


def round_root(values: Limbs) -> Limbs:
    """Returns square roots of integers of at most 200 bits, rounded to integers."""
    size = np.sqrt(limbs.to_float(values))
    # One step of Newton's method doubles the 52 bits of a float's root, so that it is off by one at most.
    guess = _from_float(size)
    quotient, _, _ = limbs.divide(values, limbs.add_bit(guess, limbs.is_zero(guess)))
    root = limbs.add(guess, quotient)
    root = _halve(root)
    large = ~limbs.is_at_least(values, limbs.multiply(root, root))
    root = limbs.subtract(root, [large.astype(np.uint64)])
    rest = limbs.subtract(values, limbs.multiply(root, root))
    # (root + ½)² is root² + root + ¼.
    return limbs.add_bit(root, ~limbs.is_at_least(root, rest))


def _from_float(values: Array) -> Limbs:
    """Returns floats from 0 to 2¹²⁷, truncated."""
    made = []
    for _ in range(4):
        made.append(np.fmod(values, 2.0**32).astype(np.uint64))
        values = np.floor(values / 2.0**32)
    return limbs.trim(made)


def _halve(value: Limbs) -> Limbs:
    above = [*value[1:], np.zeros_like(value[0])]
    return limbs.trim(
        [limb >> np.uint64(1) | (more & np.uint64(1)) << np.uint64(31) for limb, more in zip(value, above, strict=True)]
    )


def co_moments(counts: Array, x: Array, y: Array, products: Array) -> Array:
    """Returns counts × products - x × y as floats: covariances or, for x = y, variances, before their division.

    `counts` are int64; the sums of unscaled values, and of products, are (low, high) words a row.
    """
    made = np.empty(len(counts))
    for first in range(0, len(counts), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        _, count = limbs.split(widen(counts[part]))
        minus, product = limbs.split(products[part])
        x_minus, one = limbs.split(x[part])
        y_minus, other = limbs.split(y[part])
        above, below = limbs.multiply(count, product), limbs.multiply(one, other)
        apart = minus != (x_minus != y_minus)
        less = ~limbs.is_at_least(above, below)
        size = limbs.select(less, limbs.subtract(below, above), limbs.subtract(above, below))
        value = limbs.to_float(limbs.select(apart, limbs.add(above, below), size))
        made[part] = np.where(minus != (less & ~apart), -value, value)
    return made

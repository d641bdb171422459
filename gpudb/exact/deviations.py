"""Variances and standard deviations of exact numbers (PostgreSQL's `numeric_stddev_internal`), and square roots."""

from __future__ import annotations

import numpy as np

from gpudb.exact import limbs
from gpudb.exact.limbs import Array, Limbs
from gpudb.exact.numerics import BLOCK_ROWS, Numerics, exceeds_digits, scale_up
from gpudb.exact.quotients import divide_to_scale
from gpudb.exact.words import widen
from gpudb.types import CARRIED_SCALE, MAX_DIGITS


def deviations(
    counts: Array,
    totals: Array,
    squares: Array,
    high: Array | None,
    scale: int,
    *,
    sample: bool,
    root: bool,
    carried: int = CARRIED_SCALE,
) -> Numerics:
    """Returns variances, or with `root` standard deviations, with `carried` decimals.

    `counts` are int64; `totals` and `squares` are the sums of unscaled values of `scale` decimals, and of their
    squares, as (low, high) words a row; `high` × 2⁶⁴ adds to the latter. Rows whose count is 0, or 1 in a sample,
    are 0.
    """
    rows = len(counts)
    made = Numerics.of_rows(rows)
    for first in range(0, rows, BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        _, count = limbs.split(widen(counts[part]))
        _, total = limbs.split(totals[part])
        _, square = limbs.split(squares[part])
        if high is not None:
            square = limbs.add(square, limbs.shift_words(limbs.split(high[part])[1]))
        least = np.full(len(count[0]), 2 * scale)
        values, *rest = _deviate(count, total, square, scale, least, sample=sample, root=root, carried=carried)
        made.fill(part, values, np.zeros(len(count[0]), bool), *rest)
    return made


def deviations_of_groups(
    values: Array, starts: Array, scale: int, shown: Array, *, sample: bool, root: bool, carried: int
) -> Numerics:
    """Returns variances, or with `root` standard deviations, of runs of values that begin at `starts`.

    `values` are unscaled numerics of `scale` decimals, (low, high) words a row; `shown` is the greatest display scale
    of each run.
    """
    made = Numerics.of_rows(len(starts))
    if not len(starts):
        return made
    negative, size = limbs.split(values)
    counts = np.diff(np.append(starts, len(values)))
    parts = [[np.where(negative == minus, limb, 0) for limb in size] for minus in (False, True)]
    above, below = (limbs.sum_groups(part, starts) for part in parts)
    less = ~limbs.is_at_least(above, below)
    total = limbs.select(less, limbs.subtract(below, above), limbs.subtract(above, below))
    square = limbs.sum_groups(limbs.multiply(size, size), starts)
    _, count = limbs.split(widen(counts))
    least = 2 * shown.astype(np.int64)
    found, *rest = _deviate(count, total, square, scale, least, sample=sample, root=root, carried=carried)
    made.fill(slice(None), found, np.zeros(len(counts), bool), *rest)
    return made


def _deviate(
    count: Limbs, total: Limbs, square: Limbs, scale: int, least: Array, *, sample: bool, root: bool, carried: int
) -> tuple[Limbs, Array, Array, Array]:
    above, below = limbs.multiply(count, square), limbs.multiply(total, total)
    varies = ~limbs.is_at_least(below, above)
    upper = [np.where(varies, limb, 0) for limb in limbs.subtract(above, below)]
    lower = limbs.multiply(count, count)
    if sample:
        lower = limbs.subtract(lower, count)
    lower = limbs.add_bit(lower, limbs.is_zero(lower))
    # A root has as many decimals as its variance, which is rounded: it is computed with twice as many.
    held = MAX_DIGITS if root else carried
    found = divide_to_scale(upper, 2 * scale, lower, 0, least, carried=held, limit=8)
    digits, decimals, shown, lost, beyond = found.digits, found.decimals, found.shown, found.lost, found.beyond
    if root:
        large = limbs.bit_length(scale_up(digits, decimals)) > ROOT_BITS
        # A large root is that of a variance of no more decimals than are carried.
        cut = np.where(large, np.maximum(decimals - carried, 0), 0)
        unit = limbs.power_of_ten(cut)
        digits, rest, _ = limbs.divide(digits, unit, 8)
        digits = limbs.add_bit(digits, limbs.is_at_least(limbs.add(rest, rest), unit))
        decimals = decimals - cut
        digits = scale_up(digits, decimals)
        large = limbs.bit_length(digits) > ROOT_BITS
        unit = limbs.power_of_ten(np.maximum(decimals - carried, 0))
        digits, rest, _ = limbs.divide(round_root([np.where(large, 0, limb) for limb in digits]), unit)
        digits = limbs.add_bit(digits, limbs.is_at_least(limbs.add(rest, rest), unit))
        exact = limbs.is_zero(rest) & ~large & (cut == 0)
        lost = lost | (~exact & (found.required > carried))
        shown = np.where(exact, decimals, np.minimum(decimals, carried))
        beyond = beyond | (large & ~lost)
    values = scale_up(digits, np.maximum(carried - decimals, 0))
    overflow = varies & (beyond | exceeds_digits(values))
    shown = np.where(varies, shown, 0)
    return [np.where(varies & ~overflow, limb, 0) for limb in values], shown, overflow, lost & varies


ROOT_BITS = 252
"""The most bits of an integer whose root `round_root` returns."""


def round_root(values: Limbs) -> Limbs:
    """Returns square roots of integers of at most ROOT_BITS bits, rounded to integers."""
    root = _from_float(np.sqrt(limbs.to_float(values)))
    # A step of Newton's method doubles the 52 bits of a float's root, so that the second one is off by one at most.
    for _ in range(2):
        quotient, _, _ = limbs.divide(values, limbs.add_bit(root, limbs.is_zero(root)))
        root = _halve(limbs.add(root, quotient))
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

"""Random operands of exact arithmetic, with the edge cases of rounding, and what Python's integers compute of them."""

from __future__ import annotations

import random
from math import isqrt

from gpudb.exact.quotients import divide_value

LIMIT = 10**38


def pick(draw: random.Random, bits: int) -> int:
    """Returns an integer of at most 38 digits: of any number of bits, beside a power of ten, or 0."""
    size = draw.getrandbits(draw.randint(1, bits))
    if draw.random() < 0.3:
        size = 10 ** draw.randint(0, bits * 3 // 10) + draw.randint(-1, 1)
    if draw.random() < 0.1:
        size = 0
    return min(size, LIMIT - 1) * draw.choice((1, -1))


def find_deviation(
    values: list[int], scale: int, *, sample: bool, root: bool, carried: int = 20
) -> tuple[int, int] | None:
    """Returns the deviation of unscaled values with `carried` decimals, and its display scale; None for too few."""
    count = len(values)
    if count <= sample:
        return None
    upper = count * sum(value * value for value in values) - sum(values) ** 2
    if not upper:
        return 0, 0
    lower = count * (count - 1) if sample else count * count
    _, shown = divide_value(upper, 2 * scale, lower, 0, 2 * scale)
    power = shown - 2 * scale
    upper, lower = (upper * 10**power, lower) if power >= 0 else (upper, lower * 10**-power)
    variance = (2 * upper + lower) // (2 * lower)
    if root:
        size = variance * 10**shown
        variance = isqrt(size)
        variance += size - variance * variance > variance
    return variance * 10 ** (carried - shown), shown

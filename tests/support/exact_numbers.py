"""Random operands of exact arithmetic, with the edge cases of rounding, and what Python's integers compute of them."""

from __future__ import annotations

import random
from math import isqrt

from gpudb.exact.quotients import divide_value, least_scale

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
    values: list[int], scale: int, *, sample: bool, root: bool, carried: int
) -> tuple[int, int, bool] | None:
    """Returns the deviation of unscaled values with `carried` decimals, its display scale, and whether it lost some.

    None for too few values.
    """
    count = len(values)
    if count <= sample:
        return None
    upper = count * sum(value * value for value in values) - sum(values) ** 2
    if not upper:
        return 0, 0, False
    lower = count * (count - 1) if sample else count * count
    if not root:
        return divide_value(upper, 2 * scale, lower, 0, 2 * scale, carried)
    variance, decimals, lost = divide_value(upper, 2 * scale, lower, 0, 2 * scale, 38)
    decimals = min(decimals, 38)
    required = max(least_scale(upper, 2 * scale, lower, 0), 16 if 2 * scale > 20 else 2 * scale)
    variance //= 10 ** (38 - decimals)
    large = (variance * 10**decimals).bit_length() > 252 and decimals > carried
    if large:
        unit = 10 ** (decimals - carried)
        variance, decimals = (2 * variance + unit) // (2 * unit), carried
    size = variance * 10**decimals
    made = isqrt(size)
    made += size - made * made > made
    if decimals <= carried:
        return made * 10 ** (carried - decimals), decimals, lost or (large and required > carried)
    unit = 10 ** (decimals - carried)
    made, rest = divmod(made, unit)
    if not rest:
        return made, decimals, lost
    return made + (2 * rest >= unit), carried, lost or required > carried

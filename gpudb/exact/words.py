"""Columns of signed 128-bit integers: arrays of (low, high) 64-bit words of each row, as in Arrow's decimals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpudb.exact.limbs import Array, is_at_least, split

_HALF, _MASK = 32, np.int64(2**32 - 1)


def is_wide(values: Array) -> bool:
    """Returns whether values are (low, high) words."""
    return values.ndim == 2


def widen(values: Array) -> Array:
    """Returns integers as (low, high) words, which wide ones are already."""
    return values if is_wide(values) else np.stack([values, values >> 63], axis=1)


def narrow(words: Array) -> Array:
    """Returns (low, high) words as 64-bit integers if all of them fit, else unchanged."""
    return np.ascontiguousarray(words[:, 0]) if bool((words[:, 0] >> 63 == words[:, 1]).all()) else words


def from_parts(parts: Sequence[Array]) -> Array:
    """Returns integers given by limbs, each of 32 bits and more that are carried; the last has the sign."""
    carry = np.zeros(len(parts[0]), np.int64)
    limbs = []
    for part in (*parts, *(np.zeros_like(parts[0]) for _ in range(4 - len(parts)))):
        total = part.astype(np.int64, copy=False) + carry
        limbs.append(total & _MASK)
        carry = total >> _HALF
    return np.stack([limbs[0] | limbs[1] << _HALF, limbs[2] | limbs[3] << _HALF], axis=1)


def sum_groups(words: Array, starts: Array) -> Array:
    """Returns the sums of runs of at most 2³¹ rows, which begin at `starts`."""
    low, high = words[:, 0], words[:, 1]
    parts = (low & _MASK, low >> _HALF & _MASK, high & _MASK, high >> _HALF)
    return from_parts([np.add.reduceat(part, starts) for part in parts])


def rank(words: Array) -> Array:
    """Returns integers that sort as the rows' values do, equal ones for equal values."""
    low, high = words[:, 0].view(np.uint64), words[:, 1]
    order = np.lexsort((low, high))
    ordered = words[order]
    changed = np.concatenate([[False], (ordered[1:] != ordered[:-1]).any(axis=1)])
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.cumsum(changed)
    return ranks


def magnitude_at_least(words: Array, limit: int) -> Array:
    """Returns which values are at least `limit` away from 0."""
    _, size = split(words)
    return is_at_least(size, [np.uint64(limit >> 32 * place & 2**32 - 1) for place in range(4)])


def from_integers(values: Sequence[int]) -> Array:
    """Returns Python integers as (low, high) words."""
    made = np.empty((len(values), 2), np.uint64)
    made[:, 0] = [value & 2**64 - 1 for value in values]
    made[:, 1] = [value >> 64 & 2**64 - 1 for value in values]
    return made.view(np.int64)


def to_integers(words: Array) -> list[int]:
    """Returns (low, high) words as Python integers."""
    low, high = words[:, 0].view(np.uint64).tolist(), words[:, 1].tolist()
    return [(above << 64) + below for below, above in zip(low, high, strict=True)]

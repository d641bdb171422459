"""ASOF joins over arrays of NumPy or CuPy: for each left row the right row of its group whose time is nearest.

The right rows are sorted by group and time, by one integer where that holds both, and all left rows search there at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Array = Any
_NAN, _LARGEST = np.int64(0x7FF8000000000000), np.int64(2**63 - 1)
_LEAST = -(2**63)


@dataclass(frozen=True, slots=True)
class NearestJoin:
    """What joins two frames: the names of their columns `group` and `time`, left first, and how the times compare.

    Groups are numbers from 0 to `groups` - 1; a left row without one has no match. `columns` are those of the right
    frame that are returned. With `inner`, left rows without a match are left out.
    """

    group: tuple[str, str] | None
    groups: int
    time: tuple[str, str]
    operator: Literal[">=", ">", "<=", "<"]
    columns: Sequence[str]
    inner: bool


def order_integers(arrays: Any, values: Array) -> Array:
    """Returns integers that sort as the values do: zeros are equal, NaN is the greatest.

    `arrays` is NumPy or CuPy.
    """
    if values.dtype.kind != "f":
        return values
    values = values.astype(np.float64, copy=False) + 0.0
    bits = arrays.where(arrays.isnan(values), _NAN, values.view(np.int64))
    return arrays.where(bits < 0, bits ^ _LARGEST, bits)


def find_nearest(
    arrays: Any,
    join: NearestJoin,
    sides: Sequence[tuple[Array, Array]],
    sort: Callable[[Sequence[Array]], Array],
) -> Array:
    """Returns for each left row the number of its nearest right row, or -1.

    `sides` are the groups, -1 for none, and the times as integers of the left rows and of the right ones, which all
    have a group. `sort` returns the rows' numbers in the order of arrays, the first being the most significant; rows
    with equal values stay in their order, so that of equally near rows the last is returned, or the first where later
    ones are searched for.
    """
    (mine, wanted), (groups, times) = sides
    if not len(times) or not len(wanted):
        return arrays.full(len(wanted), -1, np.int64)
    known = arrays.maximum(mine, 0)
    least, largest = int(times.min()), int(times.max())
    stride = largest - least + 3
    above, backward = join.operator in {">=", "<"}, join.operator in {">=", ">"}
    if stride * join.groups < 1 << 63 and least > _LEAST:
        # Below and above the times of a group there is one more place, for the times that none of its rows has.
        keys = groups.astype(np.int64) * stride + (times.astype(np.int64) - (least - 1))
        order = sort([keys])
        keys = keys[order]
        first = known.astype(np.int64) * stride
        inside = arrays.where(wanted > largest, stride - 1, wanted.astype(np.int64) - (least - 1))
        place = arrays.searchsorted(keys, first + arrays.where(wanted < least, 0, inside), "right" if above else "left")
        place = place - 1 if backward else place
        near = keys[arrays.clip(place, 0, len(keys) - 1)]
        found = (place >= 0) & (near >= first) if backward else (place < len(keys)) & (near < first + stride)
    else:
        order = sort([groups, times])
        groups = groups[order]
        place = _search(arrays, (groups, times[order]), (known, wanted), above=above)
        place = place - 1 if backward else place
        found = (place >= 0) & (place < len(order)) & (groups[arrays.clip(place, 0, len(order) - 1)] == known)
    return arrays.where(found & (mine >= 0), order[arrays.clip(place, 0, len(order) - 1)], -1)


def _search(arrays: Any, rows: tuple[Array, Array], wanted: tuple[Array, Array], *, above: bool) -> Array:
    """Returns for each wanted group and time the first place in sorted rows with a pair that is not less, or with
    `above` one that is greater.
    """
    (groups, times), (group, time) = rows, wanted
    low, high = arrays.zeros(len(time), np.int64), arrays.full(len(time), len(times), np.int64)
    for _ in range(len(times).bit_length()):
        middle = (low + high) >> 1
        at = arrays.minimum(middle, len(times) - 1)
        held, of = times[at], groups[at]
        less = (of < group) | ((of == group) & ((held <= time) if above else (held < time)))
        right = less & (low < high)
        high = arrays.where(right | (low >= high), high, middle)
        low = arrays.where(right, middle + 1, low)
    return low

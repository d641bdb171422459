"""Converts a column of binary numerics to exact decimals, vectorised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.storage.copy.binary_split import Offsets, sliding_windows
from gpudb.storage.copy.conversion import build_decimals
from gpudb.types import SqlType
from gpudb.values.binary import NUMERIC_NEGATIVE

INT64_DIGITS = 18
_MOST_GROUPS = 9
_HEAD = 8


def parse_numerics(
    type_: SqlType, view: npt.NDArray[np.uint8], starts: Offsets, lengths: Offsets, null: npt.NDArray[np.bool_]
) -> pa.Array | None:
    """Returns the values of a numeric(p,s) of at most 18 digits; None if one is malformed, too long or must be
    rounded.
    """
    if type_.is_carried or type_.numeric_digits[0] > INT64_DIGITS:
        return None
    precision, scale = type_.numeric_digits
    values = np.zeros(len(starts), np.int64)
    valid_rows = np.flatnonzero(~null)
    if len(valid_rows) == 0:
        return build_decimals(type_, values, _validity(null))
    begin = starts[valid_rows]
    if (lengths[valid_rows] < _HEAD).any():
        return None
    head = _read_words(view, begin, 4)
    groups, weight, sign = head[:, 0], head[:, 1].astype(np.int16).astype(np.int64), head[:, 2]
    most = int(groups.max())
    if (
        (lengths[valid_rows] != _HEAD + 2 * groups).any()
        or most > _MOST_GROUPS
        or np.abs(weight).max() > 2 * _MOST_GROUPS
    ):
        return None
    if ((sign != 0) & (sign != NUMERIC_NEGATIVE)).any():
        return None
    total = np.zeros(len(valid_rows), np.int64)
    size = np.zeros(len(valid_rows), np.float64)
    for number in range(most):
        inside = number < groups
        digit = np.where(inside, _read_words(view, np.where(inside, begin + _HEAD + 2 * number, begin), 1)[:, 0], 0)
        exponent = 4 * (weight - number) + scale
        size += digit * 10.0 ** np.minimum(exponent, 300)
        if (digit > 9999).any() or (size >= 10.0**precision * 1.001).any():
            return None
        # Digits below the scale must be zeros: anything else would be rounded.
        unit = _POWERS[np.clip(-exponent, 0, 4)]
        if (digit % unit).any():
            return None
        total += np.where(digit == 0, 0, digit // unit * _POWERS[np.clip(exponent, 0, INT64_DIGITS)])
    if (total >= 10**precision).any():
        return None
    values[valid_rows] = np.where(sign == 0, total, -total)
    return build_decimals(type_, values, _validity(null))


def _validity(null: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    return pa.array(~null).buffers()[1] if null.any() else None


_POWERS = 10 ** np.arange(INT64_DIGITS + 1, dtype=np.int64)


def _read_words(view: npt.NDArray[np.uint8], starts: Offsets, count: int) -> Offsets:
    """Reads `count` big-endian 16-bit numbers at each position."""
    return sliding_windows(view, 2 * count)[starts].view(">u2").astype(np.int64)

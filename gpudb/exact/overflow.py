"""Whether sums and products of 64-bit integers fit into 64 bits, found exactly by words of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.signedinteger[Any]]

_WORD = 16
_WORDS = 64 // _WORD
_MASK = (1 << _WORD) - 1
_INNER = 1 << 20
"""Products of two words sum up exactly in double precision over so many elements."""
_CHUNK_OPERATIONS = 1e8


def sums_fit(matrix: Integers, axis: int) -> bool:
    """Whether all sums over an axis of fewer than 2^31 integers fit."""
    low = (matrix & 0xFFFFFFFF).sum(axis=axis, dtype=np.int64)
    high = (matrix >> 32).sum(axis=axis, dtype=np.int64) + (low >> 32)
    return bool(((high >= -(1 << 31)) & (high < 1 << 31)).all())


def products_fit(one: Integers, other: Integers, poll: Callable[[], None]) -> bool:
    """Whether all elements of the product of two matrices of int64 fit; calls `poll` between its parts."""
    rights = _split(other)
    step = max(1, int(_CHUNK_OPERATIONS / other.size))
    for start in range(0, one.shape[0], step):
        poll()
        if not _rows_fit(_split(one[start : start + step]), rights):
            return False
    return True


def _split(matrix: Integers) -> list[npt.NDArray[np.float64]]:
    """Returns the words of integers from the lowest on; the highest has the sign."""
    words = [(matrix >> shift) & _MASK for shift in range(0, 64 - _WORD, _WORD)]
    return [each.astype(np.float64) for each in (*words, matrix >> (64 - _WORD))]


def _rows_fit(lefts: list[npt.NDArray[np.float64]], rights: list[npt.NDArray[np.float64]]) -> bool:
    carry = np.zeros((lefts[0].shape[0], rights[0].shape[1]), np.int64)
    sign = carry
    beyond = []
    for place in range(2 * _WORDS - 1):
        for at in range(max(0, place - _WORDS + 1), min(place, _WORDS - 1) + 1):
            carry = carry + _multiply(lefts[at], rights[place - at])
        word, carry = carry & _MASK, carry >> _WORD
        if place == _WORDS - 1:
            sign = -(word >> (_WORD - 1))  # of the product's lower 64 bits: 0 or -1
        elif place >= _WORDS:
            beyond.append(word)
    return bool((carry == sign).all()) and all(bool((word == (sign & _MASK)).all()) for word in beyond)


def _multiply(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Multiplies matrices of words exactly."""
    starts = range(0, left.shape[1], _INNER)
    parts = [(left[:, at : at + _INNER] @ right[at : at + _INNER]).astype(np.int64) for at in starts]
    return np.asarray(np.sum(parts, axis=0, dtype=np.int64))

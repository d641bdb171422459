"""Positions of characters as bits of 64-bit words, so that quotes of a whole block are matched in a few operations.

Bit i of word w stands for byte 64 w + i. The method is simdjson's for finding quoted text.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]

_WORD = 64


class CharacterIndex:
    """A block's bytes, searchable for characters."""

    def __init__(self, data: bytes) -> None:
        self._view = np.frombuffer(data, np.uint8)

    def find(self, char: bytes) -> Bits:
        """Returns the positions of a character."""
        packed = np.packbits(self._view == char[0], bitorder="little")
        words = np.zeros(-(-len(packed) // 8), "<u8")
        words.view(np.uint8)[: len(packed)] = packed
        return words


def mark_quoted(quotes: Bits) -> Bits | None:
    """Returns the positions from each opening quote up to its closing quote; None if the last one is not closed."""
    inside = quotes.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        inside ^= inside << np.uint64(shift)
    # The highest bit is set if a word has an odd number of quotes: then the next word begins inside quotes.
    odd = np.bitwise_xor.accumulate(inside >> np.uint64(_WORD - 1))
    if odd[-1]:
        return None
    inside[1:] ^= np.uint64(0) - odd[:-1]
    return inside


def mark_following(places: Bits, *, first: bool) -> Bits:
    """Returns the positions directly after the given ones; `first` includes position 0."""
    moved = places << np.uint64(1)
    moved[1:] |= places[:-1] >> np.uint64(_WORD - 1)
    if first:
        moved[0] |= np.uint64(1)
    return moved

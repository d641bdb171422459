"""Places of characters as bits of 64-bit words, so that a whole block's quotes are followed in a few operations.

Bit i of word w stands for byte 64 w + i. After simdjson's way of finding what lies between quotes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]

_WORD = 64


class Marks:
    """A block's bytes, to be asked where a character is."""

    def __init__(self, data: bytes) -> None:
        self._view = np.frombuffer(data, np.uint8)

    def of(self, char: bytes) -> Bits:
        """Where a character is."""
        packed = np.packbits(self._view == char[0], bitorder="little")
        words = np.zeros(-(-len(packed) // 8), "<u8")
        words.view(np.uint8)[: len(packed)] = packed
        return words


def between(quotes: Bits) -> Bits | None:
    """What lies between an opening quote (itself included) and its closing one; None if the last stays open."""
    inside = quotes.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        inside ^= inside << np.uint64(shift)
    # the highest bit says whether a word has an odd number: then the next one begins inside
    odd = np.bitwise_xor.accumulate(inside >> np.uint64(_WORD - 1))
    if odd[-1]:
        return None
    inside[1:] ^= np.uint64(0) - odd[:-1]
    return inside


def following(places: Bits, *, first: bool) -> Bits:
    """The places right after the given ones; `first` says whether the very first place counts as one."""
    moved = places << np.uint64(1)
    moved[1:] |= places[:-1] >> np.uint64(_WORD - 1)
    if first:
        moved[0] |= np.uint64(1)
    return moved

"""Shuffled orders of rows, computed by arithmetic: any part of one without the rest, the same on every device.

A bijection of numbers of k bits mixes a position: products with odd factors, sums and shifts, six times over. A result
that is no row's number is mixed again until it is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROUNDS = 6
_WORD = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Permutation:
    """An order of the rows 0 to `rows` - 1, chosen by a seed and an epoch."""

    rows: int
    seed: int
    epoch: int

    @property
    def bits(self) -> int:
        """The bits of the numbers that are mixed."""
        return max(2, (self.rows - 1).bit_length())

    def keys(self) -> list[int]:
        """Returns a factor and a summand for each round, of 64 bits."""
        state = (self.seed & _WORD) ^ _mix_word(self.epoch + 1)
        words = []
        for number in range(2 * ROUNDS):
            state = (state + 0x9E3779B97F4A7C15) & _WORD
            words.append(_mix_word(state) | (number % 2 == 0))
        return words

    def take(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the rows at positions of the order, each from 0 to `rows` - 1."""
        keys = np.array(self.keys(), np.uint64).view(np.int64)
        found = self._mix(positions, keys)
        open_ = np.flatnonzero(found >= self.rows)
        while len(open_):
            mixed = self._mix(found[open_], keys)
            found[open_] = mixed
            open_ = open_[mixed >= self.rows]
        return found

    def _mix(self, numbers: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
        mask = np.int64((1 << self.bits) - 1)
        shift = np.int64((self.bits + 1) // 2)
        for factor, summand in keys.reshape(-1, 2):
            numbers = (numbers * factor + summand) & mask
            numbers ^= numbers >> shift
        return numbers


def _mix_word(word: int) -> int:
    """Returns a word mixed as in SplitMix64."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31

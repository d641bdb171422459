"""An index of 64-bit hashes, by open addressing in NumPy arrays: many look-ups at once, without the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np

Hashes = np.ndarray[Any, np.dtype[np.uint64]]
Places = np.ndarray[Any, np.dtype[np.int64]]

_SPARE = 4
"""Least slots for each hash: at most a quarter is in use."""
_LEAST = 1 << 10


class HashIndex:
    """Distinct or equal hashes in the order of their addition; `find` returns the place of one of equal ones.

    It never changes: `extend` returns another, and what reads this one is not disturbed.
    """

    def __init__(self) -> None:
        self._hashes: Hashes = np.empty(0, np.uint64)
        self._slots = np.full(_LEAST, -1, np.int32)

    def find(self, hashes: Hashes) -> Places:
        """Returns the place of each hash, -1 for those that are not in the index."""
        slots, known, mask = self._slots, self._hashes, len(self._slots) - 1
        found = np.full(len(hashes), -1, np.int64)
        if not len(known):
            return found
        todo, wanted = np.arange(len(hashes)), hashes
        positions = _first_slots(hashes, mask)
        while len(todo):
            places = slots.take(positions)
            used = places >= 0
            same = used & (known.take(np.maximum(places, 0)) == wanted)
            found[todo[same]] = places[same]
            other = used & ~same
            todo, wanted, positions = todo[other], wanted[other], (positions[other] + 1) & mask
        return found

    def extend(self, hashes: Hashes) -> HashIndex:
        """Returns an index with more hashes."""
        made = HashIndex()
        made._hashes = np.concatenate([self._hashes, hashes])
        size = len(self._slots)
        while size < _SPARE * len(made._hashes):
            size *= 2
        first = len(self._hashes) if size == len(self._slots) else 0
        made._slots = self._slots.copy() if first else np.full(size, -1, np.int32)
        made._insert(np.arange(first, len(made._hashes), dtype=np.int32))
        return made

    def _insert(self, places: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        mask = len(self._slots) - 1
        positions = _first_slots(self._hashes[places], mask)
        while len(places):
            free = self._slots.take(positions) < 0
            self._slots[positions[free]] = places[free]
            # Of several places for one slot one is in it: the others look for the next slot.
            lost = self._slots.take(positions) != places
            places, positions = places[lost], (positions[lost] + 1) & mask


def _first_slots(hashes: Hashes, mask: int) -> Places:
    return (hashes & np.uint64(mask)).astype(np.int64)

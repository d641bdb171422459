"""Hash tables of 64-bit keys with open addressing, at most half full, as kernels/lookup.cuh probes them; bitmaps."""

from __future__ import annotations

from typing import Any

import numpy as np

EMPTY = -1
_Array = np.ndarray[Any, Any]


def bitmap_bytes(slots: int) -> int:
    """The length of a bitmap of so many keys: a multiple of 16 bytes."""
    return -(-slots // 128) * 16


def mixed(keys: _Array) -> _Array:
    """The hash of 64-bit keys (MurmurHash3's finalizer); as kernels/lookup.cuh has it."""
    made = keys.astype(np.uint64)
    made ^= made >> np.uint64(33)
    made *= np.uint64(0xFF51AFD7ED558CCD)
    made ^= made >> np.uint64(33)
    made *= np.uint64(0xC4CEB9FE1A85EC53)
    return made ^ (made >> np.uint64(33))


def hash_table(keys: _Array, xp: Any = np) -> tuple[_Array, _Array]:
    """A hash table at most half full, and each key's slot in it: arrays of `xp` (NumPy or CuPy), as the keys are."""
    size = 16
    while size < 2 * len(keys):
        size *= 2
    table = xp.full(size, EMPTY, np.int64)
    place = (mixed(keys) & np.uint64(size - 1)).astype(np.int64)
    waiting = xp.arange(len(keys))
    while len(waiting):
        slots = place[waiting]
        free = table[slots] == EMPTY
        # Of several for one slot one has it; its equals share it.
        table[slots[free]] = keys[waiting[free]]
        waiting = waiting[table[slots] != keys[waiting]]
        place[waiting] = (place[waiting] + 1) % size
    return table, place


def probed(table: _Array, keys: _Array) -> tuple[_Array, _Array]:
    """Each key's slot in a hash table, and whether it is there."""
    size = len(table)
    place = (mixed(keys) & np.uint64(size - 1)).astype(np.int64)
    waiting = np.flatnonzero((table[place] != keys) & (table[place] != EMPTY))
    while len(waiting):
        place[waiting] = (place[waiting] + 1) % size
        held = table[place[waiting]]
        waiting = waiting[(held != keys[waiting]) & (held != EMPTY)]
    return place, table[place] == keys

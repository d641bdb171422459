"""Open-addressing hash tables of 64-bit keys, at most half full, as kernels/lookup.cuh probes them; bitmaps."""

from __future__ import annotations

from typing import Any

import numpy as np

EMPTY = -1
_Array = np.ndarray[Any, Any]


def bitmap_size(slots: int) -> int:
    """Returns the length of a bitmap of `slots` keys: a multiple of 16 bytes."""
    return -(-slots // 128) * 16


def hash_keys(keys: _Array) -> _Array:
    """Hashes 64-bit keys with MurmurHash3's finalizer, as kernels/lookup.cuh does."""
    made = keys.astype(np.uint64)
    made ^= made >> np.uint64(33)
    made *= np.uint64(0xFF51AFD7ED558CCD)
    made ^= made >> np.uint64(33)
    made *= np.uint64(0xC4CEB9FE1A85EC53)
    return made ^ (made >> np.uint64(33))


def build_hash_table(keys: _Array, xp: Any = np) -> tuple[_Array, _Array]:
    """Builds a hash table at most half full, and returns each key's slot; arrays of `xp` (NumPy or CuPy), as the keys
    are.
    """
    size = 16
    while size < 2 * len(keys):
        size *= 2
    table = xp.full(size, EMPTY, np.int64)
    slot = (hash_keys(keys) & np.uint64(size - 1)).astype(np.int64)
    waiting = xp.arange(len(keys))
    while len(waiting):
        slots = slot[waiting]
        free = table[slots] == EMPTY
        # One of several keys for a slot wins it; equal keys share it.
        table[slots[free]] = keys[waiting[free]]
        waiting = waiting[table[slots] != keys[waiting]]
        slot[waiting] = (slot[waiting] + 1) % size
    return table, slot


def probe_hash_table(table: _Array, keys: _Array) -> tuple[_Array, _Array]:
    """Returns each key's slot in a hash table, and whether the table has the key."""
    size = len(table)
    slot = (hash_keys(keys) & np.uint64(size - 1)).astype(np.int64)
    waiting = np.flatnonzero((table[slot] != keys) & (table[slot] != EMPTY))
    while len(waiting):
        slot[waiting] = (slot[waiting] + 1) % size
        held = table[slot[waiting]]
        waiting = waiting[(held != keys[waiting]) & (held != EMPTY)]
    return slot, table[slot] == keys

"""Hashes of texts: the sum of mixed bytes and positions, the same for every engine.

Each byte with its position, which starts at 1, becomes 64 well mixed bits; a text's hash is their sum modulo 2⁶⁴.
GPU workers hash texts on the host as well.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gpudb.exact.limbs import Array
from gpudb.sketches.hyperloglog import mix


def hash_texts(column: pa.Array) -> Array:
    """Returns the hashes of texts or bytes; those of NULL are any."""
    held = column.cast(pa.large_binary()) if column.type != pa.large_binary() else column
    offsets = np.frombuffer(held.buffers()[1], np.int64)[held.offset : held.offset + len(held) + 1]
    if not len(held) or offsets[-1] == offsets[0]:
        return np.zeros(len(held), np.int64)
    content = np.frombuffer(held.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets[:-1] - offsets[0]
    lengths = np.diff(offsets)
    places = np.arange(1, len(content) + 1) - np.repeat(starts, lengths)
    parts = mix((places << 8 | content).view(np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(parts)])
    hashes: Array = (sums[starts + lengths] - sums[starts]).view(np.int64)
    return hashes

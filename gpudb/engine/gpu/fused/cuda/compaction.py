"""Groups out of an array or a hash table that is mostly empty: those that rows have made, one after the other.

They leave the GPU so: of 1.75 million slots that a statement's keys allow, the 800 that are groups. kernels/compact.cu
writes them in any order; `compacted` is its twin, and `grouped` makes groups of either's rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.building_blocks import building_block
from gpudb.engine.gpu.fused.ir.pipeline import Groups
from gpudb.engine.gpu.fused.numpy_backend.executor import Grouped

ROOM = 1 << 16
"""So many groups at most."""
BLOCK = 256
Array = np.ndarray[Any, Any]


def source() -> str:
    """The kernel."""
    return building_block("compact.cu")


def width(sink: Groups) -> int:
    """The words of a row: those of a group's keys, and its accumulators'."""
    return len(sink.words) + len(sink.accumulators)


def compacted(keys: Array | None, words: Array) -> Array:
    """What the kernel writes, in the slots' order: a row a group. `keys` (words of a key, slots) are a hash table's,
    `words` (accumulators, slots) the groups'."""
    place = np.flatnonzero(words[0] if keys is None else keys[0] != -1)
    first = place[None] if keys is None else keys[:, place]
    return np.concatenate([first, words[:, place]]).T


def grouped(sink: Groups, rows: Array) -> Grouped:
    """Rows as groups, by their keys."""
    count = len(sink.words)
    columns = np.ascontiguousarray(rows.T)
    keys = columns[:count]
    columns = columns[:, np.argsort(keys[0]) if count == 1 else np.lexsort(keys[::-1])]
    words = (
        made.view(np.float64) if each.op == "fadd" else made
        for each, made in zip(sink.accumulators, columns[count:], strict=True)
    )
    return Grouped(columns[:count], tuple(words))

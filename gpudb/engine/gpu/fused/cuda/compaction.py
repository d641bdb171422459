"""Compacts sparse arrays and hash tables of groups to the groups that exist.

So few groups leave the GPU: the 800 that exist of 1.75 million slots that a statement's keys allow. kernels/compact.cu
writes them in any order; `compact_groups` does the same with NumPy, and `rows_to_groups` converts the rows of either to
groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.building_blocks import read_source
from gpudb.engine.gpu.fused.ir.pipeline import GroupSink
from gpudb.engine.gpu.fused.numpy_backend.executor import GroupedRows

MAX_GROUPS = 1 << 16
"""Maximum number of compacted groups."""
BLOCK_THREADS = 256
Array = np.ndarray[Any, Any]


def compaction_source() -> str:
    """Returns the kernel's source."""
    return read_source("compact.cu")


def row_words(sink: GroupSink) -> int:
    """Returns the words of a row: a group's key words, and its accumulators'."""
    return len(sink.key_words) + len(sink.accumulators)


def compact_groups(keys: Array | None, words: Array) -> Array:
    """Computes the kernel's output in slot order: a row per group.

    `keys` (words of a key, slots) belong to a hash table, `words` (accumulators, slots) to the groups.
    """
    slots = np.flatnonzero(words[0] if keys is None else keys[0] != -1)
    first = slots[None] if keys is None else keys[:, slots]
    return np.concatenate([first, words[:, slots]]).T


def rows_to_groups(sink: GroupSink, rows: Array) -> GroupedRows:
    """Converts rows to groups, sorted by key."""
    count = len(sink.key_words)
    columns = np.ascontiguousarray(rows.T)
    keys = columns[:count]
    columns = columns[:, np.argsort(keys[0]) if count == 1 else np.lexsort(keys[::-1])]
    words = (
        made.view(np.float64) if each.op == "fadd" else made
        for each, made in zip(sink.accumulators, columns[count:], strict=True)
    )
    return GroupedRows(columns[:count], tuple(words))

"""Raw text columns: concatenated UTF-8 bytes and end offsets, for columns of mostly distinct texts.

An end offset has 32 bits and counts from the start of its group of GROUP_ROWS rows; `starts` holds the groups' offsets.
A NULL has no bytes. The bytes are padded, so that a kernel may load eight at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.unsupported import NotFused

GROUP_ROWS = 1 << 16
"""Rows per group of 32-bit end offsets."""
TOO_LONG = "texts of more than 4 GiB in 65,536 rows"
_PADDING = 16
_CONVERTED_ROWS = 1 << 24


@dataclass(frozen=True, slots=True)
class RawText:
    """Text bytes and offsets: `ends` are uint32, `starts` int64, `size` the bytes of text; `ascii` if all are ASCII.

    Row `skip` is the first. In a chunk that is still to be concatenated, `starts` is None, `ends` (of 32 or 64 bits)
    count from its first byte, and whether it is ASCII is unknown.
    """

    ends: Any
    starts: Any
    data: Any
    size: int
    ascii: bool
    skip: int = 0

    def copy_to(self, xp: Any) -> RawText:
        """Returns the texts in memory of the GPU (`cupy`) or the host (`numpy`)."""
        ends, starts, data = (xp.asarray(each) for each in (self.ends, self.starts, self.data))
        return RawText(ends, starts, data, self.size, self.ascii, self.skip)

    def offsets(self, first: int, last: int, xp: Any = np) -> Any:
        """Returns the offsets that delimit the texts of some rows as int64, one more than rows."""
        first, last = first + self.skip, last + self.skip
        rows = xp.arange(first - 1, last)
        found = xp.where(rows < 0, 0, self.starts[xp.maximum(rows, 0) // GROUP_ROWS] + self.ends[xp.maximum(rows, 0)])
        return found.astype(np.int64)

    def to_list(self, first: int, last: int) -> list[bytes]:
        """Returns the texts of some rows, on the host."""
        offsets = self.offsets(first, last)
        start = int(offsets[0]) if len(offsets) else 0
        held = self.data[start : int(offsets[-1])].tobytes() if len(offsets) else b""
        cuts = (offsets - start).tolist()
        return [held[a:b] for a, b in pairwise(cuts)]


def raw_text_from_offsets(ends: Any, data: Any, xp: Any = np) -> RawText:
    """Builds texts from the bytes `data` and their int64 end offsets."""
    rows, size = len(ends), int(ends[-1]) if len(ends) else 0
    starts = xp.zeros(rows // GROUP_ROWS + 1, np.int64)
    starts[1:] = ends[GROUP_ROWS - 1 :: GROUP_ROWS][: len(starts) - 1]
    made = xp.zeros(max(-(-rows // 64) * 64, 64), np.uint32)
    most = 0
    for first in range(0, rows, _CONVERTED_ROWS):
        some = ends[first : first + _CONVERTED_ROWS]
        group = starts[first // GROUP_ROWS : (first + _CONVERTED_ROWS) // GROUP_ROWS]
        counted = some - xp.repeat(group, GROUP_ROWS)[: len(some)]
        most = max(most, int(counted.max()))
        made[first : first + len(some)] = counted.astype(np.uint32)
    if most >= 2**32:
        raise NotFused(TOO_LONG)
    held = xp.zeros(padded_text_bytes(size), np.uint8)
    held[:size] = data[:size]
    return RawText(made, starts, held, size, size == 0 or int(held[:size].max()) < 128)


def padded_text_bytes(size: int) -> int:
    """Returns the padded length of `size` bytes of text."""
    return -(-size // _PADDING) * _PADDING + _PADDING


def concatenate_text(parts: Sequence[tuple[int, RawText]], xp: Any = np) -> RawText:
    """Concatenates the texts of parts, each with its number of rows."""
    before, ends, data = 0, [], []
    for rows, part in parts:
        ends.append(part.offsets(0, rows, xp)[1:] + before)
        data.append(part.data[: part.size])
        before += part.size
    return raw_text_from_offsets(xp.concatenate(ends), xp.concatenate(data), xp)

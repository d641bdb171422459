"""Pool of buffers that are expensive to allocate. It allocates them on demand and reuses them.

Page-locked host memory is expensive: a GPU reads and writes it at the full speed of the bus, but locking pages takes
longer than copying their contents.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

BLOCK_BYTES = 1 << 19
GROUP_BYTES = 128 * BLOCK_BYTES
"""Bytes allocated at a time."""


class BufferPool:
    """Addresses of free blocks. Thread-safe. `limit` bounds the bytes of all blocks.

    `allocate` takes a number of bytes and returns their address and an object that owns them. It raises MemoryError
    where the system has no more; it is not called again after that.
    """

    def __init__(self, limit: int, allocate: Callable[[int], tuple[int, Any]]) -> None:
        self._allocate_bytes = allocate
        self._groups_left = limit // GROUP_BYTES
        self._allocating = threading.Lock()
        self._holders: dict[int, Any] = {}
        # Its operations are atomic: a thread that releases blocks never waits, even while it acquires some.
        self._free: deque[int] = deque()

    @property
    def available(self) -> int:
        """The bytes that are free or can still be allocated."""
        return len(self._free) * BLOCK_BYTES + self._groups_left * GROUP_BYTES

    def acquire(self, count: int) -> list[int] | None:
        """Returns `count` blocks with undefined contents; None if fewer are available."""
        found: list[int] = []
        while len(found) < count:
            try:
                found.append(self._free.pop())
                continue
            except IndexError:
                pass
            with self._allocating:
                if not self._free and not self._allocate():
                    self.release(found)
                    return None
        return found

    def release(self, blocks: Iterable[int]) -> None:
        """Returns blocks to the pool. The caller no longer reads or writes them."""
        self._free.extend(blocks)

    def shrink(self, excess: int) -> None:
        """Frees at least `excess` bytes, as far as whole groups of blocks are free."""
        with self._allocating:
            found: set[int] = set()
            with suppress(IndexError):  # another thread may acquire some meanwhile
                while True:
                    found.add(self._free.pop())
            for first in list(self._holders):
                group = range(first, first + GROUP_BYTES, BLOCK_BYTES)
                if excess > 0 and found.issuperset(group):
                    found.difference_update(group)
                    del self._holders[first]
                    self._groups_left += 1
                    excess -= GROUP_BYTES
            self.release(found)

    def _allocate(self) -> bool:
        if not self._groups_left:
            return False
        try:
            first, holder = self._allocate_bytes(GROUP_BYTES)
        except MemoryError:
            self._groups_left = 0
            return False
        self._groups_left -= 1
        self._holders[first] = holder
        self.release(range(first, first + GROUP_BYTES, BLOCK_BYTES))
        return True

"""Blocks of memory that take long to be had: they are had when they are first wanted, and kept for whoever wants more.

Memory of the host whose pages are locked is such: a GPU reads and writes it at the full speed of the bus, but to lock
pages takes longer than to copy what they hold.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

BLOCK_BYTES = 1 << 19
GROUP_BYTES = 128 * BLOCK_BYTES
"""So many are had at once."""


class Blocks:
    """Addresses of blocks; any thread may call, whatever it does. `limit` bounds the bytes of all of them.

    `made` gives so many bytes: their address, and what holds them as long as it is held. It raises MemoryError where
    there are none; then it is asked no more.
    """

    def __init__(self, limit: int, made: Callable[[int], tuple[int, Any]]) -> None:
        self._made = made
        self._left = limit // GROUP_BYTES
        self._making = threading.Lock()
        self._holders: dict[int, Any] = {}
        # Its operations are whole: who lets go of blocks need not wait, and may be in the middle of taking some.
        self._free: deque[int] = deque()

    @property
    def room(self) -> int:
        """The bytes that are free, or may be had."""
        return len(self._free) * BLOCK_BYTES + self._left * GROUP_BYTES

    def take(self, count: int) -> list[int] | None:
        """So many blocks, whose contents are any; None where there are fewer."""
        found: list[int] = []
        while len(found) < count:
            try:
                found.append(self._free.pop())
                continue
            except IndexError:
                pass
            with self._making:
                if not self._free and not self._make():
                    self.give(found)
                    return None
        return found

    def give(self, blocks: Iterable[int]) -> None:
        """Nobody reads or writes these any more."""
        self._free.extend(blocks)

    def shrink(self, excess: int) -> None:
        """Lets go of so many bytes, if blocks that were had together are free."""
        with self._making:
            found: set[int] = set()
            with suppress(IndexError):  # another thread may take some meanwhile
                while True:
                    found.add(self._free.pop())
            for first in list(self._holders):
                group = range(first, first + GROUP_BYTES, BLOCK_BYTES)
                if excess > 0 and found.issuperset(group):
                    found.difference_update(group)
                    del self._holders[first]
                    self._left += 1
                    excess -= GROUP_BYTES
            self.give(found)

    def _make(self) -> bool:
        if not self._left:
            return False
        try:
            first, holder = self._made(GROUP_BYTES)
        except MemoryError:
            self._left = 0
            return False
        self._left -= 1
        self._holders[first] = holder
        self.give(range(first, first + GROUP_BYTES, BLOCK_BYTES))
        return True

"""What is made of texts, kept for the next time that the same ones come: of many from their second time on alone, since
to make it takes longer than to do without."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

FEW_BYTES = 1 << 16
"""Texts of more bytes are many."""
MOST_BYTES = 1 << 21
"""Texts of more are not kept."""
ROOM = 1 << 25
"""Bytes of texts that are kept."""
_SEEN = 1024
"""How many that came once are known again."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class TextsKept(Generic[K, V]):
    """What `make` makes of texts, by what tells them apart; those of more than `few` bytes are many. Used from any
    thread."""

    def __init__(self, make: Callable[[K], V], few: int = FEW_BYTES, room: int = ROOM) -> None:
        self._make, self._few, self._room = make, few, room
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._seen: OrderedDict[int, None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def of(self, key: K, size: int) -> V | None:
        """What is made of texts of so many bytes; None where they are many that have not come before."""
        if size > MOST_BYTES:
            return None
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found[0]
            if size > self._few and not self._again(hash(key)):
                return None
        made = self._make(key)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made, size
                self._bytes += size
            while self._bytes > self._room:
                self._bytes -= self._kept.popitem(last=False)[1][1]
            return made

    def _again(self, number: int) -> bool:
        """Whether a number has been seen before; it has now."""
        known = number in self._seen
        self._seen[number] = None
        self._seen.move_to_end(number)
        while len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        return known

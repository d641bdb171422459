"""Caches values derived from texts. For long texts they are cached only from their second occurrence on: deriving
them costs more than it saves once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import itemgetter
from typing import Generic, TypeVar

from gpudb.lru import LruCache

SHORT_BYTES = 1 << 16
"""Bytes above which texts are long."""
MAX_BYTES = 1 << 21
"""Bytes above which texts are not cached."""
CACHE_BYTES = 1 << 25
"""Bytes of cached texts."""
_SEEN = 1024
"""The number of single occurrences that are remembered."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class StringCache(Generic[K, V]):
    """Values that `make` derives from texts, by a key of the texts; texts above `few` bytes are long. Thread-safe."""

    def __init__(self, make: Callable[[K], V], few: int = SHORT_BYTES, room: int = CACHE_BYTES) -> None:
        self._make, self._short_bytes = make, few
        self._cache: LruCache[K, tuple[V, int]] = LruCache(1 << 20, weigh=itemgetter(1), limit=room)
        self._seen: LruCache[int, bool] = LruCache(_SEEN)

    def get(self, key: K, size: int) -> V | None:
        """Returns the value derived from texts of `size` bytes; None for long texts that occur for the first time."""
        if size > MAX_BYTES:
            return None
        found = self._cache.get(key)
        if found is not None:
            return found[0]
        if size > self._short_bytes and not self._has_occurred(hash(key)):
            return None
        made = self._make(key)
        self._cache.put(key, (made, size))
        return made

    def _has_occurred(self, number: int) -> bool:
        """Returns whether a number has occurred before, and records it."""
        known = number in self._seen
        self._seen.put(number, True)
        return known

"""Least-recently-used caches, bounded by entries and by weight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")


class LruCache(Generic[K, V]):
    """A cache that evicts the least recently used entries. Thread-safe.

    It holds `capacity` entries at most. With `weigh` and `limit` the weights of its values add up to at most `limit`,
    but for the last entry, which stays whatever it weighs. `on_evict` is called for each evicted entry, under the
    cache's lock: it must not call the cache.
    """

    def __init__(
        self,
        capacity: int,
        *,
        weigh: Callable[[V], int] | None = None,
        limit: int = 0,
        on_evict: Callable[[K, V], None] | None = None,
    ) -> None:
        self._capacity, self._limit = capacity, limit
        self._weigh, self._on_evict = weigh, on_evict
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        self._weight = 0

    @property
    def weight(self) -> int:
        """The weights of all values together; 0 without `weigh`."""
        return self._weight

    def get(self, key: K) -> V | None:
        """The value of a key, which becomes the most recently used; None if there is none."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Caches a value as the most recently used, replacing the old one, and evicts what exceeds the bounds."""
        with self._lock:
            self._remove(key)
            self._entries[key] = value
            if self._weigh is not None:
                self._weight += self._weigh(value)
            while self._is_over():
                oldest = next(iter(self._entries))
                evicted = self._entries[oldest]
                self._remove(oldest)
                if self._on_evict is not None:
                    self._on_evict(oldest, evicted)

    def pop(self, key: K) -> V | None:
        """Removes a key; returns its value, None if there was none."""
        with self._lock:
            return self._remove(key)

    def items(self) -> list[tuple[K, V]]:
        """All entries, the least recently used first."""
        with self._lock:
            return list(self._entries.items())

    def values(self) -> list[V]:
        """All values, the least recently used first."""
        with self._lock:
            return list(self._entries.values())

    def clear(self) -> None:
        """Removes all entries."""
        with self._lock:
            self._entries.clear()
            self._weight = 0

    def __contains__(self, key: object) -> bool:
        """Whether a key is cached; this does not count as a use."""
        return key in self._entries

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._entries)

    def _remove(self, key: K) -> V | None:
        value = self._entries.pop(key, None)
        if value is not None and self._weigh is not None:
            self._weight -= self._weigh(value)
        return value

    def _is_over(self) -> bool:
        entries = len(self._entries)
        return entries > self._capacity or (self._weigh is not None and self._weight > self._limit and entries > 1)


class IdentityKey(Generic[T]):
    """A key that equals only keys of the same object: for objects whose own comparison is slow or absent.

    It holds a reference to the object, so that no other object takes its identity.
    """

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.value is other.value

"""A worker's cache of table columns. The least recently used are evicted first; pinned tables stay."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from gpudb.lru import LruCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class CachedColumn(Generic[V]):
    """A column's values over some rows: its table and name, its bytes, and the number of reads from the cache."""

    value: V
    bytes: int
    table: int
    column: str
    hits: int = 0


@dataclass(frozen=True, slots=True)
class CachedColumnInfo:
    """Description of a cached column: its table's OID, its name, its form, and the number of its parts."""

    table: int
    column: str
    form: str
    parts: int
    bytes: int
    hits: int
    pinned: bool


class ColumnCache(Generic[K, V]):
    """Columns by key, in the order of their last use. Thread-safe. `pinned` are OIDs of tables."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: LruCache[K, CachedColumn[V]] = LruCache(
            sys.maxsize, weigh=attrgetter("bytes"), limit=sys.maxsize
        )
        self.pinned: set[int] = set()

    @property
    def bytes(self) -> int:
        """The bytes of all columns."""
        return self._entries.weight

    def get(self, key: K) -> V | None:
        """Returns a column and marks it as used."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            entry.hits += 1
            return entry.value

    def contains(self, key: K) -> bool:
        """Returns whether a column is cached, without marking it as used."""
        return key in self._entries

    def put(self, key: K, value: V, size: int, table: int, column: str) -> None:
        """Adds a column of `size` bytes, in place of an older one; its hits are kept."""
        with self._lock:
            before = self._entries.pop(key)
            self._entries.put(key, CachedColumn(value, size, table, column, before.hits if before is not None else 0))

    def shrink(self, most: int, least: int = 0) -> None:
        """Evicts columns until they take at most `most` bytes, or only `least` of them or pinned ones remain."""
        with self._lock:
            for key, entry in self._entries.items():
                if self.bytes <= most or len(self._entries) <= least:
                    return
                if entry.table not in self.pinned:
                    self._entries.pop(key)

    def discard_where(self, gone: Callable[[K], bool]) -> None:
        """Evicts the columns whose keys match."""
        with self._lock:
            for key, _ in self._entries.items():
                if gone(key):
                    self._entries.pop(key)

    def evict(self, table: int) -> int:
        """Evicts a table's columns, pinned or not; returns their bytes."""
        with self._lock:
            before = self.bytes
            for key, entry in self._entries.items():
                if entry.table == table:
                    self._entries.pop(key)
            self.pinned.discard(table)
            return before - self.bytes

    def describe(self, form: str) -> list[CachedColumnInfo]:
        """Returns a description of each cached column."""
        found: dict[tuple[int, str], CachedColumnInfo] = {}
        with self._lock:
            for entry in self._entries.values():
                key = entry.table, entry.column
                parts, size, hits = 1, entry.bytes, entry.hits
                if key in found:
                    other = found[key]
                    parts, size, hits = other.parts + 1, other.bytes + size, other.hits + hits
                found[key] = CachedColumnInfo(*key, form, parts, size, hits, entry.table in self.pinned)
        return list(found.values())

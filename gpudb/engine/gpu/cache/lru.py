"""A worker's cache of table columns. The least recently used are evicted first; pinned tables stay."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Entry(Generic[V]):
    """A column's values over some rows: its table and name, its bytes, and the number of reads from the cache."""

    value: V
    bytes: int
    table: int
    column: str
    hits: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """Description of a cached column: its table's OID, its name, its form, and the number of its parts."""

    table: int
    column: str
    form: str
    parts: int
    bytes: int
    hits: int
    pinned: bool


class Columns(Generic[K, V]):
    """Columns by key, in the order of their last use. Thread-safe. `pinned` are OIDs of tables."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: OrderedDict[K, Entry[V]] = OrderedDict()
        self.bytes = 0
        self.pinned: set[int] = set()

    def get(self, key: K) -> V | None:
        """Returns a column and marks it as used."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            entry.hits += 1
            self._entries.move_to_end(key)
            return entry.value

    def holds(self, key: K) -> bool:
        """Returns whether a column is cached, without marking it as used."""
        with self._lock:
            return key in self._entries

    def put(self, key: K, value: V, size: int, table: int, column: str) -> None:
        """Adds a column of `size` bytes, in place of an older one; its hits are kept."""
        with self._lock:
            before = self._entries.pop(key, None)
            self.bytes += size - (before.bytes if before is not None else 0)
            self._entries[key] = Entry(value, size, table, column, before.hits if before is not None else 0)

    def shrink(self, most: int, least: int = 0) -> None:
        """Evicts columns until they take at most `most` bytes, or only `least` of them or pinned ones remain."""
        with self._lock:
            for key in list(self._entries):
                if self.bytes <= most or len(self._entries) <= least:
                    return
                if self._entries[key].table not in self.pinned:
                    self._drop(key)

    def forget(self, gone: Callable[[K], bool]) -> None:
        """Evicts the columns whose keys match."""
        with self._lock:
            for key in [key for key in self._entries if gone(key)]:
                self._drop(key)

    def evict(self, table: int) -> int:
        """Evicts a table's columns, pinned or not; returns their bytes."""
        with self._lock:
            before = self.bytes
            for key in [key for key, entry in self._entries.items() if entry.table == table]:
                self._drop(key)
            self.pinned.discard(table)
            return before - self.bytes

    def _drop(self, key: K) -> None:
        self.bytes -= self._entries.pop(key).bytes

    def held(self, form: str) -> list[Held]:
        """Returns a description of each cached column."""
        found: dict[tuple[int, str], Held] = {}
        with self._lock:
            for entry in self._entries.values():
                key = entry.table, entry.column
                parts, size, hits = 1, entry.bytes, entry.hits
                if key in found:
                    other = found[key]
                    parts, size, hits = other.parts + 1, other.bytes + size, other.hits + hits
                found[key] = Held(*key, form, parts, size, hits, entry.table in self.pinned)
        return list(found.values())

"""What a worker keeps of tables' columns: the least recently used go first, those of pinned tables stay."""

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
    """A column's values over some rows: of which table and column, its bytes, and how often it was read again."""

    value: V
    bytes: int
    table: int
    column: str
    hits: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """What is told of a column: its table's OID, its name, in which form it lies, in how many parts."""

    table: int
    column: str
    form: str
    parts: int
    bytes: int
    hits: int
    pinned: bool


class Columns(Generic[K, V]):
    """Columns by key, in the order of their last use; any thread may call. `pinned` are OIDs of tables."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: OrderedDict[K, Entry[V]] = OrderedDict()
        self.bytes = 0
        self.pinned: set[int] = set()

    def get(self, key: K) -> V | None:
        """A column, which counts as used."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            entry.hits += 1
            self._entries.move_to_end(key)
            return entry.value

    def holds(self, key: K) -> bool:
        """Whether a column is there; looking does not count as using it."""
        with self._lock:
            return key in self._entries

    def put(self, key: K, value: V, size: int, table: int, column: str) -> None:
        """Keeps a column of so many bytes, in the place of what was there; its hits go on."""
        with self._lock:
            before = self._entries.pop(key, None)
            self.bytes += size - (before.bytes if before is not None else 0)
            self._entries[key] = Entry(value, size, table, column, before.hits if before is not None else 0)

    def shrink(self, most: int, least: int = 0) -> None:
        """Lets go of columns until they take at most so many bytes, or `least` of them are left, or the pinned ones."""
        with self._lock:
            for key in list(self._entries):
                if self.bytes <= most or len(self._entries) <= least:
                    return
                if self._entries[key].table not in self.pinned:
                    self._drop(key)

    def forget(self, gone: Callable[[K], bool]) -> None:
        """Lets go of columns by their keys."""
        with self._lock:
            for key in [key for key in self._entries if gone(key)]:
                self._drop(key)

    def evict(self, table: int) -> int:
        """Lets go of a table's columns, pinned or not; how many bytes they took."""
        with self._lock:
            before = self.bytes
            for key in [key for key, entry in self._entries.items() if entry.table == table]:
                self._drop(key)
            self.pinned.discard(table)
            return before - self.bytes

    def _drop(self, key: K) -> None:
        self.bytes -= self._entries.pop(key).bytes

    def held(self, form: str) -> list[Held]:
        """What there is of each column."""
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

"""The indexes of vectors that a worker has built over its share of tables, and where their rows are in later snapshots.

An index has the rows that a column had when a statement first searched it. Rows that came since are read beside those
that it finds, until they are so many that it is built again; rows that have been deleted since are left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpudb.catalog.tables import Column, DataFile, Table
from gpudb.engine.gpu.backend.stopping import check_stop
from gpudb.engine.gpu.backend.vector_indexes import Places, VectorIndex
from gpudb.engine.gpu.cache.column_cache import ColumnCache
from gpudb.engine.gpu.cache.partition import Partition
from gpudb.lru import LruCache
from gpudb.vector_indexes.definition import IndexDefinition
from gpudb.vector_indexes.file_indexes import MIN_ROWS

_MAX_NEW_SHARE = 8
"""An index is built anew once this part of the rows is not in it."""
_MAX_LOCATED = 8
_POLL_SECONDS = 0.05
_Rows = tuple[int, int]
_Key = tuple[int, int, IndexDefinition, Partition]


@dataclass(frozen=True, slots=True)
class FileShare:
    """The live rows of a file that a scan reads: from the first to before the last."""

    file: DataFile
    rows: _Rows

    @property
    def length(self) -> int:
        """The number of rows."""
        return self.rows[1] - self.rows[0]


@dataclass(frozen=True, slots=True)
class HeldIndex:
    """An index over shares of files, in the order of its rows; None if it cannot be built."""

    shares: Sequence[FileShare]
    index: VectorIndex | None


@dataclass(frozen=True, slots=True)
class Located:
    """Where the rows of an index are among those of a scan: their places there, or -1; and the places of the others."""

    places: npt.NDArray[np.int64]
    others: npt.NDArray[np.int64]


def locate(held: Sequence[FileShare], scanned: Sequence[FileShare]) -> Located:
    """Finds the rows of shares of files among those that a scan of a later snapshot, or of fewer files, reads."""
    places = np.full(sum(each.length for each in held), -1, np.int64)
    starts: dict[str, tuple[int, FileShare]] = {}
    start = 0
    for share in held:
        starts[share.file.path] = start, share
        start += share.length
    others: list[npt.NDArray[np.int64]] = []
    at = 0
    for share in scanned:
        known = starts.get(share.file.path)
        numbers = _stored_numbers(share)
        if known is None:
            others.append(at + np.arange(share.length))
        else:
            begin, old = known
            stored = _stored_numbers(old)
            where = np.searchsorted(stored, numbers)
            found = where < len(stored)
            found[found] = stored[where[found]] == numbers[found]
            places[begin + where[found]] = at + np.flatnonzero(found)
            others.append(at + np.flatnonzero(~found))
        at += share.length
    return Located(places, np.concatenate(others) if others else np.zeros(0, np.int64))


def _stored_numbers(share: FileShare) -> npt.NDArray[np.int64]:
    """Returns the numbers in its file of a share's rows, ascending."""
    live = np.arange(*share.rows, dtype=np.int64)
    if share.file.deleted is None:
        return live
    rows = share.file.deleted.rows
    return live + np.searchsorted(rows - np.arange(len(rows)), live, "right")


class WorkerIndexes:
    """The indexes of one worker, the least recently used evicted first; `budget` bounds their bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._guard = threading.Lock()
        self._locks: dict[_Key, threading.Lock] = {}
        self.indexes: ColumnCache[_Key, HeldIndex] = ColumnCache()
        self._last: LruCache[_Key, tuple[HeldIndex, tuple[FileShare, ...], Located]] = LruCache(_MAX_LOCATED)

    def find(
        self,
        table: Table,
        column: Column,
        definition: IndexDefinition,
        partition: Partition,
        scanned: Sequence[FileShare],
        build: Callable[[], VectorIndex | None],
    ) -> tuple[VectorIndex, Located] | None:
        """Returns the index of a column, and where its rows are in a scan; None if there is none.

        `build` builds one of the scan's rows, which the worker calls if it has none or an old one.
        """
        rows = sum(each.length for each in scanned)
        if rows < MIN_ROWS:
            return None
        key = table.oid, column.field_id, definition, partition
        with self._hold(key):
            held = self.indexes.get(key)
            located = None if held is None else self._locate(key, held, scanned)
            if held is None or located is None or len(located.others) * _MAX_NEW_SHARE > rows:
                held = HeldIndex(tuple(scanned), build())
                size = 0 if held.index is None else held.index.size
                self.indexes.put(key, held, size, table.oid, column.name)
                self.indexes.shrink(self._budget, least=1)
                located = self._locate(key, held, scanned)
        return None if held.index is None else (held.index, located)

    @contextmanager
    def _hold(self, key: _Key) -> Iterator[None]:
        """Waits for an index's lock, which its build has for as long as it takes; raises StatementEnded meanwhile.

        Statements that search other indexes do not wait for it.
        """
        with self._guard:
            lock = self._locks.setdefault(key, threading.Lock())
        while not lock.acquire(timeout=_POLL_SECONDS):
            check_stop()
        try:
            yield
        finally:
            lock.release()

    def _locate(self, key: _Key, held: HeldIndex, scanned: Sequence[FileShare]) -> Located:
        last = self._last.get(key)
        if last is None or last[0] is not held or last[1] != tuple(scanned):
            last = held, tuple(scanned), locate(held.shares, scanned)
            self._last.put(key, last)
        return last[2]

    def evict(self, table: int) -> int:
        """Evicts a table's indexes; returns their bytes."""
        with self._guard:
            for key in [each for each, lock in self._locks.items() if each[0] == table and not lock.locked()]:
                del self._locks[key]
        return self.indexes.evict(table)


def take(places: Places, located: Located) -> Places:
    """Returns the places in the scan of an index's rows, ascending, without those that it lacks."""
    found = located.places[places]
    return np.sort(found[found >= 0])

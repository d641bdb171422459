"""Cache of tables in DuckDB's memory, under a budget, with least recently used eviction.

A *segment* is a DuckDB table made of some of a table's immutable files. A snapshot is read from the segments whose
files all belong to it; files in no segment are loaded as a further one if the table is hot and the budget allows, else
read from Parquet. A segment is dropped when nothing reads it any more: at the latest at a loading after its files
were removed.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import duckdb

from gpudb.catalog.tables import DataFile, Table
from gpudb.duckdb.errors import is_fatal, translate_error
from gpudb.engine.protocol import Cancel
from gpudb.storage.iceberg.pruning import ColumnRange, prune_files
from gpudb.storage.iceberg.scan import scan_sql

SMALL_TABLE_BYTES = 32 << 20
"""Compressed bytes up to which a table is loaded at its first use; a larger one at its second."""
EXPANSION_FACTOR = 3
"""Estimated bytes in memory of a compressed byte of Parquet."""
COLUMN_BYTES = 32 << 10
"""Least bytes in memory of a column of a segment, however few its rows are."""
MAX_SEGMENTS = 6
CHECK_SECONDS = 5.0
"""Least time between two searches for segments whose files are removed."""
_POLL_SECONDS = 0.05


@dataclass(slots=True, eq=False)
class Segment:
    """A loaded part of a table, in use by `readers` statements."""

    name: str
    oid: int
    columns: tuple[object, ...]
    files: frozenset[str]
    bytes: int
    table: str = ""
    readers: int = 0
    dropped: bool = False
    used: int = field(default=0)


class LoadedTables:
    """The segments in memory. Thread-safe; loading happens outside the lock, once per set of files.

    `loads` counts the segments that were loaded, `read_bytes` the compressed bytes of their files.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, budget: int) -> None:
        self._database = database
        self._budget = budget
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._loading: dict[int, threading.Lock] = {}
        self._uses: dict[int, int] = {}
        self._next_check = 0.0
        self._clock = 0
        self._names = 0
        self.loads = self.read_bytes = 0

    @contextmanager
    def open_reader(self, cancel: Cancel | None = None) -> Iterator[TableReader]:
        """Opens a statement's view: the segments that it reads stay loaded in the block. `cancel` stops loading."""
        reader = TableReader(self, cancel or Cancel())
        try:
            yield reader
        finally:
            reader.close()

    def acquire(self, table: Table, cancel: Cancel) -> tuple[list[Segment], list[str]]:
        """Acquires the segments that hold parts of a snapshot; also returns the paths that are in none of them."""
        signature = tuple((c.name, c.type, c.field_id) for c in table.columns)
        paths = {file.path for file in table.files}
        with self._lock:
            self._uses[table.oid] = self._uses.get(table.oid, 0) + 1
            lock = self._loading.setdefault(table.oid, threading.Lock())
            found, rest = self._find_segments(table.oid, signature, paths)
            if not rest or not self._should_load(table, rest):
                return self._pin(found), sorted(rest)
        with _acquire_lock(lock, cancel):
            with self._lock:
                found, rest = self._find_segments(table.oid, signature, paths)
                if not rest or len(found) >= MAX_SEGMENTS:
                    rest = paths if rest else rest
                missing = {file.path: file for file in table.files if file.path in rest}
                if not rest:
                    return self._pin(found), []
                self._names += 1
                name = f"segment_{self._names}"
                size = sum(file.bytes for file in missing.values()) * EXPANSION_FACTOR
                size = max(size, len(table.columns) * COLUMN_BYTES)
                self._drop_outdated()
                self._make_room(size)
            if not self._load(name, table, list(missing.values()), cancel):
                with self._lock:
                    found, rest = self._find_segments(table.oid, signature, paths)
                    return self._pin(found), sorted(rest)
            with self._lock:
                result = Segment(name, table.oid, signature, frozenset(rest), size, table.name)
                if result.files == frozenset(paths):
                    for old in [s for s in self._segments if s.oid == table.oid]:
                        self._drop(old)
                self._segments.append(result)
                self.loads += 1
                self.read_bytes += sum(file.bytes for file in missing.values())
                found, rest = self._find_segments(table.oid, signature, paths)
                return self._pin(found), sorted(rest)

    def measure(self) -> tuple[int, int]:
        """Returns the estimated bytes of the loaded segments, and their limit."""
        with self._lock:
            return sum(segment.bytes for segment in self._segments), self._budget

    def _drop_outdated(self) -> None:
        """Drops the segments of files that are removed: no snapshot reads them, and their tables may be gone."""
        now = time.monotonic()
        if now < self._next_check:
            return
        self._next_check = now + CHECK_SECONDS
        for segment in list(self._segments):
            if not all(map(os.path.exists, segment.files)):
                self._drop(segment)
        loaded = {segment.oid for segment in self._segments}
        self._uses = {oid: uses for oid, uses in self._uses.items() if oid in loaded or uses == 1}
        self._loading = {oid: lock for oid, lock in self._loading.items() if oid in loaded or lock.locked()}

    def _find_segments(
        self, oid: int, signature: tuple[object, ...], paths: set[str]
    ) -> tuple[list[Segment], set[str]]:
        found: list[Segment] = []
        rest = set(paths)
        for segment in sorted(self._segments, key=lambda s: -len(s.files)):
            if segment.oid == oid and segment.columns == signature and segment.files <= rest:
                found.append(segment)
                rest -= segment.files
        return found, rest

    def _should_load(self, table: Table, rest: set[str]) -> bool:
        size = sum(file.bytes for file in table.files)
        if size * EXPANSION_FACTOR > self._budget:
            return False
        return size <= SMALL_TABLE_BYTES or self._uses[table.oid] > 1

    def _pin(self, segments: list[Segment]) -> list[Segment]:
        self._clock += 1
        for segment in segments:
            segment.readers += 1
            segment.used = self._clock
        return segments

    def release(self, segments: list[Segment]) -> None:
        """Releases segments; removes those dropped in the meantime."""
        with self._lock:
            for segment in segments:
                segment.readers -= 1
                if segment.dropped and segment.readers == 0:
                    self._remove(segment)

    def _make_room(self, size: int) -> None:
        loaded = sum(segment.bytes for segment in self._segments)
        for segment in sorted(self._segments, key=lambda s: s.used):
            if loaded + size <= self._budget:
                return
            loaded -= segment.bytes
            self._drop(segment)

    def _drop(self, segment: Segment) -> None:
        self._segments.remove(segment)
        segment.dropped = True
        if segment.readers == 0:
            self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        with self._database.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {segment.name}")

    def _load(self, name: str, table: Table, files: Sequence[DataFile], cancel: Cancel) -> bool:
        """Creates a segment's table; returns False if memory is short, and the files must be read instead."""
        with self._database.cursor() as cursor:
            interrupt = cursor.interrupt
            cancel.attach(interrupt)
            try:
                cursor.execute(f"CREATE TABLE {name} AS {scan_sql(table, files)}")
            except duckdb.OutOfMemoryException:
                return False
            except duckdb.Error as error:
                cancel.check()
                if is_fatal(error):
                    raise  # the engine replaces the instance
                raise translate_error(error) from error
            finally:
                cancel.detach(interrupt)
        return True


@contextmanager
def _acquire_lock(lock: threading.Lock, cancel: Cancel) -> Iterator[None]:
    """Acquires a lock; a cancel ends the wait."""
    while not lock.acquire(timeout=_POLL_SECONDS):
        cancel.check()
    try:
        yield
    finally:
        lock.release()


class TableReader:
    """The segments that one statement reads."""

    def __init__(self, tables: LoadedTables, cancel: Cancel) -> None:
        self._tables = tables
        self._cancel = cancel
        self._pinned: list[Segment] = []

    def relation(self, table: Table, ranges: Sequence[ColumnRange] = ()) -> str:
        """Returns the table's snapshot as a relation for FROM; files without rows in `ranges` may be pruned."""
        segments, rest = self._tables.acquire(table, self._cancel)
        self._pinned += segments
        if not table.files:
            return f"({scan_sql(table)})"
        parts = [f"SELECT * FROM {segment.name}" for segment in segments]
        if rest:
            paths = set(rest)
            parts.append(scan_sql(table, prune_files([file for file in table.files if file.path in paths], ranges)))
        if len(parts) == 1 and segments:
            return segments[0].name
        return f"({' UNION ALL '.join(parts)})"

    def names(self) -> dict[str, str]:
        """Returns the table's name for each acquired segment."""
        return {segment.name: segment.table for segment in self._pinned}

    def close(self) -> None:
        """Releases all segments."""
        pinned, self._pinned = self._pinned, []
        self._tables.release(pinned)

"""Cache of tables in DuckDB's memory, under a budget, with least recently used eviction.

A *segment* is a DuckDB table made of some of a table's immutable files. A snapshot is read from the segments whose
files all belong to it; files in no segment are loaded as a further one if the table is hot and the budget allows, else
read from Parquet. Statements wait only for few bytes: more are loaded beside them, once a statement that has read them
from Parquet has its answer. A segment is dropped when nothing reads it any more: at the latest at a loading after its
files were removed. Rows that a commit deleted from files that stay are deleted from their segment once nothing reads
it. Until then, and for a transaction's own deletions, statements leave them out by a condition on row ids. That needs a
segment with all its rows: DuckDB may renumber one with gaps.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import duckdb
import numpy as np

from gpudb.catalog.deleted_rows import Rows
from gpudb.catalog.file_tables import get_file_path
from gpudb.catalog.tables import DataFile, Table
from gpudb.duckdb.errors import is_fatal, translate_error
from gpudb.duckdb.literals import quote_identifier
from gpudb.engine.cpu.loading_threads import LoadingThreads
from gpudb.engine.figures import track_step
from gpudb.engine.protocol import Cancel
from gpudb.errors import GpudbError
from gpudb.storage.iceberg.pruning import ColumnRange
from gpudb.storage.iceberg.scan import (
    MAX_COMPARED_ROWS,
    ROW_COLUMN,
    name_scanned,
    order_files,
    render_exclusion,
    render_inclusion,
    scan_sql,
)
from gpudb.storage.partitions.pruning import prune_table

_LOG = logging.getLogger(__name__)

SMALL_TABLE_BYTES = 32 << 20
"""Compressed bytes up to which a table is loaded at its first use; a larger one at its second."""
AWAITED_BYTES = 1 << 20
"""Compressed bytes up to which a statement waits for what is loaded; more are read from the files meanwhile."""
EXPANSION_FACTOR = 3
"""Estimated bytes in memory of a compressed byte of Parquet."""
COLUMN_BYTES = 32 << 10
"""Least bytes in memory of a column of a segment, however few its rows are."""
MAX_SEGMENTS = 6
CHECK_SECONDS = 5.0
"""Least time between two searches for segments whose files are removed."""
ROW_GROUP = 122_880
"""Rows of DuckDB's row groups."""
_POLL_SECONDS = 0.05
Chosen = Mapping[str, Rows | None]
"""The rows of a table that a scan reads, by the paths of its files: live ones, ascending by number, or all (None)."""


@dataclass(slots=True, eq=False)
class Segment:
    """A loaded part of a table, in use by `readers` statements.

    `loaded` are the files in the order of their rows, as they were loaded. `gone` are the ids of rows deleted since,
    ascending, and `files` the ids of the files without them; at most `slack` rows may be deleted, once it is known.
    """

    name: str
    oid: int
    columns: tuple[object, ...]
    loaded: Sequence[DataFile]
    files: frozenset[str]
    bytes: int
    table: str = ""
    readers: int = 0
    dropped: bool = False
    used: int = field(default=0)
    slack: int | None = None
    gone: Rows = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class SegmentRows:
    """A segment without the rows `excluded`, given by their row ids; `files` are the ids of its files in a snapshot."""

    segment: Segment
    files: frozenset[str]
    excluded: Rows | None = None

    @property
    def query(self) -> str:
        """A SELECT of the rows."""
        if self.excluded is None:
            return f"SELECT * FROM {self.segment.name}"
        return _select_rows(self.segment.name, render_exclusion("rowid", self.excluded))


def _select_rows(segment: str, where: str) -> str:
    """Returns a SELECT of the rows of a segment for whose row ids a condition is true.

    Beside no other rows DuckDB 2.0 fails to fetch the columns of a top-N or sample late: it loses the row id.
    """
    return f"SELECT * FROM {segment} WHERE {where} UNION ALL SELECT * FROM {segment} WHERE false"


def _get_signature(table: Table) -> tuple[object, ...]:
    """Returns what segments of a table have in common while its columns stay."""
    return tuple((c.name, c.type, c.field_id) for c in table.columns)


def _with_ordered_rows(file: DataFile) -> DataFile:
    """Returns a file, with its deleted rows if they are many: DuckDB looks these up by a join, which loses the order.

    A segment's row ids are known by the order in which its rows were loaded.
    """
    if file.deleted is None or len(file.deleted) <= MAX_COMPARED_ROWS:
        return file
    return replace(file, rows=file.stored_rows, deleted=None)


def _find_fewer_rows(segment: Segment, table: Table) -> tuple[list[DataFile], Rows] | None:
    """Returns a segment's files in a snapshot that lacks some of their rows, and the row ids of these.

    None if the snapshot lacks none, or lacks a whole file, or has rows that the segment lacks.
    """
    known = {file.path: file for file in table.files}
    now = [known.get(file.path) for file in segment.loaded]
    files = [file for file in now if file is not None]
    if len(files) < len(now) or segment.files == {file.id for file in files}:
        return None
    excluded: list[Rows] = []
    start = 0
    for file, loaded in zip(files, segment.loaded, strict=True):
        if file.has_rows_beside(loaded):
            return None
        if file.deleted is not None:
            rows = file.deleted.rows
            if loaded.deleted is not None:
                rows = np.setdiff1d(rows, loaded.deleted.rows, assume_unique=True)
                rows = rows - np.searchsorted(loaded.deleted.rows, rows)
            excluded.append(start + rows)
        start += loaded.rows
    lacking = np.concatenate(excluded) if excluded else np.zeros(0, np.int64)
    if not np.isin(segment.gone, lacking, assume_unique=True).all():
        return None  # an older snapshot
    return files, np.setdiff1d(lacking, segment.gone, assume_unique=True)


def _has_last_row(cursor: duckdb.DuckDBPyConnection, segment: Segment) -> bool:
    """Returns whether a segment's last row has the id with which it was loaded (see `_measure_slack`)."""
    kept = sum(file.rows for file in segment.loaded)
    for row in reversed(segment.gone):
        if row != kept - 1:
            break
        kept -= 1
    return cursor.execute(f"SELECT count(*) FROM {segment.name} WHERE rowid = {kept - 1}").fetchone() == (1,)


def _measure_slack(cursor: duckdb.DuckDBPyConnection, segment: Segment) -> int:
    """Returns how many rows may be deleted from a segment while the others keep their ids.

    At checkpoints, which DuckDB writes of tables in memory too, it merges adjacent row groups if the rows that are left
    fit into fewer, up to three; that closes gaps. Merges with the last group are left out: they change the last row's
    id.
    """
    found = cursor.execute(
        f"SELECT sum(count)::BIGINT FROM pragma_storage_info('{segment.name}')"
        " WHERE column_id = 0 AND column_path = '[0]' GROUP BY row_group_id ORDER BY row_group_id"
    ).fetchall()
    sizes = [int(size) for (size,) in found]
    if sum(sizes) != sum(file.rows for file in segment.loaded):
        return 0  # a nested column
    inner = sizes[:-1]
    windows = [(width, inner[first : first + width]) for width in (2, 3, 4) for first in range(len(inner) - width + 1)]
    return min([ROW_GROUP, *(sum(window) - (width - 1) * ROW_GROUP for width, window in windows)])


def _delete_rows(cursor: duckdb.DuckDBPyConnection, segment: Segment, rows: Rows) -> bool:
    """Deletes rows from a segment by their ids; returns False, and changes nothing, if its rows have other ids."""
    listed = ",".join(map(str, rows.tolist()))
    if len(rows) > MAX_COMPARED_ROWS:
        listed = f"SELECT unnest(string_split('{listed}', ','))::BIGINT"
    cursor.execute("BEGIN")
    sound = _has_last_row(cursor, segment)
    done = cursor.execute(f"DELETE FROM {segment.name} WHERE rowid IN ({listed})").fetchone()
    sound = sound and done == (len(rows),)
    cursor.execute("COMMIT" if sound else "ROLLBACK")
    return sound


class LoadedTables:
    """The segments in memory. Thread-safe; loading happens outside the lock, once per set of files.

    `loads` counts the segments that were loaded, `read_bytes` the compressed bytes of their files.
    """

    def __init__(self, database: duckdb.DuckDBPyConnection, budget: int) -> None:
        self._database = database
        self._budget = budget
        self._lock = threading.Lock()
        self._segments: list[Segment] = []
        self._whole: dict[int, tuple[Table, list[SegmentRows]]] = {}
        """The last snapshots of tables that were found as a whole, and where; empty once a segment changes."""
        self._loading: dict[int, threading.Lock] = {}
        self._too_large: dict[int, set[str]] = {}
        """The files of a table for which memory was short, until more is free."""
        self._uses: dict[int, int] = {}
        self._committed: dict[int, Table] = {}
        """The last committed snapshots of tables with deleted rows."""
        self._next_check = 0.0
        self._clock = 0
        self._names = 0
        self._threads = LoadingThreads()
        self.loads = self.read_bytes = 0

    @contextmanager
    def open_reader(self, cancel: Cancel | None = None) -> Iterator[TableReader]:
        """Opens a statement's view: the segments that it reads stay loaded in the block. `cancel` stops loading."""
        reader = TableReader(self, cancel or Cancel())
        try:
            yield reader
        finally:
            reader.close()

    def acquire(self, table: Table, cancel: Cancel) -> tuple[list[SegmentRows], list[str]]:
        """Acquires the segments that hold parts of a snapshot; also returns the ids of files that are in none."""
        with self._lock:
            self._catch_up(table.oid)
            whole = self._whole.get(table.oid)
            if whole is not None and whole[0] is table:
                return self._pin(whole[1]), []
            signature = _get_signature(table)
            paths = {file.id for file in table.files}
            self._uses[table.oid] = self._uses.get(table.oid, 0) + 1
            lock = self._loading.setdefault(table.oid, threading.Lock())
            found, rest = self._find_segments(table, signature, paths)
            if not rest:
                self._whole[table.oid] = table, found
            if not rest or not self._should_load(table, rest):
                return self._pin(found), sorted(rest)
            if sum(file.bytes for file in table.files if file.id in rest) > AWAITED_BYTES:
                return self._pin(found), sorted(rest)
        with _acquire_lock(lock, cancel):
            return self._load_missing(table, cancel)

    def load_beside(self, table: Table) -> None:
        """Starts to load what a statement has read from files, if that is to be loaded and nothing of the table is."""
        with self._lock:
            _, rest = self._find_segments(table, _get_signature(table), {file.id for file in table.files})
            lock = self._loading.setdefault(table.oid, threading.Lock())
            if not rest or not self._should_load(table, rest) or not lock.acquire(blocking=False):
                return
        try:
            self._threads.start(partial(self._load_and_release, table, lock))
        except RuntimeError:  # Python ends
            lock.release()

    def _load_and_release(self, table: Table, lock: threading.Lock, cancel: Cancel) -> None:
        try:
            segments, _ = self._load_missing(table, cancel)
            self.release([each.segment for each in segments])
        except (GpudbError, duckdb.Error) as error:
            # Its files may be removed by now; an instance that is broken is replaced by the next statement.
            _LOG.debug("%s is not loaded: %s", table.name, error)
        finally:
            lock.release()

    def wait(self) -> None:
        """Waits until what is loaded beside statements is there."""
        self._threads.wait()

    def close(self) -> None:
        """Stops what is loaded beside statements."""
        self._threads.close()

    def _load_missing(self, table: Table, cancel: Cancel) -> tuple[list[SegmentRows], list[str]]:
        """Loads the files of a snapshot that are in no segment, as `acquire` says. One thread a table."""
        signature = _get_signature(table)
        paths = {file.id for file in table.files}
        with self._lock:
            found, rest = self._find_segments(table, signature, paths)
            if rest and len(found) >= MAX_SEGMENTS:
                # The largest stays: after many small changes it has nearly all rows.
                rest = paths - max(found, key=lambda each: each.segment.bytes).files
            missing = {file.id: file for file in table.files if file.id in rest}
            if not rest:
                return self._pin(found), []
            self._names += 1
            name = f"segment_{self._names}"
            size = sum(file.bytes for file in missing.values()) * EXPANSION_FACTOR
            size = max(size, len(table.columns) * COLUMN_BYTES)
            self._drop_outdated()
            self._make_room(size)
        files = [_with_ordered_rows(file) for file in missing.values()]
        if not self._load(name, table, files, cancel):
            with self._lock:
                found, rest = self._find_segments(table, signature, paths)
                self._too_large[table.oid] = rest
                return self._pin(found), sorted(rest)
        with self._lock:
            held = frozenset(file.id for file in files)
            result = Segment(name, table.oid, signature, order_files(table, files), held, size, table.name)
            for old in [s for s in self._segments if s.oid == table.oid]:
                if old.files <= rest or rest == paths:
                    self._drop(old)
            self._segments.append(result)
            self._whole.clear()
            self.loads += 1
            self.read_bytes += sum(file.bytes for file in missing.values())
            found, rest = self._find_segments(table, signature, paths)
            return self._pin(found), sorted(rest)

    def follow(self, table: Table) -> None:
        """Deletes from memory the rows that a committed snapshot of a table lacks, now or when nothing reads them."""
        with self._lock:
            if any(segment.oid == table.oid for segment in self._segments):
                self._committed[table.oid] = table
                self._catch_up(table.oid)

    def set_budget(self, budget: int) -> None:
        """Changes the limit of their bytes; drops the segments beyond it that were used least recently."""
        with self._lock:
            self._budget = budget
            self._too_large.clear()
            self._make_room(0)

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
            if not all(map(os.path.exists, map(get_file_path, segment.files))):
                self._drop(segment)
        loaded = {segment.oid for segment in self._segments}
        self._uses = {oid: uses for oid, uses in self._uses.items() if oid in loaded or uses == 1}
        self._committed = {oid: table for oid, table in self._committed.items() if oid in loaded}
        self._too_large = {oid: files for oid, files in self._too_large.items() if oid in self._uses}
        self._loading = {oid: lock for oid, lock in self._loading.items() if oid in loaded or lock.locked()}

    def _find_segments(
        self, table: Table, signature: tuple[object, ...], ids: set[str]
    ) -> tuple[list[SegmentRows], set[str]]:
        """Returns segments that hold a snapshot's files, or more rows of them, and the ids of the other files."""
        found: list[SegmentRows] = []
        rest = set(ids)
        known = [each for each in self._segments if each.oid == table.oid and each.columns == signature]
        for segment in sorted(known, key=lambda s: -len(s.files)):
            if segment.files <= rest:
                found.append(SegmentRows(segment, segment.files))
                rest -= segment.files
        used = {each.segment.name for each in found}
        for segment in known if rest else ():
            fewer = None if segment.name in used else _find_fewer_rows(segment, table)
            files = frozenset() if fewer is None else frozenset(file.id for file in fewer[0])
            if fewer is not None and files <= rest and not len(segment.gone):
                found.append(SegmentRows(segment, files, fewer[1]))
                rest -= files
        return found, rest

    def _catch_up(self, oid: int) -> None:
        """Deletes from a table's segments that nothing reads the rows that its committed snapshot lacks."""
        table = self._committed.get(oid)
        if table is None:
            return
        signature = _get_signature(table)
        for segment in list(self._segments):
            if segment.oid != oid or segment.columns != signature or segment.readers:
                continue
            fewer = _find_fewer_rows(segment, table)
            if fewer is None:
                continue
            files, rows = fewer
            try:
                with self._database.cursor() as cursor:
                    if segment.slack is None:
                        segment.slack = _measure_slack(cursor, segment)
                    fits = len(segment.gone) + len(rows) < segment.slack
                    if not fits and not len(segment.gone):
                        continue  # a condition leaves them out
                    done = fits and _delete_rows(cursor, segment, rows)
            except duckdb.Error as error:
                if is_fatal(error):
                    raise  # the engine replaces the instance
                done = False
            if not done:
                self._drop(segment)
                continue
            self._whole.clear()
            segment.files = frozenset(file.id for file in files)
            segment.gone = np.union1d(segment.gone, rows)

    def _should_load(self, table: Table, rest: set[str]) -> bool:
        size = sum(file.bytes for file in table.files)
        if size * EXPANSION_FACTOR > self._budget or self._too_large.get(table.oid) == rest:
            return False
        return size <= SMALL_TABLE_BYTES or self._uses.get(table.oid, 0) > 1

    def _pin(self, found: list[SegmentRows]) -> list[SegmentRows]:
        self._clock += 1
        for each in found:
            each.segment.readers += 1
            each.segment.used = self._clock
        return found

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
        self._whole.clear()
        self._too_large.clear()
        segment.dropped = True
        if segment.readers == 0:
            self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        with self._database.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {segment.name}")

    @track_step("loading")
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


_NO_ROWS: Rows = np.zeros(0, np.int64)


def _render_chosen(held: SegmentRows, chosen: Chosen) -> Iterator[str]:
    """Yields SELECTs of the chosen rows of a segment."""
    start = 0
    single: list[Rows] = []
    for file in held.segment.loaded:
        rows = chosen.get(file.path, _NO_ROWS)
        if rows is None:
            where = f"rowid BETWEEN {start} AND {start + file.rows - 1}"
            if held.excluded is not None:
                where += f" AND {render_exclusion('rowid', held.excluded)}"
            yield _select_rows(held.segment.name, where)
        else:
            before = 0 if file.deleted is None else np.searchsorted(file.deleted.rows, rows)
            single.append(start + rows - before)
        start += file.rows
    ids = np.concatenate(single) if single else _NO_ROWS
    if len(ids):
        yield _select_rows(held.segment.name, render_inclusion("rowid", ids))


class TableReader:
    """The segments that one statement reads."""

    def __init__(self, tables: LoadedTables, cancel: Cancel) -> None:
        self._tables = tables
        self._cancel = cancel
        self._pinned: list[Segment] = []
        self._unloaded: dict[int, Table] = {}

    def relation(self, table: Table, ranges: Callable[[], Sequence[ColumnRange]] = tuple) -> str:
        """Returns the table's snapshot as a relation for FROM; files without rows in `ranges` may be pruned."""
        segments, rest = self._acquire(table)
        if not table.files:
            return f"({scan_sql(table)})"
        if len(segments) == 1 and not rest and segments[0].excluded is None:
            return segments[0].segment.name
        parts = [each.query for each in segments]
        if rest:
            ids = set(rest)
            parts.append(scan_sql(table, [file for file in prune_table(table, ranges()) if file.id in ids]))
        return f"({' UNION ALL '.join(parts)})"

    def chosen_relation(self, table: Table, chosen: Chosen) -> str:
        """Returns some rows of the table's snapshot as a relation for FROM."""
        segments, rest = self._acquire(table)
        parts = [query for each in segments for query in _render_chosen(each, chosen)]
        for file in table.files:
            rows = chosen.get(file.path, _NO_ROWS)
            if file.id in rest and rows is None:
                parts.append(scan_sql(table, [file]))
            elif file.id in rest and rows is not None and len(rows):
                columns = ", ".join(name_scanned(table).values())
                inside = scan_sql(table, [file], with_row_ids=True)
                where = render_inclusion(quote_identifier(ROW_COLUMN), rows)
                parts.append(f"SELECT {columns} FROM ({inside}) WHERE {where}")
        return f"({' UNION ALL '.join(parts) or scan_sql(table, ())})"

    def _acquire(self, table: Table) -> tuple[list[SegmentRows], list[str]]:
        segments, rest = self._tables.acquire(table, self._cancel)
        self._pinned += [each.segment for each in segments]
        if rest:
            self._unloaded[table.oid] = table
        return segments, rest

    def names(self) -> dict[str, str]:
        """Returns the table's name for each acquired segment."""
        return {segment.name: segment.table for segment in self._pinned}

    @property
    def unloaded(self) -> list[Table]:
        """The tables of which files are read."""
        return [*self._unloaded.values()]

    def close(self) -> None:
        """Releases all segments. What the statement has read from files is loaded now, when it has its answer."""
        pinned, self._pinned = self._pinned, []
        self._tables.release(pinned)
        unloaded, self._unloaded = self._unloaded, {}
        for table in unloaded.values():
            self._tables.load_beside(table)

"""Compaction: merges many small files of a table into few, in a transaction that blocks nobody.

A table with more than SMALL_FILES files below SMALL_BYTES each gets those merged in the background after a commit. In a
table that is distributed by hash, each bucket's small files are merged if they are more than BUCKET_FILES. A file with
many deleted rows is written anew without them; small files lose theirs as they are merged. An UPDATE or DELETE that
began earlier and changes a merged file undoes the merge (see `merge`). No compaction starts while a transaction holds
locks of the table's rows.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa

from gpudb.catalog.deleted_rows import DeletedRows
from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.tables import DataFile, Table
from gpudb.errors import GpudbError, SerializationFailure, UndefinedTable
from gpudb.storage.garbage import Garbage
from gpudb.storage.iceberg.scan import data_errors, scan_sql
from gpudb.storage.locks import LockManager
from gpudb.storage.transaction import Transaction

_log = logging.getLogger(__name__)

SMALL_BYTES = 16 << 20
SMALL_FILES = 16
BUCKET_FILES = 4
MERGED_BYTES = 128 << 20
"""Maximum bytes of small files merged at a time."""
RETRY_SECONDS = 5.0
LOCK_SECONDS = 1.0
"""How long a compaction waits for those who have locked rows of its table."""
QUIET_SECONDS, MAX_QUIET_SECONDS = 0.3, 5.0
"""Time without new files that a compaction awaits, and the longest time that it waits for that."""
EXPIRY_SECONDS = 60.0
"""Time between two looks for snapshots that are not kept any more."""
BATCH_ROWS = 1 << 16


class CompactionHost(Protocol):
    """The store whose tables are compacted; `store.Store` implements it."""

    garbage: Garbage
    locks: LockManager

    @property
    def leads(self) -> bool:
        """Whether this store compacts, and discards old snapshots."""

    @property
    def spill(self) -> Path:
        """Folder for temporary files."""

    def begin(self, database: str = FIRST_DATABASE) -> Transaction:
        """Begins a transaction over the committed state of a database; 3D000 if there is none."""

    def expire_snapshots(self) -> int:
        """Discards snapshots that are not kept any more."""


DELETED_SHARE, DELETED_ROWS = 0.05, 4096
"""A file with more than such a share or number of deleted rows is written anew."""


REWRITTEN_SHARE, REWRITTEN_ROWS = 0.1, 1 << 16
"""A statement writes a file anew if it leaves more than such a share or number of rows deleted.

A tenth of a file's rows deleted makes its scans a tenth slower than they need be, until they are compacted. The number
bounds what plans carry to workers, and the time in which DuckDB looks the rows up.
"""
SMALL_ROWS = 1024
"""A file of at most so many rows is always written anew, which takes no longer than writing a list of deleted rows."""


def is_rewritten(file: DataFile, deleted: DeletedRows) -> bool:
    """Returns whether a statement that leaves rows of a file deleted writes the file anew, instead of their list."""
    count = len(deleted)
    if count == file.stored_rows:
        return False  # nothing of it stays
    return file.stored_rows <= SMALL_ROWS or count > min(REWRITTEN_ROWS, file.stored_rows * REWRITTEN_SHARE)


def select_files(table: Table) -> tuple[DataFile, ...]:
    """Returns the files of a table that are worth merging, or writing anew; none if they are few."""
    holed = [file for file in table.files if _has_many_deleted(file)]
    known = {file.id for file in holed}
    small = holed + _select_crowded([file for file in table.files if file.bytes < SMALL_BYTES and file.id not in known])
    chosen: list[DataFile] = []
    size = 0
    for file in small:
        if chosen and size + file.bytes > MERGED_BYTES and (len(chosen) > 1 or chosen[0].deleted is not None):
            break
        chosen.append(file)
        size += file.bytes
    return tuple(chosen)


def _has_many_deleted(file: DataFile) -> bool:
    return file.deleted is not None and len(file.deleted) > min(DELETED_ROWS, file.stored_rows * DELETED_SHARE)


def _select_crowded(small: list[DataFile]) -> list[DataFile]:
    """Keeps the files of buckets with many files: merged rows stay in their bucket."""
    count = Counter(file.bucket for file in small)
    most = {bucket: SMALL_FILES if bucket is None else BUCKET_FILES for bucket in count}
    return [file for file in small if count[file.bucket] > most[file.bucket]]


def compact(
    store: CompactionHost, oid: int, stop: threading.Event | None = None, database: str = FIRST_DATABASE
) -> int:
    """Merges a table's small files once; returns their number, 0 if not worth it or if rows stay locked."""
    with store.begin(database) as transaction:
        try:
            if not select_files(transaction.table(oid)) or not _lock(store, oid, transaction, stop):
                return 0
            transaction.advance()
            table = transaction.table(oid)
        except UndefinedTable:
            return 0
        files = select_files(table)
        if not files:
            return 0
        transaction.compacting = True
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": str(store.spill),
            "memory_limit": "1GB",
            "threads": "1",
        }
        connection = duckdb.connect(config=settings)
        try:
            transaction.replace(oid, files, _read_rows(connection, table, files, stop), check_keys=False)
            transaction.commit()
        except (SerializationFailure, _Stopped):
            return 0
        finally:
            connection.close()
    return len(files)


class _Stopped(Exception):
    """Raised when the store closes."""


def _lock(store: CompactionHost, oid: int, transaction: Transaction, stop: threading.Event | None) -> bool:
    """Waits for a while until nobody has locked rows of a table; returns whether it then has the table's lock.

    Where some transaction always has locked a row, the lock is free between two of them alone.
    """

    def check() -> None:
        if stop is not None and stop.is_set():
            raise _Stopped

    try:
        store.locks.acquire(oid, transaction.number, LOCK_SECONDS, check)
    except (GpudbError, _Stopped):
        return False
    return True


def _read_rows(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    files: tuple[DataFile, ...],
    stop: threading.Event | None,
) -> Iterator[pa.RecordBatch]:
    with data_errors():
        connection.execute("SET TimeZone = 'UTC'")
        for batch in connection.sql(scan_sql(table, files)).to_arrow_reader(BATCH_ROWS):
            if stop is not None and stop.is_set():
                raise _Stopped
            yield batch


class Compactor:
    """Background thread that compacts the tables of one store, and discards old snapshots and unread files."""

    def __init__(self, store: CompactionHost) -> None:
        """The thread starts with the first table that is passed to it."""
        self._store = store
        self._stop = threading.Event()
        self._wake = threading.Condition()
        self._waiting: dict[tuple[str, int], float] = {}
        """Tables to compact, with the latest time until which further commits to them are awaited."""
        self._quiet_at = 0.0
        self._thread: threading.Thread | None = None

    def schedule(self, database: str, table: Table) -> None:
        """Schedules a table of a database that got new files."""
        with self._wake:
            if self._stop.is_set():
                return
            if select_files(table):
                now = time.monotonic()
                self._quiet_at = now + QUIET_SECONDS
                self._waiting.setdefault((database, table.oid), now + MAX_QUIET_SECONDS)
                self._wake.notify()
        self.start()

    def start(self) -> None:
        """Starts the thread, if it does not run yet."""
        with self._wake:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._compact_waiting, name="gpudb-compaction", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Stops the thread promptly and rolls back the compaction in progress."""
        with self._wake:
            self._stop.set()
            self._wake.notify()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _compact_waiting(self) -> None:
        expired_at = time.monotonic()
        while True:
            with self._wake:
                if not self._waiting and not self._stop.is_set():
                    self._wake.wait(RETRY_SECONDS)
                if self._waiting:
                    self._await_quiet()
                if self._stop.is_set():
                    return
                waiting, self._waiting = self._waiting, {}
            self._store.garbage.collect()
            for database, oid in waiting:
                if self._store.leads:
                    self._compact(database, oid)
            if self._store.leads and time.monotonic() - expired_at >= EXPIRY_SECONDS:
                self._expire()
                expired_at = time.monotonic()

    def _await_quiet(self) -> None:
        """Waits until no files came for a while: many loads at once are merged after the last of them."""
        while not self._stop.is_set():
            left = min(self._quiet_at, *self._waiting.values()) - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(left)

    def _expire(self) -> None:
        try:
            self._store.expire_snapshots()
        except (GpudbError, OSError) as error:
            _log.warning("could not discard old snapshots: %s", error)

    def _compact(self, database: str, oid: int) -> None:
        # A table that cannot be compacted, such as one with a damaged file, stays as it is; its readers get the error.
        try:
            compact(self._store, oid, self._stop, database)
        except (GpudbError, OSError, duckdb.Error) as error:
            _log.warning("could not compact the table with OID %d: %s", oid, error)

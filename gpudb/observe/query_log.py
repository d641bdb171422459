"""The query log: finished statements in a SQLite file of the data directory, of which the last ones are kept.

The recorder's thread writes; no statement waits for it. A crash loses what ended in the last half second before it.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from gpudb.observe.batches import Batch
from gpudb.observe.query_texts import MAX_TEXT, identify
from gpudb.observe.redaction import redact_credentials
from gpudb.observe.statement import SUCCESSFUL, FinishedStatement
from gpudb.storage.private_files import create_file

FILE = "query_log.db"
COLUMNS = (
    *("ended_at", "role", "role_oid", "pid", "query", "query_id", "sqlstate", "engine", "fallback", "seconds", "parse"),
    *("bind", "plan_seconds", "execute", "encode", "rows", "bytes", "spilled", "plan_hash"),
)
"""The columns of the file after its `id`; times are seconds, `ended_at` since 1970 UTC."""
_LOG = logging.getLogger(__name__)
_CREATE = f"CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY AUTOINCREMENT, {', '.join(COLUMNS)})"
_INSERT = f"INSERT INTO log ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_TRIM_SHARE = 20
"""The log may exceed its limit by one such part before its oldest rows are removed."""


class QueryLog:
    """The log of a data directory. A consumer of finished statements; thread-safe.

    It keeps the last `limit` statements, 0 for none, that took `least_seconds` or failed. The file is made by the first
    of them. One that cannot be read or written is logged, and the log stays as it is.
    """

    def __init__(self, folder: Path, limit: int, least_seconds: float) -> None:
        self._path = folder / FILE
        self._limit, self._least = limit, least_seconds
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def consume(self, batch: Batch) -> None:
        """Writes the statements of a batch that are to be kept."""
        if not self._limit:
            return
        offset = time.time() - time.monotonic()
        rows: list[tuple[object, ...]] = []
        for (_, _, sqlstate, _), group in batch.items():
            failed = sqlstate != SUCCESSFUL
            if failed or group.seconds.max() >= self._least:
                kept = (each for each in map(FinishedStatement._make, group.records))
                rows += [_make_row(each, offset) for each in kept if failed or each.seconds >= self._least]
        if rows:
            rows.sort(key=lambda row: row[0])  # type: ignore[arg-type, return-value]
            try:
                with self._lock:
                    self._write(rows)
            except (sqlite3.Error, OSError) as error:
                _LOG.error('could not write to query log "%s": %s', self._path, error)

    def _write(self, rows: Sequence[tuple[object, ...]]) -> None:
        connection = self._connection or self._open()
        with connection:
            connection.executemany(_INSERT, rows)
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM log").fetchone()
            (first,) = connection.execute("SELECT coalesce(min(id), 0) FROM log").fetchone()
            if last - first >= self._limit + self._limit // _TRIM_SHARE:
                connection.execute("DELETE FROM log WHERE id <= ?", (last - self._limit,))

    def _open(self) -> sqlite3.Connection:
        create_file(self._path)
        connection = sqlite3.connect(self._path, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(_CREATE)
        self._connection = connection
        return connection

    def read(self) -> list[tuple[object, ...]]:
        """Returns the last `limit` statements, oldest first: `id`, then COLUMNS."""
        with self._lock:
            try:
                if self._connection is None and not self._path.exists():
                    return []
                connection = self._connection or self._open()
                found = connection.execute("SELECT * FROM log ORDER BY id DESC LIMIT ?", (self._limit,)).fetchall()
            except (sqlite3.Error, OSError) as error:
                _LOG.error('could not read query log "%s": %s', self._path, error)
                return []
        return found[::-1]

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


def _make_row(each: FinishedStatement, offset: float) -> tuple[object, ...]:
    failed = each.sqlstate != SUCCESSFUL
    measures = each.measures
    return (
        each.ended + offset,
        str(each.role),
        getattr(each.role, "oid", 0),
        each.process_id,
        redact_credentials(each.sql, failed=failed)[:MAX_TEXT],
        identify(each.sql).query_id,
        each.sqlstate,
        measures.get("engine"),
        measures.get("fallback"),
        each.seconds,
        measures.get("parse", 0.0),
        measures.get("bind", 0.0),
        measures.get("plan", 0.0),
        each.execute_seconds,
        each.encode_seconds,
        each.rows,
        each.bytes,
        measures.get("spilled", 0),
        measures["digest"].hex()[:16] if "digest" in measures else None,
    )

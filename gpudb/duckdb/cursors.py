"""A pool of DuckDB cursors by time zone: opening a cursor and setting its time zone costs more than a short query."""

from __future__ import annotations

import threading

import duckdb

from gpudb.duckdb.literals import quote_literal
from gpudb.values.zones import name_engine_zone

MAX_IDLE = 64
_MEASURED = "SET enable_progress_bar = true; SET enable_progress_bar_print = false"
"""DuckDB measures the progress of queries only for a bar, which is not drawn."""


class CursorPool:
    """Idle cursors by time zone. Thread-safe. A cursor with other changed state must not be returned."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._idle: list[tuple[str, duckdb.DuckDBPyConnection]] = []
        self._lock = threading.Lock()

    def acquire(self, timezone: str) -> duckdb.DuckDBPyConnection:
        """Takes a cursor out of the pool for one statement, or opens one."""
        with self._lock:
            for index, (zone, cursor) in enumerate(self._idle):
                if zone == timezone:
                    del self._idle[index]
                    return cursor
        cursor = self._database.cursor()
        cursor.execute(f"SET TimeZone = {quote_literal(name_engine_zone(timezone))}; {_MEASURED}")
        return cursor

    def release(self, timezone: str, cursor: duckdb.DuckDBPyConnection) -> None:
        """Returns a cursor to the pool after its statement has ended."""
        with self._lock:
            if len(self._idle) < MAX_IDLE:
                self._idle.append((timezone, cursor))
                return
        cursor.close()

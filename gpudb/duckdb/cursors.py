"""DuckDB cursors kept between statements, set to a time zone: making and setting one costs more than a short query."""

from __future__ import annotations

import threading

import duckdb

from gpudb.duckdb.literals import quoted

KEPT = 64


class Cursors:
    """Idle cursors by time zone. One that got more than a time zone is not to be given back. Thread-safe."""

    def __init__(self, database: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._idle: list[tuple[str, duckdb.DuckDBPyConnection]] = []
        self._lock = threading.Lock()

    def take(self, timezone: str) -> duckdb.DuckDBPyConnection:
        """A cursor of its own for one statement."""
        with self._lock:
            for index, (zone, cursor) in enumerate(self._idle):
                if zone == timezone:
                    del self._idle[index]
                    return cursor
        cursor = self._database.cursor()
        cursor.execute(f"SET TimeZone = {quoted(timezone)}")
        return cursor

    def give(self, timezone: str, cursor: duckdb.DuckDBPyConnection) -> None:
        """Takes a cursor back once its statement has ended."""
        with self._lock:
            if len(self._idle) < KEPT:
                self._idle.append((timezone, cursor))
                return
        cursor.close()

"""DuckDB cursors: a pool by time zone, since opening one costs more than a short query, and how one runs a query."""

from __future__ import annotations

import threading

import duckdb
import pyarrow as pa

from gpudb.duckdb import running
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
        self._numbers: dict[int, int] = {}
        """Those of `gpudb.duckdb.running`, by the identity of an open cursor."""
        self._lock = threading.Lock()

    def acquire(self, timezone: str) -> duckdb.DuckDBPyConnection:
        """Takes a cursor out of the pool for one statement, or opens one."""
        with self._lock:
            for index, (zone, cursor) in enumerate(self._idle):
                if zone == timezone:
                    del self._idle[index]
                    return cursor
        cursor, number = self._database.cursor(), next(running.numbers)
        zone = quote_literal(name_engine_zone(timezone))
        cursor.execute(f"SET TimeZone = {zone}; {_MEASURED}; SET VARIABLE {running.VARIABLE} = {number}")
        self._numbers[id(cursor)] = number
        return cursor

    def number(self, cursor: duckdb.DuckDBPyConnection) -> int:
        """Returns the number of `running` that a cursor has."""
        return self._numbers[id(cursor)]

    def release(self, timezone: str, cursor: duckdb.DuckDBPyConnection) -> None:
        """Returns a cursor to the pool after its statement has ended."""
        with self._lock:
            if len(self._idle) < MAX_IDLE:
                self._idle.append((timezone, cursor))
                return
        self.close(cursor)

    def close(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Closes a cursor whose state has changed."""
        del self._numbers[id(cursor)]
        cursor.close()


def open_arrow_reader(cursor: duckdb.DuckDBPyConnection, sql: str, rows: int) -> pa.RecordBatchReader:
    """Runs a query and returns a reader of its rows, in batches of about so many.

    `sql` and `to_arrow_reader` are the same, but they parse and bind the query once more, to know its columns before it
    runs: a third of a short query. What they call then has no public name.
    """
    return cursor._submit(sql, None, "stream", rows).arrow_reader()

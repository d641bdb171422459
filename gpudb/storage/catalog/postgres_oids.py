"""OIDs that no other coordinator gives: blocks of them are drawn from a sequence of the catalog's PostgreSQL."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import psycopg

from gpudb.errors import GpudbError
from gpudb.storage.catalog.postgres_connection import OID_BLOCK, RETRY_SECONDS, Connection, connect_again, describe


class PostgresOids:
    """Draws OIDs on a connection of its own; thread-safe."""

    def __init__(self, url: str, wait_seconds: float) -> None:
        self._url, self._wait_seconds = url, wait_seconds
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._oids: Iterator[int] = iter(())

    def draw(self) -> int:
        """Returns an OID that no coordinator has; waits for PostgreSQL up to a limit, then raises 08006."""
        with self._lock:
            oid = next(self._oids, None)
            ends = time.monotonic() + self._wait_seconds
            while oid is None:
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = connect_again(self._url, ends)
                    row = self._connection.execute("SELECT nextval('gpudb_oids')").fetchone()
                    assert row is not None
                    self._oids = iter(range(row[0], row[0] + OID_BLOCK))
                    oid = next(self._oids)
                except psycopg.Error as error:
                    if self._connection is not None:
                        self._connection.close()
                    if time.monotonic() >= ends:  # it answers, but refuses: a standby, or a cancelled statement
                        message = f"could not draw an OID from the catalog: {describe(error)}"
                        raise GpudbError(message, condition="connection_failure") from error
                    time.sleep(RETRY_SECONDS)
            return oid

    def close(self) -> None:
        """Closes the connection."""
        if self._connection is not None:
            self._connection.close()


def reserve_oids(connection: Connection, next_oid: int) -> None:
    """Has new OIDs begin at `next_oid` at least."""
    connection.execute(
        # The block of the last value may be in use: an OID of it does not move the sequence.
        "SELECT setval('gpudb_oids', %s, false) FROM gpudb_oids"
        " WHERE CASE WHEN is_called THEN last_value + %s ELSE last_value END < %s",
        (next_oid, OID_BLOCK, next_oid),
    )

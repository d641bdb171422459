"""The coordinators that are known: rows of the catalog's PostgreSQL, by which they find each other while they live."""

from __future__ import annotations

import contextlib
import time

import psycopg

from gpudb.storage.catalog.changes import Coordinator
from gpudb.storage.catalog.postgres_commits import CommitConnection, lost_error
from gpudb.storage.catalog.postgres_connection import LIVES
from gpudb.storage.catalog.postgres_oids import reserve_oids
from gpudb.storage.catalog.postgres_reader import read_state


class Coordinators:
    """The list of coordinators as one of them sees and changes it. One thread at a time calls it."""

    def __init__(self, commits: CommitConnection, lease: float) -> None:
        """`lease` is for how many seconds this coordinator need not be heard of."""
        self._commits, self._lease = commits, lease
        self.own = 0
        """Number of this coordinator, which no other has or had; 0 before it is registered."""
        self._address: tuple[str | None, int | None] = None, None

    def register(self, host: str, process: int, oldest: int | None = None) -> None:
        """Makes this coordinator known; files of the commit `oldest`, or the last one, and later ones stay.

        It keeps its number if it was known before.
        """
        commits = self._commits
        with commits.exclusive():
            own = self.own or commits.fetch_row("SELECT nextval('gpudb_coordinator_ids')")[0]
            reserve_oids(commits.connection, int(read_state(commits.connection)["next_oid"]))
            commits.connection.execute(
                "INSERT INTO gpudb_coordinators (id, host, pid, oldest_commit, address, port, lease)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
                (own, host, process, commits.number if oldest is None else oldest, *self._address, self._lease),
            )
            commits.end()
            self.own = own

    def unregister(self) -> None:
        """Removes this coordinator from those that are known, if PostgreSQL answers."""
        with contextlib.suppress(psycopg.Error):
            self._commits.connection.execute("DELETE FROM gpudb_coordinators WHERE id = %s", (self.own,))

    def remove_others(self) -> None:
        """Has the commits of coordinators that count as gone fail from here on; within `exclusive`."""
        self._commits.connection.execute("DELETE FROM gpudb_coordinators WHERE id <> %s", (self.own,))

    def is_alone(self) -> bool:
        """Returns whether no other coordinator lives; within `exclusive` none comes either."""
        row = self._commits.connection.execute(
            f"SELECT FROM gpudb_coordinators WHERE id <> %s AND {LIVES}", (self.own,)
        ).fetchone()
        return row is None

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this coordinator's clients connect."""
        self._address = host, port
        with self._commits.exclusive():
            self._commits.connection.execute(
                "UPDATE gpudb_coordinators SET address = %s, port = %s WHERE id = %s", (host, port, self.own)
            )
            self._commits.end()

    def list_numbers(self) -> set[int]:
        """Returns the numbers of the coordinators that live."""
        rows = self._commits.connection.execute(f"SELECT id FROM gpudb_coordinators WHERE {LIVES}")
        return {number for (number,) in rows}

    def list_addresses(self) -> list[Coordinator]:
        """Returns the coordinators that live and have announced an address, the one that has lived longest first."""
        try:
            self._commits.reconnect(time.monotonic())
            rows = self._commits.connection.execute(
                f"SELECT id, address, port FROM gpudb_coordinators WHERE port IS NOT NULL AND {LIVES}"
                " ORDER BY started, id"
            ).fetchall()
        except psycopg.Error as error:
            raise lost_error(error) from error
        return [Coordinator(*row) for row in rows]

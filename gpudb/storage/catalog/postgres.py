"""The catalog of several coordinators: the tables of the SQLite file in PostgreSQL, and a log of commits beside them.

A commit is one transaction of PostgreSQL. The row with the commit number, locked FOR UPDATE, puts the commits of all
coordinators in order; whoever has it first reads what the others have committed, from the log. NOTIFY wakes them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

import psycopg

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.relations import Sequence
from gpudb.errors import GpudbError, SerializationFailure
from gpudb.storage.catalog.changes import (
    CatalogChanges,
    Catalogs,
    CommittedChanges,
    Pointer,
    list_missing,
    make_copy,
    make_first,
)
from gpudb.storage.catalog.commit_errors import LEASE_LOST, WAIT_SECONDS, CommitUnknown, LeaseLost
from gpudb.storage.catalog.database_tables import DEFINED
from gpudb.storage.catalog.postgres_commits import READ_ONLY, CommitConnection, convert, lost_error
from gpudb.storage.catalog.postgres_connection import CHANNEL, create_tables, is_lost, transaction
from gpudb.storage.catalog.postgres_coordinators import Coordinators
from gpudb.storage.catalog.postgres_oids import PostgresOids
from gpudb.storage.catalog.postgres_reader import read_all, read_catalogs, read_changes, read_state
from gpudb.storage.catalog.postgres_rows import write_pointers, write_rows
from gpudb.storage.catalog.sequences import SequenceState

FORMAT = 1
LEASE_SECONDS = 6.0


class PostgresCatalog(CommitConnection):
    """The catalog in PostgreSQL, as one coordinator uses it. One thread at a time calls it, except `new_oid`."""

    def __init__(self, url: str, wait_seconds: float = WAIT_SECONDS, lease: float = LEASE_SECONDS) -> None:
        """Connects, and makes the tables that are missing. `lease` is the coordinator's (see `Coordinators`).

        Raises 08001 without an answer, 42501 and the like as PostgreSQL reports them, 0A000 if a later gpudb wrote it.
        """
        super().__init__(url, wait_seconds)
        self.coordinators = Coordinators(self, lease)
        self._oids = PostgresOids(url, wait_seconds)
        self.new_oid = self._oids.draw
        try:
            create_tables(self.connection)
            with self.exclusive(may_create=True):
                self._prepare()
        except psycopg.Error as error:
            self.connection.close()
            raise convert(error, "could not open the catalog in PostgreSQL") from None
        except BaseException:
            self.connection.close()
            raise

    def _prepare(self) -> None:
        """Makes the first rows, or adds those that an earlier gpudb did not know."""
        state = read_state(self.connection)
        if not state:
            rows = {"format": str(FORMAT), "identifier": str(uuid.uuid4()), "commit": "-1"}
            for row in rows.items():
                self.connection.execute("INSERT INTO gpudb_state VALUES (%s, %s)", row)
            self.commit(make_first())
        elif int(state["format"]) > FORMAT:
            message = f"the catalog has format {state['format']}, this gpudb reads format {FORMAT}"
            raise GpudbError(message, condition="feature_not_supported")
        else:
            # An earlier gpudb did not write it
            self.connection.execute(
                "INSERT INTO gpudb_state VALUES (%s, %s) ON CONFLICT DO NOTHING", (DEFINED, str(time.time_ns() // 1000))
            )
            write = list_missing(self.read()[0][FIRST_DATABASE], self.number + 1)
            if write is not None:
                self.commit(write)

    @property
    def identifier(self) -> str:
        """The identifier of the catalog, which its data directory has too."""
        return read_state(self.connection)["identifier"]

    def read_all(self, catalogs: Catalogs) -> CommittedChanges:
        """Reads all that the database has, as changes of catalogs, as of one moment."""
        if not self.is_exclusive:
            with self.snapshot():
                return read_all(self.connection, catalogs)
        return read_all(self.connection, catalogs)

    def read(self) -> tuple[Catalogs, Mapping[int, Pointer]]:
        """Reads the catalogs without their tables' files, and the pointer of each table by OID."""
        return read_catalogs(self.connection)

    def last_commit(self) -> int:
        """Returns the number of the last commit of any coordinator."""
        (value,) = self.fetch_row("SELECT value FROM gpudb_state WHERE key = 'commit'")
        return int(value)

    def last_definition(self) -> int:
        """Returns the time of the last commit that changed more than rows, in microseconds since 1970 UTC."""
        (value,) = self.fetch_row("SELECT value FROM gpudb_state WHERE key = 'defined'")
        return int(value)

    # ---- commits

    def commit(self, write: CatalogChanges) -> None:
        """Writes all changes atomically and durably, within `exclusive`, which it ends.

        Raises 40001 if a pointer differs from its old value, or if the others have taken this coordinator for gone;
        08007 if the connection is lost and PostgreSQL does not come back to tell whether it has committed.
        """
        assert self._commit is not None
        assert write.commit == self._commit + 1
        with self.connection.pipeline():
            write_rows(self.connection, write, self.coordinators.own)
            gone = write_pointers(self.connection, write)
            self.connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(write.commit)))
            alive = self.connection.execute(
                "UPDATE gpudb_coordinators SET heartbeat = now() WHERE id = %s", (self.coordinators.own,)
            )
        if any(each.rowcount != 1 for each in gone):
            raise SerializationFailure("a table was changed by another program")
        if self.coordinators.own and alive.rowcount != 1:
            raise LeaseLost(LEASE_LOST, hint="The transaction might succeed if retried.")
        try:
            self.end()
        except psycopg.Error as error:
            self._commit = None
            if not is_lost(self.connection, error):
                raise
            if not self._has_committed(write.commit):
                raise lost_error(error) from error

    def _has_committed(self, number: int) -> bool:
        """Returns whether a commit of this coordinator, whose connection was lost, has taken place."""
        ends = time.monotonic() + self.wait_seconds
        while True:
            try:
                self.reconnect(ends)
                with transaction(self.connection):
                    # Waits for the transaction of before, should it still run.
                    self.connection.execute("SELECT value FROM gpudb_state WHERE key = 'commit' FOR UPDATE")
                    found = self.connection.execute(
                        "SELECT FROM gpudb_commits WHERE commit = %s AND coordinator = %s",
                        (number, self.coordinators.own),
                    ).fetchone()
                return found is not None
            except psycopg.Error as error:
                self.connection.close()
                last: Exception = error
            except GpudbError as error:
                last = error
            if time.monotonic() >= ends:
                message = f"the catalog does not tell whether the transaction has committed: {last}"
                hint = "Look for its rows before you try it again."
                raise CommitUnknown(message, hint=hint) from last

    # ---- what others have committed

    def read_changes(self, after: int, *, waits: bool = False) -> CommittedChanges | None:
        """Reads what was committed after a commit number; None for nothing.

        Within `exclusive` nothing more can come; otherwise it is read as of one moment. Raises `ConnectionLost`
        without PostgreSQL, for which it waits only if it `waits`.
        """
        try:
            if self._commit is not None:
                return None if self._commit == after else read_changes(self.connection, after)
            self.reconnect(time.monotonic() + (self.wait_seconds if waits else 0.0))
            with transaction(self.connection, READ_ONLY):
                return read_changes(self.connection, after)
        except psycopg.Error as error:
            raise lost_error(error) from error

    def list_garbage(self) -> list[str]:
        """Returns the files that commits have discarded, by their paths below `tables`."""
        return [path for (path,) in self.connection.execute("SELECT path FROM gpudb_garbage").fetchall()]

    def adopt(
        self,
        catalogs: Catalogs,
        pointers: Mapping[int, Pointer],
        commit: int,
        states: Mapping[Sequence, SequenceState],
    ) -> None:
        """Makes catalogs of another database, of which `commit` is the last commit, those of this one, which is new.

        Raises 55000 if it has tables. Its coordinators have to be started with the data directory of those tables,
        which `recovery.opening.claim_directory` makes this catalog's.
        """
        with self.exclusive():
            known, tables = self.read()
            if tables or any(catalog.relations for catalog in known.values()):
                message = "the catalog in PostgreSQL is in use: it has tables"
                raise GpudbError(message, condition="object_not_in_prerequisite_state")
            write = make_copy(known, catalogs, pointers, max(commit, self.number + 1))
            self._commit = write.commit - 1
            for sequence, state in states.items():
                row = (sequence.file, state.value, state.called)
                self.connection.execute("INSERT INTO gpudb_sequences VALUES (%s, %s, %s)", row)
            self.commit(write)

    def read_sequences(self, catalogs: Catalogs) -> dict[Sequence, SequenceState]:
        """Returns the states of the sequences of catalogs."""
        rows = self.connection.execute("SELECT file, value, called FROM gpudb_sequences").fetchall()
        states = {file: SequenceState(value, called) for file, value, called in rows}
        found = (each for catalog in catalogs.values() for each in catalog.sequences())
        return {each: states[each.file] for each in found if each.file in states}

    def retain(self, files: set[int]) -> None:
        """Drops the states of sequences of all files except these, and the list of discarded files.

        Within `exclusive`, which it ends.
        """
        self.connection.execute("DELETE FROM gpudb_sequences WHERE file <> ALL(%s::bigint[])", (sorted(files),))
        self.connection.execute("DELETE FROM gpudb_garbage")
        self.end()

    def close(self) -> None:
        """Closes the connections."""
        self.connection.close()
        self._oids.close()

"""The catalog of several coordinators: the tables of the SQLite file in PostgreSQL, and a log of commits beside them.

A commit is one transaction of PostgreSQL. The row with the commit number, locked FOR UPDATE, puts the commits of all
coordinators in order; whoever has it first reads what the others have committed, from the log. NOTIFY wakes them.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.relations import Sequence
from gpudb.errors import GpudbError, SerializationFailure
from gpudb.storage.catalog.changes import (
    CatalogChanges,
    Catalogs,
    CommittedChanges,
    Coordinator,
    Pointer,
    list_missing,
    make_copy,
    make_first,
)
from gpudb.storage.catalog.commit_errors import LEASE_LOST, WAIT_SECONDS, CommitUnknown, ConnectionLost, LeaseLost
from gpudb.storage.catalog.postgres_connection import (
    CHANNEL,
    OID_BLOCK,
    RETRY_SECONDS,
    Connection,
    connect,
    connect_again,
    create_tables,
    describe,
    is_lost,
    roll_back,
    transaction,
)
from gpudb.storage.catalog.postgres_reader import read_all, read_catalogs, read_changes, read_state
from gpudb.storage.catalog.postgres_rows import write_pointers, write_rows
from gpudb.storage.catalog.sequences import SequenceState

FORMAT = 1
LEASE_SECONDS = 30.0
"""A coordinator of which nothing has been heard for so long counts as gone."""
_READ_ONLY = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class PostgresCatalog:
    """The catalog in PostgreSQL, as one coordinator uses it. One thread at a time calls it, except `new_oid`."""

    def __init__(self, url: str, wait_seconds: float = WAIT_SECONDS) -> None:
        """Connects, and makes the tables that are missing.

        Raises 08001 without an answer, 42501 and the like as PostgreSQL reports them, 0A000 if a later gpudb wrote it.
        """
        self.url = url
        self.wait_seconds = wait_seconds
        self._connection = connect(url)
        self.coordinator = 0
        """Number of this coordinator, which no other has or had."""
        self.is_registered = False
        self._address: tuple[str | None, int | None] = None, None
        self._commit: int | None = None
        """The number of the last commit, while the row with it is locked."""
        self._oid_lock = threading.Lock()
        self._oid_connection: Connection | None = None
        self._oids: Iterator[int] = iter(())
        try:
            create_tables(self._connection)
            with self.exclusive(may_create=True):
                self._prepare()
        except psycopg.Error as error:
            self._connection.close()
            raise _convert(error, "could not open the catalog in PostgreSQL") from None
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        """Makes the first rows, or adds those that an earlier gpudb did not know."""
        state = read_state(self._connection)
        if not state:
            rows = {"format": str(FORMAT), "identifier": str(uuid.uuid4()), "commit": "-1"}
            for row in rows.items():
                self._connection.execute("INSERT INTO gpudb_state VALUES (%s, %s)", row)
            self._commit = -1
            self.commit(make_first())
        elif int(state["format"]) > FORMAT:
            message = f"the catalog has format {state['format']}, this gpudb reads format {FORMAT}"
            raise GpudbError(message, condition="feature_not_supported")
        else:
            write = list_missing(self.read()[0][FIRST_DATABASE], self.number + 1)
            if write is not None:
                self.commit(write)

    def _fetch_row(self, statement: str, values: tuple[object, ...] = ()) -> tuple[int, ...]:
        row = self._connection.execute(statement, values).fetchone()
        assert row is not None
        return tuple(row)

    @property
    def identifier(self) -> str:
        """The identifier of the catalog, which its data directory has too."""
        return read_state(self._connection)["identifier"]

    @property
    def number(self) -> int:
        """The number of the last commit, of any coordinator; only within `exclusive`."""
        assert self._commit is not None
        return self._commit

    @contextmanager
    def exclusive(self, *, may_create: bool = False) -> Iterator[None]:
        """Keeps all coordinators from committing during the block, in which `commit` may be called once.

        Without PostgreSQL it waits for it, up to a limit, and then raises 08006. Raises `ConnectionLost` if it goes
        away in the block.
        """
        self._begin(may_create)
        try:
            yield
        except psycopg.Error as error:
            if is_lost(self._connection, error):
                raise ConnectionLost(f"the connection to the catalog was lost: {describe(error)}") from error
            raise _convert(error, "could not write the catalog") from error
        finally:
            if self._commit is not None:
                self._commit = None
                roll_back(self._connection)

    def _begin(self, may_create: bool) -> None:
        ends = time.monotonic() + self.wait_seconds
        while True:
            try:
                self._reconnect(ends)
                with self._connection.pipeline():
                    self._connection.execute("BEGIN")
                    cursor = self._connection.execute("SELECT value FROM gpudb_state WHERE key = 'commit' FOR UPDATE")
                row = cursor.fetchone()
                break
            except psycopg.Error as error:
                self._connection.close()
                if time.monotonic() >= ends:
                    message = f"could not write the catalog: {describe(error)}"
                    raise GpudbError(message, condition="connection_failure") from error
        if row is None and may_create:
            # Two coordinators that make the first rows at once wait for each other.
            self._connection.execute("LOCK TABLE gpudb_state")
            row = self._connection.execute("SELECT value FROM gpudb_state WHERE key = 'commit'").fetchone()
        self._commit = -1 if row is None else int(row[0])

    def _reconnect(self, ends: float) -> None:
        if self._connection.closed or self._connection.broken:
            self._connection.close()
            self._connection = connect_again(self.url, ends)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Keeps what is read during the block as of one moment, while others commit."""
        with transaction(self._connection, _READ_ONLY):
            yield

    @property
    def is_exclusive(self) -> bool:
        """Whether `exclusive` keeps the others from committing."""
        return self._commit is not None

    def read_all(self, catalogs: Catalogs) -> CommittedChanges:
        """Reads all that the database has, as changes of catalogs, as of one moment."""
        if not self.is_exclusive:
            with self.snapshot():
                return read_all(self._connection, catalogs)
        return read_all(self._connection, catalogs)

    def read(self) -> tuple[Catalogs, Mapping[int, Pointer]]:
        """Reads the catalogs without their tables' files, and the pointer of each table by OID."""
        return read_catalogs(self._connection)

    def last_commit(self) -> int:
        """Returns the number of the last commit of any coordinator."""
        (value,) = self._fetch_row("SELECT value FROM gpudb_state WHERE key = 'commit'")
        return int(value)

    # ---- commits

    def commit(self, write: CatalogChanges) -> None:
        """Writes all changes atomically and durably, within `exclusive`, which it ends.

        Raises 40001 if a pointer differs from its old value, or if the others have taken this coordinator for gone;
        08007 if the connection is lost and PostgreSQL does not come back to tell whether it has committed.
        """
        assert self._commit is not None
        assert write.commit == self._commit + 1
        with self._connection.pipeline():
            write_rows(self._connection, write, self.coordinator)
            gone = write_pointers(self._connection, write)
            self._connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, str(write.commit)))
            alive = self._connection.execute(
                "UPDATE gpudb_coordinators SET heartbeat = now() WHERE id = %s", (self.coordinator,)
            )
        if any(each.rowcount != 1 for each in gone):
            raise SerializationFailure("a table was changed by another program")
        if self.is_registered and alive.rowcount != 1:
            raise LeaseLost(LEASE_LOST, hint="The transaction might succeed if retried.")
        try:
            self._connection.execute("COMMIT")
        except psycopg.Error as error:
            self._commit = None
            if not is_lost(self._connection, error):
                raise
            if not self._has_committed(write.commit):
                raise ConnectionLost(f"the connection to the catalog was lost: {describe(error)}") from error
        self._commit = None

    def _has_committed(self, number: int) -> bool:
        """Returns whether a commit of this coordinator, whose connection was lost, has taken place."""
        ends = time.monotonic() + self.wait_seconds
        while True:
            try:
                self._reconnect(ends)
                with transaction(self._connection):
                    # Waits for the transaction of before, should it still run.
                    self._connection.execute("SELECT value FROM gpudb_state WHERE key = 'commit' FOR UPDATE")
                    found = self._connection.execute(
                        "SELECT FROM gpudb_commits WHERE commit = %s AND coordinator = %s", (number, self.coordinator)
                    ).fetchone()
                return found is not None
            except psycopg.Error as error:
                self._connection.close()
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
                return None if self._commit == after else read_changes(self._connection, after)
            self._reconnect(time.monotonic() + (self.wait_seconds if waits else 0.0))
            with transaction(self._connection, _READ_ONLY):
                return read_changes(self._connection, after)
        except psycopg.Error as error:
            raise ConnectionLost(f"the connection to the catalog was lost: {describe(error)}") from error

    # ---- OIDs, coordinators, files that nobody needs

    def new_oid(self) -> int:
        """Returns an OID that no coordinator has; waits for PostgreSQL up to a limit, then raises 08006."""
        with self._oid_lock:
            oid = next(self._oids, None)
            ends = time.monotonic() + self.wait_seconds
            while oid is None:
                try:
                    if self._oid_connection is None or self._oid_connection.closed:
                        self._oid_connection = connect_again(self.url, ends)
                    row = self._oid_connection.execute("SELECT nextval('gpudb_oids')").fetchone()
                    assert row is not None
                    self._oids = iter(range(row[0], row[0] + OID_BLOCK))
                    oid = next(self._oids)
                except psycopg.Error as error:
                    if self._oid_connection is not None:
                        self._oid_connection.close()
                    if time.monotonic() >= ends:  # it answers, but refuses: a standby, or a cancelled statement
                        message = f"could not draw an OID from the catalog: {describe(error)}"
                        raise GpudbError(message, condition="connection_failure") from error
                    time.sleep(RETRY_SECONDS)
            return oid

    def _reserve_oids(self, next_oid: int) -> None:
        """Has new OIDs begin at `next_oid` at least."""
        self._connection.execute(
            # The block of the last value may be in use: an OID of it does not move the sequence.
            "SELECT setval('gpudb_oids', %s, false) FROM gpudb_oids"
            " WHERE CASE WHEN is_called THEN last_value + %s ELSE last_value END < %s",
            (next_oid, OID_BLOCK, next_oid),
        )

    def register(self, host: str, process: int, oldest: int | None = None) -> None:
        """Makes this coordinator known; files of the commit `oldest`, or the last one, and later ones stay.

        It keeps its number if it was known before.
        """
        with self.exclusive():
            if not self.coordinator:
                (self.coordinator,) = self._fetch_row("SELECT nextval('gpudb_coordinator_ids')")
            self._reserve_oids(int(read_state(self._connection)["next_oid"]))
            self._connection.execute(
                "INSERT INTO gpudb_coordinators (id, host, pid, oldest_commit, address, port)"
                " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING",
                (self.coordinator, host, process, self.number if oldest is None else oldest, *self._address),
            )
            self._connection.execute("COMMIT")
            self._commit = None
            self.is_registered = True

    def unregister(self) -> None:
        """Removes this coordinator from those that are known, if PostgreSQL answers."""
        with contextlib.suppress(psycopg.Error):
            self._connection.execute("DELETE FROM gpudb_coordinators WHERE id = %s", (self.coordinator,))

    def list_garbage(self) -> list[str]:
        """Returns the files that commits have discarded, by their paths below `tables`."""
        return [path for (path,) in self._connection.execute("SELECT path FROM gpudb_garbage").fetchall()]

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
                self._connection.execute("INSERT INTO gpudb_sequences VALUES (%s, %s, %s)", row)
            self.commit(write)

    def read_sequences(self, catalogs: Catalogs) -> dict[Sequence, SequenceState]:
        """Returns the states of the sequences of catalogs."""
        rows = self._connection.execute("SELECT file, value, called FROM gpudb_sequences").fetchall()
        states = {file: SequenceState(value, called) for file, value, called in rows}
        found = (each for catalog in catalogs.values() for each in catalog.sequences())
        return {each: states[each.file] for each in found if each.file in states}

    def begin_alone(self) -> None:
        """Has the commits of coordinators that count as gone fail from here on; within `exclusive`."""
        self._connection.execute("DELETE FROM gpudb_coordinators WHERE id <> %s", (self.coordinator,))

    def retain(self, files: set[int]) -> None:
        """Drops the states of sequences of all files except these, and the list of discarded files.

        Within `exclusive`, which it ends.
        """
        self._connection.execute("DELETE FROM gpudb_sequences WHERE file <> ALL(%s::bigint[])", (sorted(files),))
        self._connection.execute("DELETE FROM gpudb_garbage")
        self._connection.execute("COMMIT")
        self._commit = None

    def is_alone(self) -> bool:
        """Returns whether no other coordinator lives; within `exclusive` none comes either."""
        row = self._connection.execute(
            "SELECT FROM gpudb_coordinators WHERE id <> %s AND heartbeat > now() - make_interval(secs => %s)",
            (self.coordinator, LEASE_SECONDS),
        ).fetchone()
        return row is None

    def announce(self, host: str, port: int) -> None:
        """Makes the address known at which this coordinator's clients connect."""
        self._address = host, port
        with self.exclusive():
            self._connection.execute(
                "UPDATE gpudb_coordinators SET address = %s, port = %s WHERE id = %s", (host, port, self.coordinator)
            )
            self._connection.execute("COMMIT")
            self._commit = None

    def list_coordinators(self) -> set[int]:
        """Returns the numbers of the coordinators that live."""
        rows = self._connection.execute(
            "SELECT id FROM gpudb_coordinators WHERE heartbeat > now() - make_interval(secs => %s)", (LEASE_SECONDS,)
        )
        return {number for (number,) in rows}

    def list_addresses(self) -> list[Coordinator]:
        """Returns the coordinators that live and have announced an address, the one that has lived longest first."""
        try:
            self._reconnect(time.monotonic())
            rows = self._connection.execute(
                "SELECT id, address, port FROM gpudb_coordinators"
                " WHERE port IS NOT NULL AND heartbeat > now() - make_interval(secs => %s) ORDER BY started, id",
                (LEASE_SECONDS,),
            ).fetchall()
        except psycopg.Error as error:
            raise ConnectionLost(f"the connection to the catalog was lost: {describe(error)}") from error
        return [Coordinator(*row) for row in rows]

    def close(self) -> None:
        """Closes the connections."""
        self._connection.close()
        if self._oid_connection is not None:
            self._oid_connection.close()


def _convert(error: psycopg.Error, what: str) -> GpudbError:
    """Returns PostgreSQL's error as one of gpudb, with its SQLSTATE."""
    converted = GpudbError(f"{what}: {describe(error)}", condition="io_error")
    if error.sqlstate is not None:
        converted.sqlstate = error.sqlstate
    return converted

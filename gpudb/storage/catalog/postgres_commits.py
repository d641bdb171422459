"""The connection on which a coordinator commits: it locks the row with the commit number, and is made again if lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from gpudb.errors import GpudbError
from gpudb.storage.catalog.commit_errors import ConnectionLost
from gpudb.storage.catalog.postgres_connection import (
    Connection,
    connect,
    connect_again,
    describe,
    is_lost,
    lock_setup,
    roll_back,
    transaction,
)

_LOCK_COMMITS = "SELECT value FROM gpudb_state WHERE key = 'commit' FOR UPDATE"
READ_ONLY = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class CommitConnection:
    """A connection on which the commits of all coordinators take turns. One thread at a time uses it."""

    def __init__(self, url: str, wait_seconds: float) -> None:
        """Connects; 08001 without an answer. Later it waits up to `wait_seconds` for PostgreSQL to come back."""
        self.url = url
        self.wait_seconds = wait_seconds
        self.connection: Connection = connect(url)
        self._name = "gpudb coordinator"
        self._commit: int | None = None
        """The number of the last commit, while the row with it is locked."""

    def fetch_row(self, statement: str, values: tuple[object, ...] = ()) -> tuple[int, ...]:
        """Runs a statement that returns a row."""
        row = self.connection.execute(statement, values).fetchone()
        assert row is not None
        return tuple(row)

    @property
    def number(self) -> int:
        """The number of the last commit, of any coordinator; only within `exclusive`."""
        assert self._commit is not None
        return self._commit

    @property
    def is_exclusive(self) -> bool:
        """Whether `exclusive` keeps the others from committing."""
        return self._commit is not None

    @contextmanager
    def exclusive(self, *, may_create: bool = False) -> Iterator[None]:
        """Keeps all coordinators from committing during the block, in which one commit may take place.

        Without PostgreSQL it waits for it, up to a limit, and then raises 08006. Raises `ConnectionLost` if it goes
        away in the block.
        """
        self._begin(may_create)
        try:
            yield
        except psycopg.Error as error:
            if is_lost(self.connection, error):
                raise lost_error(error) from error
            raise convert(error, "could not write the catalog") from error
        finally:
            if self._commit is not None:
                self._commit = None
                roll_back(self.connection)

    def _begin(self, may_create: bool) -> None:
        ends = time.monotonic() + self.wait_seconds
        while True:
            try:
                self.reconnect(ends)
                with self.connection.pipeline():
                    self.connection.execute("BEGIN")
                    cursor = self.connection.execute(_LOCK_COMMITS)
                row = cursor.fetchone()
                break
            except psycopg.Error as error:
                self.connection.close()
                if time.monotonic() >= ends:
                    message = f"could not write the catalog: {describe(error)}"
                    raise GpudbError(message, condition="connection_failure") from error
        if row is None and may_create:
            # Two coordinators that make the first rows at once wait for each other.
            lock_setup(self.connection)
            row = self.connection.execute(_LOCK_COMMITS).fetchone()
        self._commit = -1 if row is None else int(row[0])

    def end(self) -> None:
        """Makes what was written within `exclusive` durable, and ends it."""
        self.connection.execute("COMMIT")
        self._commit = None

    def reconnect(self, ends: float) -> None:
        """Connects again if the connection is lost, until the time `ends` of the monotonic clock; then 08006."""
        if self.connection.closed or self.connection.broken:
            self.connection.close()
            self.connection = connect_again(self.url, ends, self._name)

    def name_connection(self, name: str) -> None:
        """Gives the connection, and those that replace it, an application name."""
        self._name = name
        self.connection.execute("SELECT set_config('application_name', %s, false)", (name,))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Keeps what is read during the block as of one moment, while others commit."""
        with transaction(self.connection, READ_ONLY):
            yield


def lost_error(error: psycopg.Error) -> ConnectionLost:
    """Returns the error of a connection that is lost."""
    return ConnectionLost(f"the connection to the catalog was lost: {describe(error)}")


def convert(error: psycopg.Error, what: str) -> GpudbError:
    """Returns PostgreSQL's error as one of gpudb, with its SQLSTATE."""
    converted = GpudbError(f"{what}: {describe(error)}", condition="io_error")
    if error.sqlstate is not None:
        converted.sqlstate = error.sqlstate
    return converted

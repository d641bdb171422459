"""States of sequences in PostgreSQL, where all coordinators draw from them: no value twice, in one order.

Each draw is a durable change of one row, so that a crash of any process loses no value and repeats none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from gpudb.catalog.relations import Sequence
from gpudb.errors import GpudbError
from gpudb.storage.catalog.commit_errors import WAIT_SECONDS
from gpudb.storage.catalog.postgres_connection import RETRY_SECONDS, Connection, connect_again, describe, transaction
from gpudb.storage.catalog.sequences import Sequences, SequenceState, advance, make_exhausted_error

_T = TypeVar("_T")
_KEEP = (
    "INSERT INTO gpudb_sequences VALUES (%s, %s, %s)"
    " ON CONFLICT (file) DO UPDATE SET value = excluded.value, called = excluded.called"
)


class PostgresSequences(Sequences):
    """States of all sequences of a catalog in PostgreSQL; those of temporary ones stay in memory. Thread-safe.

    Without PostgreSQL a call waits for it, up to a limit, and then raises 08006.
    """

    def __init__(self, url: str, wait_seconds: float = WAIT_SECONDS, name: str = "gpudb coordinator") -> None:
        """`name` is the application name of the connection."""
        super().__init__(None)
        self._url, self._wait_seconds, self._name = url, wait_seconds, name
        self._guard = threading.Lock()
        self._open: Connection | None = None

    def get(self, sequence: Sequence) -> SequenceState:
        """Returns the state of a sequence."""
        if sequence.temporary:
            return super().get(sequence)
        return self._run(lambda connection: _read(connection, sequence))

    def draw(self, sequence: Sequence, count: int = 1, least: int | None = None) -> list[range]:
        """Draws the next `count` values in order; fewer up to the limit, but at least `least` (default: all).

        Raises 2200H if there are fewer; the values up to the limit are then spent.
        """
        if sequence.temporary:
            return super().draw(sequence, count, least)

        def draw(connection: Connection) -> tuple[list[range], int]:
            with transaction(connection):
                state = _read(connection, sequence, lock=True)
                made, lacking = advance(sequence, state, count)
                if made:
                    connection.execute(_KEEP, (sequence.file, made[-1][-1], True))
            return made, lacking

        made, lacking = self._run(draw)
        if not made or count - lacking < (count if least is None else least):
            raise make_exhausted_error(sequence)
        return made

    def set_value(self, sequence: Sequence, value: int, called: bool) -> None:
        """setval: continues from `value`, which counts as drawn if `called`."""
        if sequence.temporary:
            super().set_value(sequence, value, called)
        else:
            self._run(lambda connection: connection.execute(_KEEP, (sequence.file, value, called)))

    def retain(self, files: set[int]) -> None:
        """Drops the states of all files except these, which the catalog's sequences use."""
        self._run(
            lambda connection: connection.execute(
                "DELETE FROM gpudb_sequences WHERE file <> ALL(%s::bigint[])", (sorted(files),)
            )
        )

    def close(self) -> None:
        """Closes the connection."""
        with self._guard:
            if self._open is not None:
                self._open.close()

    def _run(self, call: Callable[[Connection], _T]) -> _T:
        """Calls with a connection, and again with a new one if that fails: a value may then be left out."""
        with self._guard:
            ends = time.monotonic() + self._wait_seconds
            while True:
                if self._open is None or self._open.closed or self._open.broken:
                    self._open = connect_again(self._url, ends, self._name)
                try:
                    return call(self._open)
                except psycopg.Error as error:
                    self._open.close()
                    if time.monotonic() >= ends:  # it answers, but refuses: a standby, or a cancelled statement
                        message = f"could not reach the sequences in the catalog: {describe(error)}"
                        raise GpudbError(message, condition="connection_failure") from error
                    time.sleep(RETRY_SECONDS)


def _read(connection: Connection, sequence: Sequence, *, lock: bool = False) -> SequenceState:
    if lock:
        # The first to draw makes the row, for which others wait.
        first = (sequence.file, sequence.first, sequence.called)
        connection.execute("INSERT INTO gpudb_sequences VALUES (%s, %s, %s) ON CONFLICT (file) DO NOTHING", first)
    statement = "SELECT value, called FROM gpudb_sequences WHERE file = %s" + (" FOR UPDATE" if lock else "")
    row = connection.execute(statement, (sequence.file,)).fetchone()
    return SequenceState(sequence.first, sequence.called) if row is None else SequenceState(row[0], row[1])

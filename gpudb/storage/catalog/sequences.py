"""States of sequences: not transactional, and never behind a drawn value, even after a crash.

Values are reserved on disk before they are drawn, `AHEAD` more than requested. After a crash a sequence continues
behind its reservation, after a clean shutdown at its state.
"""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path

from gpudb.catalog.relations import Sequence
from gpudb.errors import GpudbError, SqlError

AHEAD = 32
"""PostgreSQL's SEQ_LOG_VALS."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS gpudb_sequences"
    " (file INTEGER PRIMARY KEY, value INTEGER NOT NULL, called INTEGER NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class SequenceState:
    """`value` was drawn last, or is next if not `called`; `reserved` more are reserved on disk."""

    value: int
    called: bool
    reserved: int = 0


class Sequences:
    """States of all sequences of a store, by `Sequence.file`; thread-safe."""

    def __init__(self, path: Path | None, busy_seconds: float = 10.0) -> None:
        """Opens a separate connection to the catalog's database; None keeps states in memory alone."""
        self._lock = threading.Lock()
        self._states: dict[int, SequenceState] = {}
        self._connection: sqlite3.Connection | None = None
        if path is not None:
            self._connection = sqlite3.connect(
                path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute(_TABLE)
            rows = self._connection.execute("SELECT file, value, called FROM gpudb_sequences")
            self._states = {file: SequenceState(value, bool(called)) for file, value, called in rows}

    def get(self, sequence: Sequence) -> SequenceState:
        """Returns the state of a sequence."""
        return self._states.get(sequence.file) or SequenceState(sequence.first, sequence.called)

    def draw(self, sequence: Sequence, count: int = 1, least: int | None = None) -> list[range]:
        """Draws the next `count` values in order; fewer up to the limit, but at least `least` (default: all).

        Raises 2200H if there are fewer; the values up to the limit are then spent.
        """
        with self._lock:
            state = self.get(sequence)
            made, lacking = advance(sequence, state, count)
            if not made:
                raise make_exhausted_error(sequence)
            last = SequenceState(made[-1][-1], True, state.reserved - (count - lacking))
            if last.reserved < 0 or not state.called:
                ahead, missing = advance(sequence, last, AHEAD)
                self._write(sequence, SequenceState(ahead[-1][-1] if ahead else last.value, True))
                last = SequenceState(last.value, True, AHEAD - missing)
            self._states[sequence.file] = last
        if count - lacking < (count if least is None else least):
            raise make_exhausted_error(sequence)
        return made

    def set_value(self, sequence: Sequence, value: int, called: bool) -> None:
        """setval: continues from `value`, which counts as drawn if `called`."""
        with self._lock:
            state = SequenceState(value, called)
            self._write(sequence, state)
            self._states[sequence.file] = state

    def retain(self, files: set[int]) -> None:
        """Drops the states of all files except these, which the catalog's sequences use."""
        with self._lock:
            for file in self._states.keys() - files:
                del self._states[file]
                if self._connection is not None:
                    self._connection.execute("DELETE FROM gpudb_sequences WHERE file = ?", (file,))

    def close(self) -> None:
        """Writes the state of each sequence, so that a clean shutdown leaves no gaps."""
        with self._lock:
            if self._connection is None:
                return
            connection, self._connection = self._connection, None
            rows = connection.execute("SELECT file FROM gpudb_sequences").fetchall()
            connection.execute("BEGIN IMMEDIATE")
            for (file,) in rows:
                if (state := self._states.get(file)) is not None:
                    values = (state.value, state.called, file)
                    connection.execute("UPDATE gpudb_sequences SET value = ?, called = ? WHERE file = ?", values)
            connection.execute("COMMIT")
            connection.close()

    def _write(self, sequence: Sequence, state: SequenceState) -> None:
        if self._connection is None or sequence.temporary:
            return
        try:
            values = (sequence.file, state.value, state.called)
            self._connection.execute("INSERT OR REPLACE INTO gpudb_sequences VALUES (?, ?, ?)", values)
        except sqlite3.Error as error:
            condition = "disk_full" if "full" in str(error) else "io_error"
            message = f'could not write sequence "{sequence.name}": {error}'
            raise GpudbError(message, condition=condition) from error


def advance(sequence: Sequence, state: SequenceState, count: int) -> tuple[list[range], int]:
    """Returns up to `count` values after a state, and how many are missing."""
    step = sequence.increment
    limit, again = (sequence.maximum, sequence.minimum) if step > 0 else (sequence.minimum, sequence.maximum)
    following = state.value + step if state.called else state.value
    made: list[range] = []
    while count:
        room = (limit - following) // step + 1
        if room <= 0:
            if not sequence.cycle:
                break
            following = again
            continue
        taken = min(room, count)
        made.append(range(following, following + taken * step, step))
        following += taken * step
        count -= taken
    return made, count


def make_exhausted_error(sequence: Sequence) -> SqlError:
    which, value = ("maximum", sequence.maximum) if sequence.increment > 0 else ("minimum", sequence.minimum)
    message = f'nextval: reached {which} value of sequence "{sequence.name}" ({value})'
    return SqlError.of("sequence_generator_limit_exceeded", message)

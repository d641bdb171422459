"""Records of finished statements: of one, and of a short one that a client repeats."""

from __future__ import annotations

from typing import NamedTuple

from gpudb.engine.protocol import Measures

SUCCESSFUL = "00000"


FinishedTuple = tuple[str, str, str, int, int, float, float, float, int, int, Measures]
"""The values of a `FinishedStatement`: to make the class would be most of what a record costs."""


class FinishedStatement(NamedTuple):
    """A statement of a client that has ended.

    `role` is the current role at its end, `database` the OID of the session's database, `ended` is
    `time.monotonic()` then. `seconds` are from its message to its last row; `encode_seconds` of these are for the
    encoding and buffering of rows. `rows` were sent or changed, `bytes` are those of the sent rows.
    """

    sql: str
    role: str
    sqlstate: str
    database: int
    process_id: int
    ended: float
    seconds: float
    encode_seconds: float
    rows: int
    bytes: int
    measures: Measures

    @property
    def execute_seconds(self) -> float:
        """Seconds that remain for execution."""
        known = self.measures
        spent = known.get("parse", 0.0) + known.get("bind", 0.0) + known.get("plan", 0.0) + self.encode_seconds
        return max(self.seconds - spent, 0.0)


class RepeatedStatement:
    """A short successful statement of which nothing was measured, and which a session runs several times in a row.

    The session calls `append` with the values of a `FinishedStatement` from `ended` to `bytes`, instead of a record, as
    long as they take less than `below` seconds. Neither it nor the recorder, which takes them, waits for the other.
    """

    __slots__ = ("_runs", "append", "below", "database", "process_id", "retired_at", "role", "sql")

    def __init__(self, sql: str, role: str, database: int, process_id: int, below: float) -> None:
        self.sql, self.role, self.database, self.process_id, self.below = sql, role, database, process_id, below
        self._runs: list[Run] = []
        self.append = self._runs.append
        self.retired_at: float | None = None

    def take(self) -> list[Run]:
        """Returns what was appended since the last call."""
        taken = self._runs[:]
        del self._runs[: len(taken)]
        return taken

    def retire(self, now: float) -> None:
        """Lets the session begin another one."""
        self.below, self.retired_at = -1.0, now


Run = tuple[float, float, float, int, int]


class RepeatedRuns(NamedTuple):
    """Runs of a repeated statement."""

    sql: str
    role: str
    database: int
    process_id: int
    runs: list[Run]

    def make_last(self) -> FinishedStatement:
        """Returns the record of the last run."""
        return FinishedStatement(self.sql, self.role, SUCCESSFUL, self.database, self.process_id, *self.runs[-1], {})

"""What bodies ask their session amid a call, and what it answers: one class a question."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from gpudb.types import SqlType

Values = tuple[tuple[SqlType, object], ...]
"""Types and values of the parameters $1, $2, … of a statement."""


@dataclass(frozen=True, slots=True)
class Say:
    """Sends the client a message."""

    severity: str
    message: str
    detail: str | None = None
    hint: str | None = None
    sqlstate: str | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """Checks a statement whose parameters have the named types, and returns those types."""

    text: str
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Execute:
    """Runs a statement in a subtransaction of its own, and returns an `Answer` of at most `limit` rows (0: all)."""

    text: str
    values: Values = ()
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Open:
    """Opens a cursor over a query, and returns its name."""

    text: str
    values: Values = ()


@dataclass(frozen=True, slots=True)
class Fetch:
    """Returns an `Answer` of at most so many next rows of a cursor."""

    cursor: str
    count: int


@dataclass(frozen=True, slots=True)
class Close:
    """Closes a cursor."""

    cursor: str


@dataclass(frozen=True, slots=True)
class Subtransaction:
    """Begins a subtransaction (`what` is begin), or ends the innermost one (commit, rollback)."""

    what: str


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """Commits the transaction or rolls it back, and begins another one."""

    commit: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement did: PostgreSQL's SPI code, the number of rows, and its rows, None for no result set."""

    status: int
    count: int
    columns: tuple[tuple[str, SqlType], ...] | None = None
    rows: pa.Table | None = None


Question = Say | Prepare | Execute | Open | Fetch | Close | Subtransaction | EndTransaction

"""What PL/pgSQL needs of the session that runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from gpudb.functions.registry import Function
from gpudb.sql.bind.base import Arguments, Binder
from gpudb.sql.bound import Query
from gpudb.sql.parse.parser import RawStatement
from gpudb.types import SqlType


@dataclass(slots=True)
class Bound:
    """A statement of a body: its query, or None for one that the session's handlers run.

    `kind` is the parse tree's name for the statement; `is_layout_bound` is whether its numerics may not fit, and
    `cacheable` whether it may run again as it was bound.
    """

    query: Query | None
    statement: RawStatement
    kind: str = "SelectStmt"
    session_calls: bool | None = None
    is_layout_bound: bool = False
    cacheable: bool = True


@dataclass(slots=True)
class Outcome:
    """What a statement returned: the number of rows that it changed or returned, and its rows, if it has any."""

    count: int
    columns: tuple[tuple[str, SqlType], ...] | None = None
    batches: Iterator[pa.RecordBatch] = field(default_factory=lambda: iter(()))
    close: Callable[[], None] = lambda: None


class CursorRows(Protocol):
    """The rows of an open cursor, with a position."""

    @property
    def columns(self) -> tuple[tuple[str, SqlType], ...]:
        """The names and types of the columns."""

    position: int
    """The number of the row on which the cursor is, from 1 on."""

    def fetch(self, direction: str, count: int) -> list[pa.RecordBatch]:
        """Returns rows in a direction: forward, backward, absolute, relative."""

    def close(self) -> None:
        """Closes the cursor, if it is still open."""


class Cancel(Protocol):
    """The flag of a statement: whether it was canceled."""

    is_stopped: bool

    def check(self) -> None:
        """57014 if the statement was canceled."""


class Host(Protocol):
    """The session, as a body sees it."""

    @property
    def timezone(self) -> str:
        """The session's time zone."""

    @property
    def routine_oid(self) -> int:
        """The OID of the routine whose body runs; 0 for the block of DO."""

    def version(self) -> object:
        """Returns what bound statements depend on: equal values mean that they are still valid."""

    @property
    def cancel(self) -> Cancel:
        """The flag of the statement that runs."""

    def resolve_type(self, text: str) -> SqlType | None:
        """Returns the type of a declaration; None for record. 42704."""

    def binder(self) -> Binder:
        """Returns a binder."""

    def split(self, text: str) -> list[str]:
        """Returns the statements of a text; 42601."""

    def bind(self, text: str, arguments: Arguments, *, dynamic: bool = False) -> Bound:
        """Parses and binds one statement whose names include `arguments`; a `dynamic` one is a text of EXECUTE."""

    def prepare_query(self, query: Query) -> Bound:
        """Returns a bound query that reads no table, ready to run."""

    def run(
        self,
        bound: Bound,
        parameters: Sequence[object] = (),
        arguments: Callable[[], Arguments] | None = None,
        *,
        may_end_transaction: bool = False,
    ) -> Outcome:
        """Runs a bound statement with the values of its parameters, or with `arguments` that have the values.

        `may_end_transaction` is whether a procedure that it calls may commit, where the call of the body may.
        """

    def output_targets(self, text: str, arguments: Arguments) -> tuple[tuple[str, ...], ...]:
        """Returns the names in the places of a CALL's output parameters; 42601 for what is no name."""

    def call_routine(self, function: Function, values: Sequence[object]) -> object:
        """Calls a function that returns one value."""

    def savepoint(self) -> object:
        """Returns the state of the transaction."""

    def rollback_to(self, savepoint: object) -> None:
        """Undoes what was changed since a savepoint."""

    def end_transaction(self, *, commit: bool, chain: bool) -> None:
        """Commits or rolls back the transaction, and begins another; 2D000 where that is not allowed."""

    def notice(self, message: str, severity: str, sqlstate: str, detail: str | None, hint: str | None) -> None:
        """Sends the client a message."""

    def open_cursor(self, name: str | None, bound: Bound, parameters: Sequence[object], scroll: bool | None) -> str:
        """Opens a cursor, under a new name if there is none, and returns its name; 42P03."""

    def find_cursor(self, name: str) -> CursorRows:
        """Returns an open cursor; 34000."""

    def close_cursor(self, name: str) -> None:
        """Closes a cursor; 34000."""

    def asserts(self) -> bool:
        """Whether ASSERT is checked (plpgsql.check_asserts)."""

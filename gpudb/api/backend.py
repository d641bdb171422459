"""What a connection asks of the two that can answer it: a database in this process, or a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.types import SqlType


class Backend(Protocol):
    """One session. Not thread-safe, `cancel` aside: `Connection` takes turns.

    Every error is a `gpudb.errors.GpudbError`. Between `run` and `finish` a result is read; outside a
    transaction `finish` commits.
    """

    @property
    def status(self) -> str:
        """I (idle), T (in a transaction) or E (in one that failed)."""

    @property
    def timezone(self) -> str:
        """The session's TimeZone."""

    def describe(self, sql: str, parameters: Sequence[object]) -> tuple[ResultColumn, ...]:
        """The columns that a query would give."""

    def run(self, sql: str, parameters: Sequence[object]) -> Result:
        """Starts one statement."""

    def finish(self, *, failed: bool) -> None:
        """The result of `run` was read to its end, given up, or failed."""

    def script(self, sql: str) -> Result:
        """Runs a text of several statements as one transaction; the last one's result, whole."""

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> str:
        """Runs COPY … FROM STDIN over the chunks, cut anywhere; its tag."""

    def register(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> None:
        """Makes an Arrow table (of the types' `SqlType.arrow`) a relation of this session."""

    def append(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> int:
        """Inserts an Arrow table's rows into a table, columns by name; their number."""

    def unregister(self, name: str) -> bool:
        """Forgets a registered table; False if there is none."""

    def take_notices(self) -> list[Notice]:
        """The notices since the last call."""

    def cancel(self) -> None:
        """Ends the running statement with 57014; from any thread."""

    def close(self) -> None:
        """Rolls back what is open and frees everything; idempotent."""


def copy_refused(*, taking: bool) -> SqlError:
    """What a COPY from or to the client is told that is run as any other statement."""
    if taking:
        hint = "Use Connection.copy_from, or COPY … FROM with a file's name."
        return SqlError.of("feature_not_supported", "COPY FROM STDIN needs its data", hint=hint)
    hint = "Use Connection.sql(…).arrow(), or COPY … TO with a file's name."
    return SqlError.of("feature_not_supported", "COPY TO STDOUT has nowhere to go here", hint=hint)

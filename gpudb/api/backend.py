"""The protocol between a connection and its backend: a database in this process, or a server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import pyarrow as pa

from gpudb.engine.sharing import SharePlace
from gpudb.errors import SqlError
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.storage.load.progress import Progress
from gpudb.types import SqlType

T = TypeVar("T")


class Backend(Protocol):
    """One session. Not thread-safe, except `cancel`: `Connection` serialises calls.

    Every error is a `gpudb.errors.GpudbError`. Between `run` and `finish` a result is read; outside a
    transaction `finish` commits.
    """

    @property
    def status(self) -> str:
        """I (idle), T (in a transaction) or E (in a failed one)."""

    @property
    def timezone(self) -> str:
        """The session's TimeZone."""

    @property
    def host(self) -> str:
        """The server's name or address, as the connection has it; '' for a database in this process."""

    def describe(self, sql: str, parameters: Sequence[object]) -> tuple[ResultColumn, ...]:
        """Returns the columns of a query without running it."""

    def run(self, sql: str, parameters: Sequence[object], rows: int | None = None) -> Result:
        """Starts one statement; of a query's rows only the first `rows` may be read."""

    def share(self, sql: str, parameters: Sequence[object], read: Callable[[str], T], place: SharePlace) -> T | None:
        """Runs a query of numbers whose rows stay in memory of this host or of its GPUs.

        Returns what `read` makes of their description, a line of JSON a part; the rows are gone afterwards. None where
        there are no such workers, or `read` raises OSError. Errors of the query are raised.
        """

    def finish(self, *, failed: bool) -> None:
        """Ends the result of `run`, which was read to its end, abandoned, or failed."""

    def script(self, sql: str) -> Result:
        """Runs a text of several statements as one transaction; returns the last one's whole result."""

    def copy_in(self, sql: str, chunks: Iterable[bytes]) -> str:
        """Runs COPY … FROM STDIN over chunks, cut anywhere; returns its tag."""

    def copy_out(self, sql: str, write: Callable[[bytes], object]) -> str:
        """Runs COPY … TO STDOUT and hands its data to `write`; returns its tag."""

    def register(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> None:
        """Registers an Arrow table (of the types' `SqlType.arrow`) as a relation of this session."""

    def append(self, name: str, table: pa.Table, types: Sequence[SqlType]) -> int:
        """Inserts an Arrow table's rows into a table, columns by name; returns their number."""

    def find_missing(self, names: Sequence[str]) -> list[str]:
        """Returns those of some names that are no relation here: no table, view or registered table."""

    def unregister(self, name: str) -> bool:
        """Unregisters a table; False if there is none."""

    def take_notices(self) -> list[Notice]:
        """Returns the notices since the last call."""

    def interruptible(self) -> AbstractContextManager[object]:
        """A block in which Ctrl-C cancels the running statement before KeyboardInterrupt is raised."""

    def progress(self) -> Progress | None:
        """How far the load or query is that runs now, without rows of results; None if unknown; from any thread."""

    def cancel(self) -> None:
        """Cancels the running statement with 57014; from any thread."""

    def close(self) -> None:
        """Rolls back and releases everything; idempotent."""


def make_copy_error(*, is_copy_from: bool) -> SqlError:
    """The error for a COPY from or to the client that is run like any other statement."""
    if is_copy_from:
        hint = "Use Connection.copy_from, or COPY … FROM with a file's name."
        return SqlError.of("feature_not_supported", "COPY FROM STDIN needs its data", hint=hint)
    hint = "Use Connection.sql(…).arrow(), or COPY … TO with a file's name."
    return SqlError.of("feature_not_supported", "COPY TO STDOUT has nowhere to go here", hint=hint)

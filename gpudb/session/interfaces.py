"""The seam between a session and what stands before it: the wire server and the Python API know no more than this."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from gpudb.catalog.model import Role
from gpudb.session.results import Notice, Prepared, Result


class SessionFace(Protocol):
    """One client's session. One statement runs at a time; `cancel` alone may come from another thread.

    Transactions, as PostgreSQL's simple protocol has them: `run` treats a text of several statements as one
    implicit transaction; between Parse and Sync of the extended protocol likewise, closed by `sync`.

    status: 'I' (idle) -BEGIN→ 'T' (in a transaction) -error→ 'E' (failed: all but its end is refused, 25P02) → 'I'.
    """

    process_id: int
    on_terminate: Callable[[], None] | None
    """Set by the face: called when another session ends this one (pg_terminate_backend)."""

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""

    def run(self, sql: str) -> Iterator[Result]:
        """Simple protocol: one Result a statement, each to be read to its end before the next is taken.

        After an error the rest is not run, the implicit transaction is rolled back, an explicit one failed.
        """

    def prepare(self, sql: str, parameter_oids: Sequence[int] = ()) -> Prepared:
        """Parses and binds one statement (42601 for several); OID 0 asks for the parameter's type to be inferred."""

    def execute(self, prepared: Prepared, parameters: Sequence[object] = ()) -> Result:
        """Runs a prepared statement with parameter values as `gpudb.values.parse_text` gives them."""

    def save(self, name: str, prepared: Prepared) -> None:
        """Keeps a named prepared statement (42P05 if taken); SQL's EXECUTE and DEALLOCATE see it too."""

    def saved(self, name: str) -> Prepared:
        """The prepared statement of that name; 26000 if there is none."""

    def forget(self, name: str) -> None:
        """Drops a named prepared statement; no error if there is none."""

    def fail(self) -> None:
        """Tells the session that its face met an error in the current transaction (a bad message, say)."""

    def sync(self) -> None:
        """Ends the implicit transaction: commits it, or rolls it back after an error."""

    def milliseconds(self, name: str) -> int:
        """A time setting (`idle_in_transaction_session_timeout`) in milliseconds; 0 is none."""

    def take_notices(self) -> list[Notice]:
        """The notices since the last call."""

    def take_reports(self) -> list[tuple[str, str]]:
        """Settings that clients are told of (ParameterStatus) and that changed since the last call."""

    def reports(self) -> dict[str, str]:
        """All settings that clients are told of at start: server_version, TimeZone, DateStyle, …"""

    def cancel(self) -> None:
        """Ends the running statement with 57014; safe from any thread, no effect on an idle session."""

    def close(self) -> None:
        """Rolls back what is open and frees everything."""


class DatabaseFace(Protocol):
    """The database that sessions belong to."""

    def session(self, user: str, settings: Mapping[str, str] | None = None, client: str = "") -> SessionFace:
        """A new session; `settings` are start-up parameters (application_name, options, TimeZone …).

        42704 / 22023 for settings that do not exist or have bad values; 53300 beyond max_connections.
        """

    def role(self, name: str) -> Role | None:
        """A role by name, for authentication."""

    def roles(self) -> Mapping[str, Role]:
        """All roles by name."""

    def cancel(self, process_id: int) -> bool:
        """Cancels what a session runs; False if there is no such session."""

    def close(self) -> None:
        """Ends all sessions and closes the storage; idempotent."""

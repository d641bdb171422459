"""Protocols of a session and a database as their clients use them: the wire server and the Python API."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpudb.catalog.model import FIRST_DATABASE
from gpudb.catalog.roles import Role
from gpudb.engine.protocol import Measures
from gpudb.session.identity import Identity
from gpudb.session.mailbox import Mailbox
from gpudb.session.results import Notice, Prepared, Result
from gpudb.session.running import RunningStatement
from gpudb.session.state.prepared_statements import PreparedStatements


@dataclass(frozen=True, slots=True)
class Network:
    """A session's connection: ports and the server's address, None within a process; TLS, None where it is plain."""

    client_port: int | None = None
    server_address: str | None = None
    server_port: int | None = None
    tls_version: str | None = None
    tls_cipher: str | None = None
    tls_bits: int | None = None


class SessionInterface(Protocol):
    """A client's session. One statement runs at a time; only `cancel` may be called from another thread.

    Transactions are those of PostgreSQL's protocol: `run` executes a text of several statements in one implicit
    transaction. In the extended protocol an implicit transaction lasts until `sync`.

    status: 'I' (idle) -BEGIN→ 'T' (in a transaction) -error→ 'E' (failed: 25P02 for all but its end) → 'I'.
    """

    process_id: int
    system_user: str | None
    """How the client authenticated and as whom, `scram-sha-256:alice`; None if it did not have to."""
    on_terminate: Callable[[], None] | None
    """Set by the client's side: called when another session ends this one (pg_terminate_backend)."""
    network: Network
    """Set by the client's side: its connection."""
    measures: Measures
    """What was measured of statements since the client's side took it; an empty dictionary then takes its place."""
    mailbox: Mailbox
    """The channels that the session listens to, and the notifications that have arrived."""
    identity: Identity
    running: RunningStatement
    prepared: PreparedStatements
    """The named prepared statements, visible to EXECUTE and DEALLOCATE."""
    database_oid: int

    def log_slow(self, text: str, seconds: float) -> None:
        """Logs a statement that took so many seconds, `running.slow_after` at least, as settings say."""

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""

    def run(self, sql: str) -> Iterator[Result]:
        """Simple protocol: yields one Result for each statement; read each to its end before the next.

        An error skips the remaining statements, rolls back an implicit transaction and fails an explicit one.
        """

    def prepare(self, sql: str, parameter_oids: Sequence[int] = ()) -> Prepared:
        """Parses and binds one statement (42601 for several); the type of a parameter with OID 0 is inferred."""

    def bind_values(self, prepared: Prepared, values: Sequence[object]) -> Prepared:
        """Returns a statement whose columns depend on the values of its parameters with these columns, and the types of
        its parameters; see `Prepared.given_oids`.
        """

    def execute_together(self, prepared: Prepared, rows: Sequence[tuple[object, ...]]) -> bool:
        """Runs an INSERT of one row for several values of its parameters, as one statement.

        Returns False, and leaves nothing of it, if each has to run by itself: for what is not plain, and for an error.
        """

    def find_function(self, oid: int) -> tuple[str, tuple[int, ...]] | None:
        """Returns the quoted name of the function with an OID, and the OIDs of its argument types; None for none."""

    def execute(self, prepared: Prepared, parameters: Sequence[object] = ()) -> Result:
        """Runs a prepared statement with parameter values as `gpudb.values.parse_text` returns them."""

    def fail(self) -> None:
        """Fails the current transaction after an error outside the session, such as an invalid message."""

    def sync(self) -> None:
        """Ends the implicit transaction: commits it, or rolls it back after an error."""

    @property
    def has_idle_limits(self) -> bool:
        """Whether idle_session_timeout or idle_in_transaction_session_timeout is set."""

    def milliseconds(self, name: str) -> int:
        """A time setting (`idle_in_transaction_session_timeout`) in milliseconds; 0 is none."""

    def take_notices(self) -> list[Notice]:
        """Returns the notices since the last call."""

    def take_reports(self) -> list[tuple[str, str]]:
        """Returns the reported settings (ParameterStatus) that changed since the last call."""

    def reports(self) -> dict[str, str]:
        """All settings that are reported at start: server_version, TimeZone, DateStyle, …"""

    def cancel(self) -> None:
        """Cancels the running statement with 57014; safe from any thread, no effect on an idle session."""

    def close(self) -> None:
        """Rolls back the open transaction and releases all resources."""


class ServerConfiguration(Protocol):
    """What the server program can load again while it runs."""

    def reload(self) -> None:
        """Loads the rules of connections again; invalid ones are logged, and the rules stay as they are."""

    def read_hba_rows(self) -> Sequence[Mapping[str, object]]:
        """Returns the rows of pg_hba_file_rules; F0000 if the file cannot be read."""


class DatabaseInterface(Protocol):
    """The databases of the sessions."""

    def session(
        self,
        user: str,
        settings: Mapping[str, str] | None = None,
        client: str = "",
        database: str = FIRST_DATABASE,
    ) -> SessionInterface:
        """Opens a session in a database; `settings` are start-up parameters (application_name, options, TimeZone …).

        42704 or 22023 for unknown settings or invalid values; 3D000 for an unknown database, 55000 for one without
        connections; 53300 beyond max_connections or the limit of the role or the database.
        """

    def role(self, name: str, database: str = FIRST_DATABASE) -> Role | None:
        """A role by name, with all settings with which its sessions in a database begin; for authentication."""

    def roles(self) -> Mapping[str, Role]:
        """All roles by name."""

    def is_member(self, role: str, group: str) -> bool:
        """Whether a role is a member of another, directly or not, or is it."""

    def cancel(self, process_id: int) -> bool:
        """Cancels the running statement of a session; False if there is no such session."""

    def close(self) -> None:
        """Closes all sessions and the storage; idempotent."""

"""Context in which a statement runs, and the protocols for what statements use of their session and its database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.catalog.model import Catalog
from gpudb.catalog.routines import Routine
from gpudb.engine.protocol import Cancel, Engine, Measures, SharedRows, Stream
from gpudb.engine.resource_groups import GroupPlaces
from gpudb.errors import SqlError
from gpudb.observe.activity_reset import ActivityReset
from gpudb.observe.query_log import QueryLog
from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement_statistics import StatementStatistics
from gpudb.observe.totals import StatementTotals
from gpudb.processes.owned import OwnedProcesses
from gpudb.session.identity import Identity
from gpudb.session.interfaces import Network
from gpudb.session.mailbox import Mailbox
from gpudb.session.plan_cache import Plan, PlanCache
from gpudb.session.resource_group import SessionGroup
from gpudb.session.results import Notice, Result, ResultColumn
from gpudb.session.running import RunningStatement
from gpudb.session.settings.catalog import FRIENDLY, SettingValues
from gpudb.session.settings.system_file import SystemSettings
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.state.large_object_descriptors import Descriptors
from gpudb.session.state.prepared_statements import PreparedStatements
from gpudb.session.state.sequence_cache import SequenceCache
from gpudb.session.transactions import TransactionHost, Transactions
from gpudb.sql.accesses import Accesses
from gpudb.sql.bind.base import MAX_PARAMETERS, Arguments
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bound import Expr, OutputColumn, Query
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.store import Store
from gpudb.storage.transaction import Transaction
from gpudb.types import SqlType

if TYPE_CHECKING:
    from gpudb.engine.cpu.engine import CpuEngine
    from gpudb.engine.gpu.cluster.membership import Membership


@dataclass(slots=True)
class SessionCounts:
    """Numbers of sessions that are open and that were opened, and of transactions that they ended."""

    open: int = 0
    opened: int = 0
    commits: int = 0
    rollbacks: int = 0


class DatabaseServices(Protocol):
    """What statements use of the database."""

    store: Store
    cpu: CpuEngine
    engine: Engine
    started: dt.datetime
    configuration_loaded: dt.datetime
    system_settings: SystemSettings
    activity_reset: ActivityReset
    recorder: StatementRecorder
    statements: StatementTotals
    statistics: StatementStatistics
    query_log: QueryLog
    group_places: GroupPlaces

    @property
    def members(self) -> Membership | None:
        """The workers, once they have started; None without workers. Raises why they could not start."""

    def count_sessions(self, oid: int | None = None) -> SessionCounts:
        """Returns what the sessions in the database of an OID, or in all, were and did since the start."""

    def sessions(self) -> Sequence[SessionState]:
        """The open sessions."""

    def cancel(self, process_id: int) -> bool:
        """Cancels the statement of a session; False if there is no such session."""

    def terminate(self, process_id: int) -> bool:
        """Ends a session; False if there is no such session."""

    def apply_system_settings(self) -> None:
        """Applies the settings of the server itself, after ALTER SYSTEM has changed one."""

    def reload_configuration(self) -> None:
        """Loads the server's rules of connections again, if it has any."""

    def read_hba_rows(self) -> Sequence[Mapping[str, object]]:
        """Returns the rows of pg_hba_file_rules."""


class SessionState(Protocol):
    """What statements read and change of their session.

    `is_embedded` is whether the client is this process. `frames` are Arrow tables that statements read by name.
    `accesses` are those of the statement that was bound last, `measures` what was measured of the current one.
    `triggered` are the OIDs of the relations whose triggers run within each other now, `processes` run users' code, and
    `transition_tables` are the frames that the innermost one reads.
    """

    process_id: int
    database_name: str
    database_oid: int
    client: str
    network: Network
    system_user: str | None
    started: dt.datetime
    settings: SettingValues
    identity: Identity
    resource_group: SessionGroup
    transactions: Transactions
    running: RunningStatement
    is_embedded: bool
    frames: dict[str, pa.Table]
    frame_columns: dict[str, tuple[OutputColumn, ...]]
    transition_tables: tuple[str, ...]
    triggered: list[int]
    notices: list[Notice]
    told_of_files: set[str]
    """What the client was told of files that statements read."""
    prepared: PreparedStatements
    cursors: dict[str, Cursor]
    descriptors: Descriptors
    sequences: SequenceCache
    deferred_checks: DeferredChecks
    mailbox: Mailbox
    shared_rows: list[SharedRows]
    processes: OwnedProcesses
    accesses: Accesses | None
    measures: Measures

    @property
    def database(self) -> DatabaseServices:
        """The database of the session."""

    @property
    def user(self) -> str:
        """The current role: authorization asks for its privileges, and it owns what the session creates."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Statement handlers by kind of statement, the parse tree's name for it."""

    @property
    def temporary_schema(self) -> str:
        """The schema of the session's temporary relations."""

    def search_path(self) -> tuple[str, ...]:
        """The schemas of the search path, the temporary schema first unless the path names it."""

    def check_schema(self, name: str) -> None:
        """42501 for a schema that the current role may not use."""

    def milliseconds(self, name: str) -> int:
        """A time setting in milliseconds; 0 is none."""

    def plan(self, context: Context) -> Plan:
        """Returns the plan of a context's statement, bound now or before, which the current role may run; 42501."""

    def evaluate_integer(self, context: Context, expr: Expr) -> int | None:
        """Returns the value of an expression without columns: a bigint, or a timestamptz in microseconds since 1970."""

    def open_files(self, context: Context, request: FileRequest, role: str | None) -> FileTable:
        """Returns the files that a statement names; 42501 if a role (None: the current one) may not read them."""

    def fetch_texts(self, context: Context, query: Query, accesses: Accesses) -> list[str]:
        """Returns the rows of a query of one column of texts; 42501 if the current role may not run it."""

    def run_bound_query(self, context: Context, query: Query) -> Stream:
        """Runs a bound query with the parameters of a context."""

    def resolve_procedure(self, context: Context) -> Routine:
        """Returns the procedure that a context's CALL names; 42883, 42809."""


@dataclass(slots=True)
class Context:
    """Execution of one statement.

    `plan` is what the plan cache had where the statement began; a context made for another statement has none.
    `session_calls` is whether the statement calls sequence functions or routines that the session runs; None if that is
    unknown. `arguments` are those of the routine whose body the statement is part of, and `level` is the nesting depth
    of routine calls; `may_end_transaction` is whether a procedure that one of them calls may commit. With
    `parameter_rows` an INSERT of one row runs for each of them, as one statement: 0A000 if it is not so plain.
    """

    session: SessionState
    statement: RawStatement
    transaction: Transaction
    cancel: Cancel
    parameters: tuple[object, ...] = ()
    parameter_oids: tuple[int, ...] = ()
    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    plan: Plan | None = None
    session_calls: bool | None = None
    arguments: Arguments | None = None
    level: int = 0
    may_end_transaction: bool = False
    parameter_rows: Sequence[tuple[object, ...]] = ()

    def binder(self, *, describing: bool = False) -> StatementBinder:
        """Returns a binder over the transaction's catalog and the session's names.

        It accepts the parameters that have values; any parameter while `describing` a statement.
        """
        session, transaction = self.session, self.transaction
        is_stored = self.arguments is not None and self.arguments.stored
        return StatementBinder(
            transaction.catalog,
            self.statement.text,
            session.search_path(),
            session.settings["timezone"],
            session.frame_columns,
            session.database.cpu.system_columns,
            stored_within=session.search_path() if is_stored else None,
            arguments=self.arguments,
            max_parameters=MAX_PARAMETERS if describing else len(self.parameters),
            fresh_labels=_uncommitted_labels(transaction.base, transaction.catalog),
            check_canceled=self.cancel.check,
            accesses=Accesses(check_schema=session.check_schema),
            values=() if describing else self.parameters,
            describing=describing,
            friendly=session.settings[FRIENDLY] == "on",
            evaluate_integer=lambda expr: session.evaluate_integer(self, expr),
            open_files=lambda request, role: session.open_files(self, request, role),
            fetch_texts=lambda query, accesses: session.fetch_texts(self, query, accesses),
        )

    @property
    def lock_seconds(self) -> float | None:
        """For how long a lock is waited for, by lock_timeout; None without a limit."""
        return self.session.milliseconds("lock_timeout") / 1000 or None

    def check_writable(self, command: str) -> None:
        """25006 in a read-only transaction, and on a read-only server."""
        serves_reads = self.session.database.store.read_only
        if serves_reads or self.session.settings["transaction_read_only"] == "on":
            message = f"cannot execute {command} in a read-only transaction"
            hint = "The server is read-only." if serves_reads else None
            raise SqlError.of("read_only_sql_transaction", message, hint=hint)

    def check_no_block(self, command: str) -> None:
        """25001 in a transaction block, and in a text of several statements or a routine, which are as one."""
        if self.level:
            raise SqlError.of("active_sql_transaction", f"{command} cannot be executed from a function")
        if self.session.transactions.explicit or self.session.running.part:
            raise SqlError.of("active_sql_transaction", f"{command} cannot run inside a transaction block")

    def notice(self, message: str, **more: str) -> None:
        """Sends the client a message beside the result, unless `client_min_messages` shuts out its severity."""
        notice = Notice(message, **more)
        level = self.session.settings["client_min_messages"]
        if notice.severity not in _SHUT_OUT.get(level, ()):
            self.session.notices.append(notice)


# The severities of messages that a level of client_min_messages keeps from the client. INFO always reaches it
_SHUT_OUT = {
    "log": ("DEBUG",),
    "notice": ("LOG", "DEBUG"),
    "warning": ("LOG", "DEBUG", "NOTICE"),
    "error": ("LOG", "DEBUG", "NOTICE", "WARNING"),
}

Handler = Callable[[Context], Result]
"""Runs a statement of the kind that it is registered for."""
Describer = Callable[[Context], tuple[tuple[SqlType, ...], tuple[ResultColumn, ...] | None]]
"""Returns the types of a statement's parameters and its result columns."""


class SessionHost(DatabaseServices, TransactionHost, Protocol):
    """What a session uses of the database beside what its statements use."""

    plans: PlanCache

    @property
    def default_settings(self) -> Mapping[str, str]:
        """The values of settings with which a session begins."""

    def forget(self, process_id: int) -> None:
        """Removes a session that has closed."""


class Dispatcher(Protocol):
    """What a session knows of statements by their kind alone: handlers, descriptions, and actions at its events."""

    handlers: Mapping[str, Handler]

    def describer(self, statement: RawStatement) -> Describer | None:
        """The function that describes a statement with parameters but no bound form; None for any other statement."""

    def has_bound_form(self, statement: RawStatement) -> bool:
        """Whether the binder binds a statement as a whole."""

    def columns(self, session: SessionState, statement: RawStatement) -> tuple[ResultColumn, ...] | None:
        """The result columns of a statement without a bound form; None for one without rows."""

    def before_commit(self, session: SessionState, transaction: Transaction) -> None:
        """Runs what precedes a commit."""

    def transaction_ended(self, session: SessionState, committed: bool) -> None:
        """Ends what belongs to a transaction that is committed or rolled back."""

    def log_slow(self, session: SessionState, text: str, seconds: float) -> None:
        """Logs a statement that took so many seconds."""

    def session_closed(self, session: SessionState) -> None:
        """Removes what belongs to a session."""


def _uncommitted_labels(base: Catalog, now: Catalog) -> frozenset[int]:
    """The OIDs of the labels that the transaction, begun at `base`, has added to enums that existed before."""
    if now.types is base.types:
        return frozenset()
    before = {each.oid: {label.oid for label in each.type.labels or ()} for each in base.types.values()}
    return frozenset(
        label.oid
        for each in now.types.values()
        if each.oid in before
        for label in each.type.labels or ()
        if label.oid not in before[each.oid]
    )

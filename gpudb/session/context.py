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
from gpudb.engine.protocol import Cancel, Engine, Measures, Request, SharedRows, Stream
from gpudb.errors import SqlError
from gpudb.observe.activity_reset import ActivityReset
from gpudb.observe.query_log import QueryLog
from gpudb.observe.recorder import StatementRecorder
from gpudb.observe.statement_statistics import StatementStatistics
from gpudb.observe.totals import StatementTotals
from gpudb.session.interfaces import Network
from gpudb.session.mailbox import Mailbox
from gpudb.session.plan_cache import Plan
from gpudb.session.progress import CopyProgress
from gpudb.session.results import Notice, Prepared, Result, ResultColumn
from gpudb.session.settings.catalog import SettingValues
from gpudb.session.settings.system_file import SystemSettings
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.state.role_names import RoleName
from gpudb.session.state.savepoints import SessionSavepoint
from gpudb.session.state.sequence_cache import SequenceCache
from gpudb.sql.accesses import Accesses
from gpudb.sql.bind.base import MAX_PARAMETERS, Arguments
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bound import Expr, OutputColumn, Query, Statement
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
    """What statements use of the database. `members` is None without workers."""

    store: Store
    cpu: CpuEngine
    engine: Engine
    members: Membership | None
    started: dt.datetime
    configuration_loaded: dt.datetime
    system_settings: SystemSettings
    activity_reset: ActivityReset
    recorder: StatementRecorder
    statements: StatementTotals
    statistics: StatementStatistics
    query_log: QueryLog

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

    `explicit` is whether BEGIN opened the transaction, `failed` whether an error ended it. `query` is the text that
    runs now or ran last, `active` whether it still runs, `progress` how far its load is. `authenticated` is the role
    that logged in. `definer` is the owner of the SECURITY DEFINER routine that runs now: it is the current role
    meanwhile. `accesses` are those of the statement that was bound last, `measures` what was measured of the current
    one. If `explains_slow`, its last request to the engine is kept as `slow_request`. `bound_statements` counts the
    statements of the transaction that were bound, the running one included. `script_part` is the statement that runs
    now if its text has several, else ''. `triggered` are the OIDs of the relations
    whose triggers run within each other now, and `transition_tables` are the frames that the innermost one reads.
    """

    process_id: int
    database_name: str
    database_oid: int
    authenticated: RoleName
    definer: str | None
    script_part: str
    client: str
    network: Network
    started: dt.datetime
    settings: SettingValues
    frames: dict[str, pa.Table]
    frame_columns: dict[str, tuple[OutputColumn, ...]]
    transition_tables: tuple[str, ...]
    triggered: list[int]
    notices: list[Notice]
    prepared: dict[str, Prepared]
    cursors: dict[str, Cursor]
    sequences: SequenceCache
    deferred_checks: DeferredChecks
    mailbox: Mailbox
    savepoints: list[SessionSavepoint]
    shared_rows: list[SharedRows]
    transaction_started: dt.datetime | None
    explicit: bool
    failed: bool
    query: str
    query_started: dt.datetime | None
    active: bool
    progress: CopyProgress | None
    accesses: Accesses | None
    measures: Measures
    explains_slow: bool
    slow_request: Request | None
    bound_statements: int

    @property
    def database(self) -> DatabaseServices:
        """The database of the session."""

    @property
    def user(self) -> str:
        """The current role: authorization asks for its privileges, and it owns what the session creates."""

    @property
    def session_user(self) -> str:
        """The session user, which SET SESSION AUTHORIZATION changes and SET ROLE does not."""

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Statement handlers by kind of statement, the parse tree's name for it."""

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""

    @property
    def waits_for(self) -> str | None:
        """The event that the running statement waits for, as pg_stat_activity names it."""

    def measure_progress(self) -> float | None:
        """Returns the fraction of the running query that its engine has done; None if it is unknown."""

    @property
    def temporary_schema(self) -> str:
        """The schema of the session's temporary relations."""

    def search_path(self) -> tuple[str, ...]:
        """The schemas of the search path, the temporary schema first unless the path names it."""

    def check_schema(self, name: str) -> None:
        """42501 for a schema that the current role may not use."""

    def milliseconds(self, name: str) -> int:
        """A time setting in milliseconds; 0 is none."""

    def bind(self, context: Context) -> Statement:
        """Binds the statement of a context, or returns it from the plan cache."""

    def cached_plan(self, context: Context) -> Plan | None:
        """Returns the plan of a context's statement if it is in the plan cache; None if it has to be bound."""

    def plan(self, context: Context) -> Plan:
        """Binds the statement of a context as `bind` does, and returns its result columns too."""

    def evaluate_integer(self, context: Context, expr: Expr) -> int | None:
        """Returns the value of an expression without columns: a bigint, or a timestamptz in microseconds since 1970."""

    def open_files(self, context: Context, request: FileRequest, role: str | None) -> FileTable:
        """Returns the files that a statement names; 42501 if a role (None: the current one) may not read them."""

    def add_prepared(self, name: str, prepared: Prepared) -> None:
        """Adds a named prepared statement; 42P05."""

    def get_prepared(self, name: str) -> Prepared:
        """The prepared statement of that name; 26000."""

    def remove_prepared(self, name: str) -> None:
        """Removes a named prepared statement."""

    def end_transaction(self, *, commit: bool) -> None:
        """Commits the transaction or rolls it back."""

    def restart_transaction(self, *, commit: bool) -> Transaction:
        """Commits the implicit transaction or rolls it back, and begins another."""

    def run_bound_query(self, context: Context, query: Query) -> Stream:
        """Runs a bound query with the parameters of a context."""

    def resolve_procedure(self, context: Context) -> Routine:
        """Returns the procedure that a context's CALL names; 42883, 42809."""


@dataclass(slots=True)
class Context:
    """Execution of one statement.

    `session_calls` is whether the statement calls sequence functions or routines that the session runs; None if that is
    unknown. `arguments` are those of the routine whose body the statement is part of, and `level` is the nesting depth
    of routine calls; `may_end_transaction` is whether a procedure that one of them calls may commit.
    """

    session: SessionState
    statement: RawStatement
    transaction: Transaction
    cancel: Cancel
    parameters: tuple[object, ...] = ()
    parameter_oids: tuple[int, ...] = ()
    started: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))
    session_calls: bool | None = None
    arguments: Arguments | None = None
    level: int = 0
    may_end_transaction: bool = False

    def binder(self, *, describing: bool = False) -> StatementBinder:
        """Returns a binder over the transaction's catalog and the session's names.

        It accepts the parameters that have values; any parameter while `describing` a statement.
        """
        session, transaction = self.session, self.transaction
        return StatementBinder(
            transaction.catalog,
            self.statement.text,
            session.search_path(),
            session.settings["timezone"],
            session.frame_columns,
            session.database.cpu.system_columns,
            arguments=self.arguments,
            max_parameters=MAX_PARAMETERS if describing else len(self.parameters),
            fresh_labels=_uncommitted_labels(transaction.base, transaction.catalog),
            check_canceled=self.cancel.check,
            accesses=Accesses(check_schema=session.check_schema),
            describing=describing,
            evaluate_integer=lambda expr: session.evaluate_integer(self, expr),
            open_files=lambda request, role: session.open_files(self, request, role),
        )

    @property
    def lock_seconds(self) -> float | None:
        """For how long a lock is waited for, by lock_timeout; None without a limit."""
        return self.session.milliseconds("lock_timeout") / 1000 or None

    def check_writable(self, command: str) -> None:
        """25006 in a read-only transaction."""
        if self.session.settings["transaction_read_only"] == "on":
            message = f"cannot execute {command} in a read-only transaction"
            raise SqlError.of("read_only_sql_transaction", message)

    def check_no_block(self, command: str) -> None:
        """25001 in a transaction block, and in a text of several statements or a routine, which are as one."""
        if self.level:
            raise SqlError.of("active_sql_transaction", f"{command} cannot be executed from a function")
        if self.session.explicit or self.session.script_part:
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

"""A client's session: its transactions, and the path of a statement from text to result.

Transactions: idle (I) -BEGIN→ in a transaction (T) -error→ failed (E) -COMMIT or ROLLBACK→ idle. Outside BEGIN, a
statement or a text of several runs in an implicit transaction, which `sync` or the end of the text commits.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from time import perf_counter
from typing import Any, Protocol

import postgast
import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import get_database
from gpudb.engine.protocol import Cancel, Measures, Request, SharedRows, Stream
from gpudb.errors import FeatureNotSupported, GpudbError, InFailedTransaction, SqlError
from gpudb.functions.carried import LAYOUT, Layout, bind_in_layout, layout_failure, next_scale
from gpudb.session.authorization.authorize import authorize, check_schema, may_use_schema
from gpudb.session.authorization.session_role import CurrentRoles, begin_settings
from gpudb.session.authorization.shown_values import hide_values
from gpudb.session.context import Context, DatabaseServices, Describer, Handler, SessionState
from gpudb.session.execution.binding import bind_statement, parse_statements, transaction_controls
from gpudb.session.execution.constant_checks import check_statement_constants
from gpudb.session.execution.files import open_files
from gpudb.session.execution.layouts import handle_in_layouts, read_ahead
from gpudb.session.execution.moments import evaluate_integer
from gpudb.session.execution.queries import run_query
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.session.execution.wide_parameters import wide_parameters
from gpudb.session.interfaces import Network
from gpudb.session.mailbox import Mailbox, Notification
from gpudb.session.plan_cache import Key, Plan, PlanCache
from gpudb.session.progress import CopyProgress
from gpudb.session.results import (
    CopyIn,
    Notice,
    Prepared,
    Result,
    ResultColumn,
    check_columns,
    statement_columns,
)
from gpudb.session.routines.call import resolve_procedure
from gpudb.session.settings.catalog import (
    LOG_PLAN,
    LOG_STATEMENT,
    SettingValues,
    parse_milliseconds,
    parse_optional_seconds,
)
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.state.role_names import RoleName
from gpudb.session.state.savepoints import SessionSavepoint
from gpudb.session.state.sequence_cache import SequenceCache
from gpudb.sql.accesses import Accesses
from gpudb.sql.bound import Expr, OutputColumn, Query, RowLock, Statement
from gpudb.sql.parse.nesting import nesting_error
from gpudb.sql.parse.parser import RawStatement, parameter_position
from gpudb.sql.traverse import iter_queries
from gpudb.storage.transaction import Transaction
from gpudb.types import CARRIED_SCALE, SqlType

_TRAILING = "; \t\r\n"
"""Characters after a statement that its own text lacks."""
_MOST_RECENT = 64
"""Plans that a session finds without asking the cache, as long as definitions and settings stay the same."""
_COMMENTS = {pg.SQL_COMMENT, pg.C_COMMENT}
_IDLE_LIMITS = ("idle_session_timeout", "idle_in_transaction_session_timeout")
_ENDS = {pg.TRANS_STMT_COMMIT, pg.TRANS_STMT_ROLLBACK, pg.TRANS_STMT_ROLLBACK_TO}


class SessionHost(DatabaseServices, Protocol):
    """What a session uses of the database beside what its statements use."""

    plans: PlanCache

    @property
    def default_settings(self) -> Mapping[str, str]:
        """The values of settings with which a session begins."""

    def forget(self, process_id: int) -> None:
        """Removes a session that has closed."""

    def notify_others(self, database: int, sent: Sequence[Notification]) -> None:
        """Sends notifications of a session to those of other servers over the catalog, by the OID of its database."""


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

    def lock_rows(self, context: Context, locks: Sequence[RowLock]) -> bool:
        """Takes the locks of a statement; returns whether the transaction then sees another catalog."""

    def skip_locked(self, context: Context, plan: Plan) -> Plan:
        """Returns a plan without the rows that it skips because others have locked them."""

    def log_slow(self, session: SessionState, text: str, seconds: float) -> None:
        """Logs a statement that took so many seconds."""

    def session_closed(self, session: SessionState) -> None:
        """Removes what belongs to a session."""


class Session:
    """A session (see `interfaces.SessionInterface`)."""

    def __init__(
        self,
        database: SessionHost,
        dispatcher: Dispatcher,
        process_id: int,
        role: Role,
        settings: Mapping[str, str],
        client: str,
        database_name: str,
    ) -> None:
        self.database = database
        self.database_name = database_name
        self.handlers = dispatcher.handlers
        self.process_id = process_id
        self.authenticated = RoleName.of(role)
        self.client, self.network = client, Network()
        self.started = dt.datetime.now(dt.UTC)
        self.transaction: Transaction | None = None
        self.settings = SettingValues(database.default_settings)
        self.settings.force("session_authorization", self.authenticated)
        self.settings.force("is_superuser", "on" if role.superuser else "off")
        self._roles = CurrentRoles(self.settings)
        self.acting_role = self._roles.current
        self.frames: dict[str, pa.Table] = {}
        self.frame_columns: dict[str, tuple[OutputColumn, ...]] = {}
        self.transition_tables: tuple[str, ...] = ()
        self.triggered: list[int] = []
        self.notices: list[Notice] = []
        self.prepared: dict[str, Prepared] = {}
        self.transaction_started: dt.datetime | None = None
        self.savepoints: list[SessionSavepoint] = []
        self.shared_rows: list[SharedRows] = []
        self.cursors: dict[str, Cursor] = {}
        self.sequences = SequenceCache()
        self.deferred_checks = DeferredChecks()
        self.mailbox = Mailbox()
        self.explicit = False
        self.failed = False
        self.query = ""
        self.query_started: dt.datetime | None = None
        self.active = False
        self.progress: CopyProgress | None = None
        self.accesses: Accesses | None = None
        self.on_terminate: Callable[[], None] | None = None
        self.measures: Measures = {}
        self.script_part = ""
        self.slow_after, self.explains_slow = math.inf, False
        self.slow_request: Request | None = None
        self._limits_version, self._statement_timeout, self._has_idle_limits = -1, 0, False
        self.commits = self.rollbacks = 0
        self.bound_statements = 0
        self._dispatcher = dispatcher
        self._cancel: Cancel | None = None
        self._timer: threading.Timer | None = None
        self._closed = False
        self.definer: str | None = None
        self._search_path: tuple[tuple[object, ...], tuple[str, ...]] = (), ()
        self._recent: dict[tuple[str, tuple[int, ...]], Plan] = {}
        self._recent_of: tuple[object, ...] = ()
        self.database_oid = get_database(self._catalog()).oid
        begin_settings(self, self._catalog(), role, settings)

    # -------------------------------------------------------------------------------------------- state

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""
        if not self.explicit:
            return "I"
        return "E" if self.failed else "T"

    @property
    def user(self) -> str:
        """The current role, whose privileges the session has."""
        return self.definer or self._current_roles().current

    @property
    def session_user(self) -> str:
        """The session user, which SET SESSION AUTHORIZATION changes."""
        return self._current_roles().session_user

    def _current_roles(self) -> CurrentRoles:
        """The names of both, looked up again if settings or catalog have changed."""
        roles, catalog = self._roles, self._catalog()
        if roles.versions != (self.settings.version, catalog.version):
            roles.update(catalog)
            self.acting_role = roles.current
        return roles

    def search_path(self) -> tuple[str, ...]:
        """The schemas that resolve unqualified names; the session's temporary schema first unless the path names it."""
        roles = self._current_roles()
        key = roles.versions, self.definer
        if self._search_path[0] != key:
            names = []
            for part in self.settings["search_path"].split(","):
                name = part.strip()
                name = name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
                names.append({"$user": self.user, "pg_temp": self.temporary_schema}.get(name, name))
            if self.temporary_schema not in names:
                names.insert(0, self.temporary_schema)
            # As in PostgreSQL, a schema that the role may not use is passed over
            self._search_path = key, tuple(name for name in names if may_use_schema(self._catalog(), self, name))
        return self._search_path[1]

    def check_schema(self, name: str) -> None:
        """42501 for a schema that the current role may not use."""
        check_schema(self._catalog(), self, name)

    @property
    def temporary_schema(self) -> str:
        """The schema of the session's temporary relations."""
        return f"pg_temp_{self.process_id}"

    def milliseconds(self, name: str) -> int:
        """A time setting in milliseconds; 0 is none."""
        return parse_milliseconds(self.settings[name])

    @property
    def has_idle_limits(self) -> bool:
        """Whether a setting ends clients that are idle (see `interfaces.SessionInterface`)."""
        if self._limits_version != self.settings.version:
            self._update_limits()
        return self._has_idle_limits

    def evaluate_integer(self, context: Context, expr: Expr) -> int | None:
        """Returns the value of an expression without columns (see `context.SessionState`)."""
        return evaluate_integer(context, expr)

    def open_files(self, context: Context, request: FileRequest, role: str | None) -> FileTable:
        """Returns the files that a statement names (see `context.SessionState`)."""
        return open_files(context, request, role)

    # -------------------------------------------------------------------------------------------- statements

    def run(self, sql: str) -> Iterator[Result]:
        """Simple protocol (see `interfaces.SessionInterface.run`)."""
        finished = False
        try:
            statements = self._parse(sql)
            if not statements:
                yield Result("")
            several = len(statements) > 1
            for index, statement in enumerate(statements):
                last = index == len(statements) - 1
                self.script_part = statement.text if several else ""
                result = self._start(statement, ())
                if last and result.columns is None and not isinstance(result, CopyIn):
                    # Commits first: a client that reads the tag relies on the commit.
                    self.sync()
                elif isinstance(result, CopyIn) and last:
                    result.finish = self._sync_after(result.finish)
                try:
                    yield result
                finally:
                    result.close()
            self.sync()
            finished = True
        except GpudbError:
            self.fail()
            raise
        finally:
            if not finished:
                self.fail()
                self.sync()

    def _sync_after(self, finish: Callable[[], str]) -> Callable[[], str]:
        def finished() -> str:
            tag = finish()
            self.sync()
            return tag

        return finished

    def _parse(self, sql: str) -> list[RawStatement]:
        self.query = sql
        control = transaction_controls.get(sql)
        if control is not None:
            return [control]
        cached = self._cached_plan(sql.rstrip(_TRAILING), ())
        return [cached.statement] if cached is not None else self._parse_text(sql)

    def _parse_text(self, sql: str) -> list[RawStatement]:
        """Parses a text; a cancel request during a long parse ends it afterwards."""
        self._cancel = cancel = Cancel()
        started = perf_counter()
        try:
            statements = parse_statements(sql)
            cancel.check()
        finally:
            self._cancel = None
            self.measures["parse"] = perf_counter() - started
        return statements

    def prepare(self, sql: str, parameter_oids: Sequence[int] = ()) -> Prepared:
        """Parses and binds one statement (see `interfaces.SessionInterface.prepare`)."""
        self.query, self.script_part = sql, ""
        oids = tuple(parameter_oids)
        try:
            known = None if self.frames else self._cached_plan(sql, oids)
            if known is not None:
                self._check_not_failed(known.statement)
                self._begin_transaction()
                return Prepared(sql, known.parameters, known.columns, known.statement)
            statements = self._parse_text(sql)
            if len(statements) > 1:
                message = "cannot insert multiple commands into a prepared statement"
                raise SqlError.of("syntax_error", message)
            if not statements:
                return Prepared(sql, (), None, None)
            statement = statements[0]
            self._check_not_failed(statement)
            describe = self._dispatcher.describer(statement)
            if describe is not None:
                parameters, columns = describe(Context(self, statement, self._begin_transaction(), Cancel(), (), oids))
                return Prepared(sql, parameters, columns, statement)
            if not self._dispatcher.has_bound_form(statement):
                return Prepared(sql, (), self._dispatcher.columns(self, statement), statement)
            cancel, started = self._begin_statement()
            try:
                context = Context(self, statement, self._begin_transaction(started), cancel)
                plan = self._plan(context, sql, oids, describing=True)
            finally:
                self._end_statement()
            return Prepared(sql, plan.parameters, plan.columns, plan.statement)
        except GpudbError:
            self.fail()
            raise
        except RecursionError:
            self.fail()
            raise nesting_error() from None

    def execute(self, prepared: Prepared, parameters: Sequence[object] = ()) -> Result:
        """Runs a prepared statement (see `interfaces.SessionInterface.execute`)."""
        self.query, self.script_part = prepared.sql, ""
        if prepared.statement is None:
            return Result("")
        assert isinstance(prepared.statement, RawStatement)
        try:
            return check_columns(prepared, self._start(prepared.statement, tuple(parameters), oids=prepared.oids))
        except GpudbError:
            self.fail()
            raise

    def _check_not_failed(self, statement: RawStatement) -> None:
        if self.failed and not _ends_transaction(statement):
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise InFailedTransaction(message)

    def _start(
        self,
        statement: RawStatement,
        parameters: tuple[object, ...],
        *,
        oids: tuple[int, ...] = (),
    ) -> Result:
        self._check_not_failed(statement)
        handler = self.handlers.get(statement.kind)
        if handler is None:
            raise FeatureNotSupported(f"{_leading_keywords(statement)} is not supported")
        cancel, started = self._begin_statement()
        context = Context(self, statement, self._begin_transaction(started), cancel, parameters, oids, started)
        try:
            result = self._handle(handler, context)
        except BaseException as error:
            self._end_statement()
            if isinstance(error, GpudbError):
                self._hide_values(error)
                if statement.start and error.position:
                    error.position += statement.start
            if isinstance(error, RecursionError):
                raise nesting_error() from None
            raise
        if isinstance(result, CopyIn):
            result.feed, result.finish = self._hiding_values(result.feed), self._hiding_values(result.finish)
        if result.columns is None and not isinstance(result, CopyIn) and not hasattr(result, "chunks"):
            self._end_statement()
        else:
            close = result.close

            def closed() -> None:
                close()
                self._end_statement()

            result.close = closed
        return result

    def _handle(self, handler: Handler, context: Context) -> Result:
        """Runs a statement's handler, again in other layouts of numerics if values do not fit."""
        layout, catalog = Layout(), context.transaction.catalog
        token = LAYOUT.set(layout)
        try:
            result = handler(context)
            return read_ahead(result, partial(self._begin_elsewhere, context, layout)) if layout.used else result
        except GpudbError as error:
            if not layout.used or not layout_failure(error):
                raise
            result = handle_in_layouts(handler, context, layout, error, catalog)
            self._remember_scale(context, layout.scale)
            return result
        finally:
            LAYOUT.reset(token)

    def _begin_elsewhere(self, context: Context, layout: Layout, failure: int) -> None:
        """Lets a statement that has failed after its first rows begin in another layout when it runs again."""
        scale = next_scale({layout.scale: failure})
        if scale is not None:
            self._remember_scale(context, scale)

    def _remember_scale(self, context: Context, scale: int) -> None:
        """Lets the statement begin in another layout when it runs again."""
        plan = self.database.plans.get(self._key(context.statement.text, context.parameter_oids))
        if plan is not None:
            plan.scale = scale if scale != CARRIED_SCALE else None

    def _hide_values(self, error: GpudbError, catalog: Catalog | None = None) -> None:
        """Takes values that the current role may not read out of an error."""
        if error.shown is not None:
            hide_values(catalog or self._catalog(), self.user, self.accesses, error)

    def _hiding_values(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*operands: Any) -> Any:
            try:
                return call(*operands)
            except GpudbError as error:
                self._hide_values(error)
                raise

        return called

    def _begin_transaction(self, now: dt.datetime | None = None) -> Transaction:
        """Returns the transaction; begins one if there is none."""
        if self.transaction is None:
            if self.settings["gpudb.fresh_reads"] == "on":
                self.database.store.refresh()
            self.transaction = self.database.store.begin(self.database_name)
            self.transaction.party = -self.process_id
            self.bound_statements = 0
            self.transaction_started = now or dt.datetime.now(dt.UTC)
            self.settings.begin()
            if self.settings["default_transaction_read_only"] == "on":
                self.settings.set("transaction_read_only", "on", local=True)
        return self.transaction

    def bind(self, context: Context) -> Statement:
        """Binds the statement of a context, or returns it from the plan cache."""
        return self.plan(context).bound

    def plan(self, context: Context) -> Plan:
        """Binds the statement of a context as `bind` does, and returns its result columns too."""
        wide = wide_parameters(context.parameters) if context.parameters else {}
        return self._checked(context, self._plan(context, context.statement.text, context.parameter_oids, wide))

    def cached_plan(self, context: Context) -> Plan | None:
        """Returns the plan of a context's statement if it is in the plan cache; None if it has to be bound."""
        wide = wide_parameters(context.parameters) if context.parameters else {}
        if not self._is_cacheable(context, wide):
            return None
        plan = self._cached_plan(context.statement.text, context.parameter_oids)
        return None if plan is None else self._checked(context, plan)

    def _checked(self, context: Context, plan: Plan) -> Plan:
        """Checks a plan against the parameters of a context, and its constants if this is its first run."""
        if len(plan.parameters) > len(context.parameters):
            number = len(context.parameters) + 1
            error = SqlError.of("undefined_parameter", f"there is no parameter ${number}")
            raise error.at(parameter_position(context.statement.text, number))
        if plan.uses_layout and (layout := LAYOUT.get()) is not None:
            layout.used = True
        if not plan.checked:
            check_statement_constants(context, plan.bound)
            plan.checked = True
        context.session_calls = plan.session_calls
        self.bound_statements += 1
        self.accesses = plan.accesses
        # The plan belongs to one version of the catalog, so what a role may do with it does not change
        allowed = plan.authorized.get(self.user) or self._authorize(context, plan)
        return self._lock_rows(context, allowed) if allowed.row_locks else allowed

    def _lock_rows(self, context: Context, plan: Plan) -> Plan:
        """Takes the locks of a plan; returns it, or another one for what the transaction sees from now on."""
        if self._dispatcher.lock_rows(context, plan.row_locks):
            again = self._plan(context, context.statement.text, context.parameter_oids)
            plan = again.authorized.get(self.user) or self._authorize(context, again)
        return self._dispatcher.skip_locked(context, plan)

    def _authorize(self, context: Context, plan: Plan) -> Plan:
        """Returns the plan of a statement that the current role may run, and remembers it; 42501."""
        bound = authorize(context, plan.bound, plan.accesses)
        result = plan if bound is plan.bound else replace(plan, bound=bound)
        plan.authorized[self.user] = result
        return result

    def _catalog(self) -> Catalog:
        return self.transaction.catalog if self.transaction else self.database.store.catalog(self.database_name)

    def _cached_plan(self, text: str, oids: tuple[int, ...]) -> Plan | None:
        """Returns the cached plan of a statement in its layout, or None."""
        layout = LAYOUT.get()
        scale = CARRIED_SCALE if layout is None else layout.scale
        state = self._catalog().version, self.settings.version, self.definer, scale
        if self._recent_of != state or len(self._recent) > _MOST_RECENT:
            self._recent_of, self._recent = state, {}
        plan = self._recent.get((text, oids))
        if plan is None:
            plan = self.database.plans.get(self._key(text, oids, scale))
            if plan is not None:
                self._recent[text, oids] = plan
        if plan is None or plan.scale is None or layout is None or layout.tried:
            return plan
        layout.scale = plan.scale
        return self.database.plans.get(self._key(text, oids, layout.scale))

    def _key(self, text: str, oids: tuple[int, ...], scale: int = CARRIED_SCALE) -> Key:
        catalog = self._catalog()
        path = self.search_path()
        if self.temporary_schema not in catalog.schemas:
            # Without temporary tables, sessions share the plan.
            path = path[1:] if path[0] == self.temporary_schema else path
        return Key(text, catalog.version, path, self.settings["timezone"], oids, scale)

    def _is_cacheable(self, context: Context, wide: Mapping[int, SqlType] | None) -> bool:
        statement = context.statement
        # The text of a part is not its own, and that within EXECUTE DIRECT means another statement by itself.
        has_own_text = not statement.part and statement.direct_node is None
        return has_own_text and not self.frames and context.arguments is None and not wide

    def _plan(
        self,
        context: Context,
        text: str,
        oids: tuple[int, ...],
        wide: Mapping[int, SqlType] | None = None,
        *,
        describing: bool = False,
    ) -> Plan:
        cacheable = self._is_cacheable(context, wide)
        if cacheable and (plan := self._cached_plan(text, oids)) is not None:
            return plan
        started = perf_counter()
        binder = context.binder(describing=describing)
        binder.declare_parameters(oids, wide)
        binder.row_locks = []
        with bind_in_layout() as layout:
            bound = bind_statement(binder, context.statement)
        if cacheable and binder.reads_files:
            bound = self.database.plans.reuse(self._key(text, oids, layout.scale), bound)
        drawing = any(has_session_calls(query) for query in iter_queries(bound))
        parameters, columns = binder.get_parameter_types(), statement_columns(bound)
        plan = Plan(context.statement, bound, parameters, columns, drawing, accesses=binder.accesses)
        plan.uses_layout = layout.used
        plan.row_locks = tuple(binder.row_locks)
        self.measures["bind"] = self.measures.get("bind", 0.0) + perf_counter() - started
        if cacheable and binder.cacheable:
            self.database.plans.put(self._key(text, oids, layout.scale), plan)
        return plan

    # -------------------------------------------------------------------------------------------- prepared statements

    def add_prepared(self, name: str, prepared: Prepared) -> None:
        """Adds a named prepared statement; 42P05."""
        if name in self.prepared:
            message = f'prepared statement "{name}" already exists'
            raise SqlError.of("duplicate_prepared_statement", message)
        self.prepared[name] = prepared

    def get_prepared(self, name: str) -> Prepared:
        """The prepared statement of that name; 26000."""
        if name not in self.prepared:
            message = f'prepared statement "{name}" does not exist'
            raise SqlError.of("invalid_sql_statement_name", message)
        return self.prepared[name]

    def remove_prepared(self, name: str) -> None:
        """Removes a named prepared statement."""
        self.prepared.pop(name, None)

    # -------------------------------------------------------------------------------------------- transactions

    def fail(self) -> None:
        """Marks the transaction as failed."""
        self.failed = True

    def sync(self) -> None:
        """Ends the implicit transaction: commits it, or rolls it back after an error."""
        if self.explicit:
            return
        if self.transaction is None:
            self.failed = False
            return
        self.end_transaction(commit=not self.failed)

    def end_transaction(self, *, commit: bool) -> None:
        """Commits or rolls back the transaction, implicit or explicit."""
        transaction, self.transaction = self.transaction, None
        self.transaction_started = None
        self.explicit = self.failed = False
        self.savepoints.clear()
        self._dispatcher.transaction_ended(self, commit)
        done = False
        try:
            if transaction is not None and commit:
                try:
                    self._dispatcher.before_commit(self, transaction)
                    if self.mailbox.has_changes:
                        self.mailbox.check_room(self._list_mailboxes())
                except BaseException:
                    transaction.rollback()
                    raise
                transaction.commit()
            elif transaction is not None:
                transaction.rollback()
            done = commit
            if transaction is not None:
                if commit:
                    self.commits += 1
                else:
                    self.rollbacks += 1
        except GpudbError as error:
            self._hide_values(error, transaction.catalog if transaction is not None else None)
            raise
        finally:
            self.settings.end(committed=done)
            if self.mailbox.has_changes:
                self._end_mail(committed=done)

    def _end_mail(self, *, committed: bool) -> None:
        """Sends the notifications of a transaction that is committed, and forgets those of any other."""
        if committed:
            sent = self.mailbox.commit(self.process_id, self._list_mailboxes())
            if sent:
                self.database.notify_others(self.database_oid, sent)
        else:
            self.mailbox.forget()

    def _list_mailboxes(self) -> list[Mailbox]:
        """Returns the mailboxes of the sessions in this database."""
        return [each.mailbox for each in self.database.sessions() if each.database_name == self.database_name]

    def restart_transaction(self, *, commit: bool) -> Transaction:
        """Commits the implicit transaction or rolls it back, and begins another."""
        self.end_transaction(commit=commit)
        return self._begin_transaction()

    def run_bound_query(self, context: Context, query: Query) -> Stream:
        """Runs a bound query with the parameters of a context."""
        return run_query(context, query)

    def resolve_procedure(self, context: Context) -> Routine:
        """Returns the procedure that a context's CALL names (see `context.SessionState`)."""
        return resolve_procedure(context)

    # -------------------------------------------------------------------------------------------- cancel

    @property
    def waits_for(self) -> str | None:
        """The event that the running statement waits for."""
        cancel = self._cancel
        return cancel.waits_for if cancel is not None else None

    def measure_progress(self) -> float | None:
        """Returns the fraction of the running query that its engine has done; None if it is unknown."""
        cancel = self._cancel
        measure = cancel.measure if cancel is not None else None
        return measure() if measure is not None else None

    def _begin_statement(self) -> tuple[Cancel, dt.datetime]:
        """Starts a statement: returns its cancel flag, which statement_timeout sets too, and the current time."""
        self._end_statement()
        cancel = Cancel()
        self._cancel = cancel
        self.active = True
        self.query_started = now = dt.datetime.now(dt.UTC)
        if self._limits_version != self.settings.version:
            self._update_limits()
        timeout = self._statement_timeout
        if timeout:
            self._timer = threading.Timer(
                timeout / 1000, cancel.stop, ("canceling statement due to statement timeout",)
            )
            self._timer.daemon = True
            self._timer.start()
        return cancel, now

    def _update_limits(self) -> None:
        """Reads the settings of statements' durations, which seldom change."""
        timeout, most = self.milliseconds("statement_timeout"), self.milliseconds("gpudb.max_statement_timeout")
        self._statement_timeout = most if most and not 0 < timeout <= most else timeout
        statement, plan = (parse_optional_seconds(self.settings[each]) for each in (LOG_STATEMENT, LOG_PLAN))
        self.slow_after, self.explains_slow = min(statement, plan), plan != math.inf
        self._has_idle_limits = any(map(self.milliseconds, _IDLE_LIMITS))
        self._limits_version = self.settings.version

    def log_slow(self, text: str, seconds: float) -> None:
        """Logs a slow statement (see `interfaces.SessionInterface`)."""
        self._dispatcher.log_slow(self, text, seconds)

    def _end_statement(self) -> None:
        self._cancel = None
        self.active = False
        self.progress = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def cancel(self) -> None:
        """Cancels the running statement with 57014."""
        cancel = self._cancel
        if cancel is not None:
            cancel.stop()

    def terminate(self) -> None:
        """Ends the session: the connection is closed with 57P01."""
        self.cancel()
        if self.on_terminate is not None:
            self.on_terminate()

    # -------------------------------------------------------------------------------------------- notices and reports

    def take_notices(self) -> list[Notice]:
        """Returns the notices since the last call."""
        taken = self.notices
        if taken:
            self.notices = []
        return taken

    def take_reports(self) -> list[tuple[str, str]]:
        """Returns the reported settings that changed since the last call."""
        return self.settings.changes()

    def reports(self) -> dict[str, str]:
        """All reported settings."""
        return self.settings.reported()

    def close(self) -> None:
        """Rolls back the open transaction and releases all resources; idempotent."""
        if self._closed:
            return
        self._closed = True
        self.cancel()
        try:
            if self.transaction is not None:
                self.end_transaction(commit=False)
            self._dispatcher.session_closed(self)
        finally:
            self.database.forget(self.process_id)


def _ends_transaction(statement: RawStatement) -> bool:
    """Whether a failed transaction accepts a statement: COMMIT, ROLLBACK or ROLLBACK TO."""
    node: Any = statement.node
    return statement.kind == "TransactionStmt" and node.kind in _ENDS


def _leading_keywords(statement: RawStatement) -> str:
    """The keywords that a statement begins with, two at most, or … EVENT TRIGGER, and the rule's or trigger's name."""
    text = statement.text.encode()
    tokens = (each for each in postgast.scan(statement.text).tokens if each.token not in _COMMENTS)
    leading = takewhile(lambda each: each.keyword_kind != pg.NO_KEYWORD, islice(tokens, 3))
    words = " ".join(text[each.start : each.end].decode() for each in leading).upper().split()
    named = getattr(statement.node, "rulename", "") or getattr(statement.node, "trigname", "")
    return " ".join([*(words if words[1:] == ["EVENT", "TRIGGER"] else words[:2]), *([named] if named else [])])

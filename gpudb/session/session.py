"""A client's session: the path of a statement from text to result.

What a session has beside it are objects of their own: `transactions`, `identity`, `plans`, `running`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice, takewhile
from time import perf_counter
from typing import Any

import postgast
import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.catalog.file_tables import FileRequest, FileTable
from gpudb.catalog.identifiers import quote_name
from gpudb.catalog.model import Catalog
from gpudb.catalog.roles import Role
from gpudb.catalog.routines import Routine
from gpudb.catalog.secured_objects import get_database
from gpudb.catalog.tables import Exclusion
from gpudb.engine.protocol import Cancel, Measures, SharedRows, Stream
from gpudb.errors import FeatureNotSupported, GpudbError, InFailedTransaction, QueryCanceled, SqlError
from gpudb.functions.carried import LAYOUT, Layout, layout_failure, next_scale
from gpudb.functions.library import functions_by_oid
from gpudb.processes.owned import OwnedProcesses
from gpudb.session.authorization.authorize import check_schema, may_use_schema
from gpudb.session.authorization.session_role import begin_settings
from gpudb.session.authorization.shown_values import hide_values
from gpudb.session.context import Context, Dispatcher, Handler, SessionHost
from gpudb.session.execution.binding.binding import (
    BINDABLE,
    parse_literal_rows,
    parse_statements,
    transaction_controls,
)
from gpudb.session.execution.binding.parameter_rows import prepare_rows
from gpudb.session.execution.binding.stored_literals import check_stored_literals
from gpudb.session.execution.foreign_data.files import open_files
from gpudb.session.execution.queries.pivot_values import fetch_texts
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.execution.requests.layouts import handle_in_layouts, read_ahead
from gpudb.session.execution.requests.moments import evaluate_integer
from gpudb.session.identity import Identity
from gpudb.session.interfaces import Network
from gpudb.session.mailbox import Mailbox
from gpudb.session.plan_cache import Plan
from gpudb.session.plans import Plans
from gpudb.session.resource_group import SessionGroup
from gpudb.session.results import CopyIn, Notice, Prepared, Result, RowsOfOne, check_columns
from gpudb.session.running import RunningStatement
from gpudb.session.settings.catalog import FRIENDLY, SettingValues, parse_milliseconds
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.state.large_object_descriptors import Descriptors
from gpudb.session.state.prepared_statements import PreparedStatements
from gpudb.session.state.sequence_cache import SequenceCache
from gpudb.session.transactions import Transactions
from gpudb.sql.accesses import Accesses
from gpudb.sql.bind.query.parameter_values import ValuesNeeded
from gpudb.sql.bound import Expr, OutputColumn, Query
from gpudb.sql.parse.interrupts import interrupted_by
from gpudb.sql.parse.literal_rows import LiteralRows, take_literal_rows
from gpudb.sql.parse.nesting import nesting_error
from gpudb.sql.parse.parameter_rows import take_parameter_rows
from gpudb.sql.parse.parser import RawStatement, count_parameters
from gpudb.storage.transaction import Transaction
from gpudb.types import TEXT, UNKNOWN, type_by_oid
from gpudb.values.datetime_style import follow_settings

_LONG_TEXT = 1 << 18
_WITHOUT_SNAPSHOT = frozenset(
    """TransactionStmt LockStmt VariableSetStmt VariableShowStmt ConstraintsSetStmt FetchStmt ListenStmt NotifyStmt
    UnlistenStmt CheckPointStmt""".split()
)
"""Statements that read nothing, after which a transaction may still change its modes."""
_TRAILING = "; \t\r\n"
"""Characters after a statement that its own text lacks."""
_COMMENTS = {pg.SQL_COMMENT, pg.C_COMMENT}
_ENDS = {pg.TRANS_STMT_COMMIT, pg.TRANS_STMT_ROLLBACK, pg.TRANS_STMT_ROLLBACK_TO}


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
        self.client, self.network = client, Network()
        self.system_user: str | None = None
        self.started = dt.datetime.now(dt.UTC)
        self.settings = SettingValues(database.default_settings)
        self.running = RunningStatement(self.settings)
        self.mailbox = Mailbox()
        self.transactions = Transactions(database, database_name, process_id, self.settings, self.mailbox, self)
        self.identity = Identity(role, self.settings, self.transactions, process_id, may_use_schema)
        self.resource_group = SessionGroup(database, database_name, self.identity.authenticated)
        self.plans = Plans(self, database.plans, dispatcher)
        self.frames: dict[str, pa.Table] = {}
        self.frame_columns: dict[str, tuple[OutputColumn, ...]] = {}
        self.transition_tables: tuple[str, ...] = ()
        self.triggered: list[int] = []
        self.notices: list[Notice] = []
        self.told_of_files: set[str] = set()
        self.prepared = PreparedStatements()
        self.shared_rows: list[SharedRows] = []
        self.processes = OwnedProcesses()
        self.cursors: dict[str, Cursor] = {}
        self.descriptors = Descriptors()
        self.sequences = SequenceCache()
        self.deferred_checks = DeferredChecks()
        self.accesses: Accesses | None = None
        self.on_terminate: Callable[[], None] | None = None
        self.is_embedded = False
        self.measures: Measures = {}
        self._dispatcher = dispatcher
        self._closed = False
        catalog = self.transactions.catalog
        self.database_oid = get_database(catalog).oid
        begin_settings(self, catalog, role, settings)

    @property
    def user(self) -> str:
        """The current role, whose privileges the session has."""
        return self.identity.user

    @property
    def temporary_schema(self) -> str:
        """The schema of the session's temporary relations."""
        return self.identity.temporary_schema

    def search_path(self) -> tuple[str, ...]:
        """The schemas that resolve unqualified names (see `identity.Identity`)."""
        return self.identity.search_path()

    @property
    def status(self) -> str:
        """The transaction status byte: I, T or E."""
        return self.transactions.status

    @property
    def has_idle_limits(self) -> bool:
        """Whether a setting ends clients that are idle (see `interfaces.SessionInterface`)."""
        return self.running.has_idle_limits

    def milliseconds(self, name: str) -> int:
        """A time setting in milliseconds; 0 is none."""
        return parse_milliseconds(self.settings[name])

    # -------------------------------------------------------------------------------------------- statements

    def run(self, sql: str) -> Iterator[Result]:
        """Simple protocol (see `interfaces.SessionInterface.run`)."""
        finished = False
        try:
            statements, plan = self._parse(sql)
            if not statements:
                yield Result("")
            several = len(statements) > 1
            for index, statement in enumerate(statements):
                last = index == len(statements) - 1
                self.running.part = statement.text if several else ""
                result = self._start(statement, (), plan=plan)
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

    def _parse(self, sql: str) -> tuple[list[RawStatement], Plan | None]:
        """Returns the statements of a text, and the plan if it is one statement whose plan is known."""
        self.running.text = sql
        control = transaction_controls.get(sql)
        if control is not None:
            return [control], None
        rows = self._take_rows(sql)
        if rows is not None:
            plan = self.plans.find_for_rows(rows)
            if plan is not None:
                return [plan.statement.with_rows(sql.rstrip(_TRAILING), rows)], plan
        else:
            plan = self.plans.find(sql.rstrip(_TRAILING))
            if plan is not None:
                return [plan.statement], plan
        return self._parse_text(sql, rows), None

    def _take_rows(self, sql: str) -> LiteralRows | None:
        """Returns the literal rows of an INSERT; None for any other text. A cancel request ends a long one."""
        if not _is_insert(sql):
            return None
        if len(sql) < _LONG_TEXT:
            return take_literal_rows(sql)
        cancel, started = self.running.begin_parsing(is_long=True), perf_counter()
        try:
            with interrupted_by(cancel.check):
                rows = take_literal_rows(sql)
            cancel.check()
        finally:
            self.running.end_parsing()
        self.running.parsed_s = perf_counter() - started
        return rows

    def _parse_text(self, sql: str, rows: LiteralRows | None = None) -> list[RawStatement]:
        """Parses a text, of which `rows` are the literal rows. A cancel request, or statement_timeout, ends a long
        parse.
        """
        is_long = len(sql) >= _LONG_TEXT
        cancel, started = self.running.begin_parsing(is_long=is_long), perf_counter()
        try:
            with interrupted_by(cancel.check):
                friendly = self.settings[FRIENDLY] == "on"
                statements = (
                    parse_statements(sql, friendly=friendly) if rows is None else [parse_literal_rows(sql, rows)]
                )
            cancel.check()
        finally:
            self.running.end_parsing()
            self.measures["parse"] = perf_counter() - started
        self.running.parsed_s = self.running.parsed_s + self.measures["parse"] if is_long else 0.0
        return statements

    def prepare(self, sql: str, parameter_oids: Sequence[int] = ()) -> Prepared:
        """Parses and binds one statement (see `interfaces.SessionInterface.prepare`)."""
        self.running.text, self.running.part = sql, ""
        follow_settings(self.settings)
        try:
            if _is_insert(sql) and (rows := take_parameter_rows(sql)) is not None:
                found = prepare_rows(rows, sql, parameter_oids, self._prepare)
                if found is not None:
                    return found
            return self._prepare(sql, parameter_oids)
        except GpudbError:
            self.fail()
            raise
        except RecursionError:
            self.fail()
            raise nesting_error() from None

    def _prepare(self, sql: str, parameter_oids: Sequence[int]) -> Prepared:
        """Parses and binds one statement, which may be a part of the one that runs."""
        oids = tuple(parameter_oids)
        rows = self._take_rows(sql)
        known = self.plans.find(sql.rstrip(_TRAILING), oids) if rows is None else None
        if known is not None:
            self._check_not_failed(known.statement)
            self.transactions.begin()
            return Prepared(
                sql, known.parameters, known.columns, known.statement, repeats=_repeats(known.statement, known)
            )
        statements = self._parse_text(sql, rows)
        if len(statements) > 1:
            message = "cannot insert multiple commands into a prepared statement"
            raise SqlError.of("syntax_error", message)
        if not statements:
            return Prepared(sql, (), None, None)
        statement = statements[0]
        self._check_not_failed(statement)
        describe = self._dispatcher.describer(statement)
        if describe is not None:
            parameters, columns = describe(Context(self, statement, self.transactions.begin(), Cancel(), (), oids))
            return Prepared(sql, parameters, columns, statement)
        if not self._dispatcher.has_bound_form(statement):
            return Prepared(sql, (), self._dispatcher.columns(self, statement), statement)
        cancel, started = self.running.begin()
        try:
            context = Context(self, statement, self.transactions.begin(started), cancel)
            plan = self.plans.bind(context, oids, describing=True)
        except ValuesNeeded:
            given = tuple(oids[number] if number < len(oids) else 0 for number in range(count_parameters(statement)))
            types = tuple(TEXT if oid in (0, UNKNOWN.oid) else type_by_oid(oid) for oid in given)
            return Prepared(sql, types, None, statement, given_oids=given)
        finally:
            self.running.end()
        return Prepared(sql, plan.parameters, plan.columns, statement, repeats=_repeats(statement, plan))

    def bind_values(self, prepared: Prepared, values: Sequence[object]) -> Prepared:
        """Binds a statement by the values of its parameters (see `interfaces.SessionInterface.bind_values`)."""
        statement = prepared.statement
        assert isinstance(statement, RawStatement)
        assert prepared.given_oids is not None
        self.running.text, self.running.part = prepared.sql, ""
        try:
            self._check_not_failed(statement)
            cancel, started = self.running.begin()
            try:
                context = Context(self, statement, self.transactions.begin(started), cancel, tuple(values))
                plan = self.plans.bind(context, prepared.given_oids)
            finally:
                self.running.end()
            return Prepared(prepared.sql, plan.parameters, plan.columns, statement)
        except GpudbError:
            self.fail()
            raise

    def find_function(self, oid: int) -> tuple[str, tuple[int, ...]] | None:
        """Returns a function's name and argument types (see `interfaces.SessionInterface.find_function`)."""
        known = functions_by_oid().get(oid)
        if known is not None:
            return f"pg_catalog.{quote_name(known.name)}", tuple(each.oid for each in known.args)
        routine = self.transactions.catalog.find_routine_by_oid(oid)
        if routine is None:
            return None
        return f"{quote_name(routine.schema)}.{quote_name(routine.name)}", tuple(e.type.oid for e in routine.inputs)

    def execute(self, prepared: Prepared, parameters: Sequence[object] = ()) -> Result:
        """Runs a prepared statement (see `interfaces.SessionInterface.execute`)."""
        self.running.text, self.running.part = prepared.sql, ""
        if prepared.rows is not None:
            try:
                result = self._execute_rows(prepared.rows, parameters)
                if result is not None:
                    return result
                prepared = self._prepare(prepared.sql, prepared.rows.oids)
            except GpudbError:
                self.fail()
                raise
        statement, oids = prepared.statement, prepared.oids
        if statement is None:
            return Result("")
        assert isinstance(statement, RawStatement)
        try:
            # That within EXECUTE DIRECT means another statement by itself.
            is_known = statement.kind in BINDABLE and statement.direct_node is None
            plan = self.plans.find_for_statement(statement, oids) if is_known else None
            result = self._start(statement, tuple(parameters), oids=oids, plan=plan)
            return result if result.columns is prepared.columns else check_columns(prepared, result)
        except GpudbError:
            self.fail()
            raise

    def _execute_rows(self, prepared: RowsOfOne, parameters: Sequence[object]) -> Result | None:
        """Runs the INSERT of one row for all rows of parameters; None if the statement has to run whole."""
        rows, one = prepared.split(parameters), prepared.prepared
        if rows is None or self.transactions.failed:
            return None
        assert isinstance(one.statement, RawStatement)
        plan = self.plans.find_for_statement(one.statement, one.oids)
        if plan is None:  # what it was bound to has changed
            one = self._prepare(one.sql, one.oids)
            plan = self.plans.find(one.sql, one.oids)
        if plan is None or not isinstance(one.statement, RawStatement):
            return None
        try:
            return self._start(one.statement, rows[0], oids=one.oids, plan=plan, rows=rows)
        except FeatureNotSupported:
            return None
        except GpudbError:
            if prepared.is_uniform:
                raise
            return None  # a row's error may be another in its own types

    def execute_together(self, prepared: Prepared, rows: Sequence[tuple[object, ...]]) -> bool:
        """Runs an INSERT for several values of its parameters (see `interfaces.SessionInterface.execute_together`)."""
        self.running.text, self.running.part = prepared.sql, ""
        statement, oids = prepared.statement, prepared.oids
        assert isinstance(statement, RawStatement)
        plan = self.plans.find_for_statement(statement, oids)
        if plan is None or self.transactions.failed:
            return False
        try:
            self._start(statement, rows[0], oids=oids, plan=plan, rows=rows)
        except QueryCanceled:
            self.fail()
            raise
        except GpudbError:
            return False
        return True

    def _check_not_failed(self, statement: RawStatement) -> None:
        if self.transactions.failed and not _ends_transaction(statement):
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise InFailedTransaction(message)

    def _start(
        self,
        statement: RawStatement,
        parameters: tuple[object, ...],
        *,
        oids: tuple[int, ...] = (),
        plan: Plan | None = None,
        rows: Sequence[tuple[object, ...]] = (),
    ) -> Result:
        """Runs a statement, of which `plan` is what the plan cache has; for several `rows` of parameters if given."""
        self._check_not_failed(statement)
        handler = self.handlers.get(statement.kind)
        if handler is None:
            raise FeatureNotSupported(f"{_leading_keywords(statement)} is not supported")
        cancel, started = self.running.begin()
        follow_settings(self.settings)
        try:
            self._enter_group(statement, cancel)
            reads = statement.kind not in _WITHOUT_SNAPSHOT
            transaction = self.transactions.begin(started, reads=reads)
            self.transactions.has_snapshot |= reads
            context = Context(self, statement, transaction, cancel, parameters, oids, started, plan)
            context.parameter_rows = rows
            if plan is None:
                check_stored_literals(statement)
            result = self._handle(handler, context)
        except BaseException as error:
            self.running.end()
            if self.transactions.current is None:
                self.resource_group.leave()  # it did not even begin
            if isinstance(error, GpudbError):
                self.hide_values(error)
                if statement.start and error.position:
                    error.position += statement.start
            if isinstance(error, RecursionError):
                raise nesting_error() from None
            raise
        if isinstance(result, CopyIn):
            result.feed, result.finish = self._hiding_values(result.feed), self._hiding_values(result.finish)
        if result.columns is None and not isinstance(result, CopyIn) and not hasattr(result, "chunks"):
            self.running.end()
        else:
            close = result.close

            def closed() -> None:
                close()
                self.running.end()

            result.close = closed
        return result

    def _enter_group(self, statement: RawStatement, cancel: Cancel) -> None:
        """Returns once the transaction has a place in its resource group, whose limit of time begins then."""
        group = self.resource_group.enter(statement.kind, cancel)
        if group.statement_seconds is not None:
            reason = f'canceling statement due to statement_seconds of resource group "{group.name}"'
            self.running.limit(cancel, group.statement_seconds, reason)

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
            self.plans.remember_scale(context, layout.scale)
            return result
        finally:
            LAYOUT.reset(token)

    def _begin_elsewhere(self, context: Context, layout: Layout, failure: int) -> None:
        """Lets a statement that has failed after its first rows begin in another layout when it runs again."""
        scale = next_scale({layout.scale: failure})
        if scale is not None:
            self.plans.remember_scale(context, scale)

    def hide_values(self, error: GpudbError, catalog: Catalog | None = None) -> None:
        """Takes values that the current role may not read out of an error."""
        if error.shown is not None:
            hide_values(catalog or self.transactions.catalog, self.user, self.accesses, error)

    def _hiding_values(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*operands: Any) -> Any:
            try:
                return call(*operands)
            except GpudbError as error:
                self.hide_values(error)
                raise

        return called

    # -------------------------------------------------------------------------------------------- for statements

    def plan(self, context: Context) -> Plan:
        """Returns the plan of a context's statement (see `plans.Plans.get`)."""
        return self.plans.get(context)

    def check_schema(self, name: str) -> None:
        """42501 for a schema that the current role may not use."""
        check_schema(self.transactions.catalog, self.identity, name)

    def evaluate_integer(self, context: Context, expr: Expr) -> int | None:
        """Returns the value of an expression without columns (see `context.SessionState`)."""
        return evaluate_integer(context, expr)

    def open_files(self, context: Context, request: FileRequest, role: str | None) -> FileTable:
        """Returns the files that a statement names (see `context.SessionState`)."""
        return open_files(context, request, role)

    def fetch_texts(self, context: Context, query: Query, accesses: Accesses) -> list[str]:
        """Returns the rows of a query of one column of texts (see `context.SessionState`)."""
        return fetch_texts(context, query, accesses)

    def run_bound_query(self, context: Context, query: Query) -> Stream:
        """Runs a bound query with the parameters of a context."""
        return run_query(context, query)

    def resolve_procedure(self, context: Context) -> Routine:
        """Returns the procedure that a context's CALL names (see `context.SessionState`)."""
        from gpudb.session.routines.call import resolve_procedure

        return resolve_procedure(context)

    # -------------------------------------------------------------------------------------------- transactions

    def fail(self) -> None:
        """Marks the transaction as failed."""
        self.transactions.fail()

    def sync(self) -> None:
        """Ends the implicit transaction: commits it, or rolls it back after an error."""
        self.transactions.sync()

    def transaction_ends(self, committed: bool) -> None:
        """Ends what belongs to a transaction that is committed or rolled back."""
        if self.descriptors:
            self.descriptors.clear()
        if self.cursors or self.shared_rows or not committed:
            self._dispatcher.transaction_ended(self, committed)

    def transaction_ended(self) -> None:
        """Ends the transaction's place in its resource group, and what SET CONSTRAINTS said in it."""
        self.resource_group.leave()
        checks = self.deferred_checks
        if checks.pending or checks.by_oid or checks.default is not None:
            self.deferred_checks = DeferredChecks()

    def is_deferred(self, exclusion: Exclusion) -> bool:
        """Returns whether an exclusion is checked at the end of the transaction."""
        return self.deferred_checks.is_deferred(exclusion)

    def before_commit(self, transaction: Transaction) -> None:
        """Runs what precedes a commit."""
        if self.deferred_checks.pending or self.temporary_schema in transaction.catalog.schemas:
            self._dispatcher.before_commit(self, transaction)

    # -------------------------------------------------------------------------------------------- the end

    def log_slow(self, text: str, seconds: float) -> None:
        """Logs a slow statement (see `interfaces.SessionInterface`)."""
        self._dispatcher.log_slow(self, text, seconds)

    def cancel(self) -> None:
        """Cancels the running statement with 57014."""
        self.running.cancel()

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
            if self.transactions.current is not None:
                self.transactions.end(commit=False)
            self._dispatcher.session_closed(self)
        finally:
            self.resource_group.leave()
            self.processes.close()
            self.database.forget(self.process_id)


def _is_insert(sql: str) -> bool:
    """Returns whether a text begins with INSERT."""
    return sql[:64].lstrip()[:6].lower() == "insert" or (sql[:64].isspace() and sql.lstrip()[:6].lower() == "insert")


def _repeats(statement: RawStatement, plan: Plan) -> bool:
    """Returns whether executions of a statement that follow each other may run together."""
    return statement.kind == "InsertStmt" and plan.columns is None and bool(plan.parameters)


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

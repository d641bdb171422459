"""What a session knows of statements by their kind alone; most kinds are imported as statements need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpudb.session.context import Describer, Handler, SessionState
from gpudb.session.execution.binding.binding import BINDABLE
from gpudb.session.results import ResultColumn
from gpudb.session.state.deferral import DeferredChecks
from gpudb.session.statements import query, transactions
from gpudb.sql.parse.parser import RawStatement
from gpudb.storage.transaction import Transaction

_FIRST: Mapping[str, Handler] = {"SelectStmt": query.select, "TransactionStmt": transactions.transaction}
"""Handlers that do not import the others."""
_found = dict(_FIRST)
"""Handlers that were asked for."""


class _Handlers(Mapping[str, Handler]):
    """Handlers by the parse tree's name for a kind of statement; imported with the first one that is not in _FIRST."""

    def __getitem__(self, kind: str) -> Handler:
        found = _found.get(kind)
        if found is None:
            found = _found[kind] = _all_handlers()[kind]
        return found

    def get(self, kind: str, default: Any = None) -> Any:
        """Returns the handler of a kind."""
        return _found.get(kind) or super().get(kind, default)

    def __iter__(self) -> Iterator[str]:
        return iter(_all_handlers())

    def __len__(self) -> int:
        return len(_all_handlers())


def _all_handlers() -> Mapping[str, Handler]:
    from gpudb.session.handlers import HANDLERS

    return HANDLERS


def import_handlers() -> None:
    """Imports the handlers of all kinds of statements, which otherwise the first statement of another kind does."""
    _all_handlers()


class StatementDispatcher:
    """What a session knows of statements by their kind alone (see `session.Dispatcher`)."""

    handlers: Mapping[str, Handler] = _Handlers()

    def describer(self, statement: RawStatement) -> Describer | None:
        """The function that describes a statement with parameters but no bound form; None for any other statement."""
        match statement.kind:
            case "CallStmt":
                from gpudb.session.ddl.foreign_data.register_table import describe_procedure

                return describe_procedure
            case "DeclareCursorStmt":
                from gpudb.session.cursors.statements import describe_declare

                return describe_declare
            case "ExplainStmt":
                from gpudb.session.statements.explain import describe_explain

                return describe_explain
            case "CreateTableAsStmt":
                from gpudb.session.ddl.tables.create_table import describe_table_as, is_table_of_query

                return describe_table_as if is_table_of_query(statement) else None
            case _:
                return None

    def has_bound_form(self, statement: RawStatement) -> bool:
        """Whether the binder binds a statement as a whole."""
        return statement.kind in BINDABLE and not statement.is_function

    def columns(self, session: SessionState, statement: RawStatement) -> tuple[ResultColumn, ...] | None:
        """The result columns of a statement without a bound form; None for one without rows."""
        node: Any = statement.node
        match statement.kind:
            case "SelectStmt" if statement.is_function:
                from gpudb.session.copy.load_data import function_columns

                return function_columns(statement)
            case "VariableShowStmt":
                from gpudb.session.statements.set_show import show_columns

                return show_columns(node.name)
            case "ModelStmt" if statement.model_statement is not None:
                from gpudb.session.statements.models import show_columns as show_model_columns

                return show_model_columns(statement.model_statement)
            case "ExplainStmt":
                from gpudb.session.statements.explain import plan_columns

                return plan_columns(node)
            case "ExecuteStmt":
                return session.prepared[node.name].columns
            case "FetchStmt":
                from gpudb.session.cursors.statements import fetch_columns

                return fetch_columns(session, node)
            case _:
                return None

    def before_commit(self, session: SessionState, transaction: Transaction) -> None:
        """Runs deferred checks, and the ON COMMIT actions of temporary tables."""
        if session.deferred_checks.pending:
            from gpudb.session.dml import set_constraints

            set_constraints.run_deferred_checks(session, transaction)
        if session.temporary_schema in transaction.catalog.schemas:
            from gpudb.session.ddl.tables import temporary_tables

            temporary_tables.run_on_commit(session, transaction)

    def transaction_ended(self, session: SessionState, committed: bool) -> None:
        """Closes the cursors of a transaction, and its shared rows; a rollback ends its deferred checks."""
        if session.cursors:
            from gpudb.session.cursors import open_cursors

            open_cursors.end_transaction(session, committed)
        if session.shared_rows:
            from gpudb.session.copy import share_rows

            share_rows.end_transaction(session)
        if not committed:
            session.deferred_checks = DeferredChecks()

    def log_slow(self, session: SessionState, text: str, seconds: float) -> None:
        """Logs a statement that took so many seconds."""
        from gpudb.session.statements import slow_log

        slow_log.log_slow(session, text, seconds)

    def session_closed(self, session: SessionState) -> None:
        """Drops the temporary tables of a session, and releases its advisory locks."""
        store = session.database.store
        try:
            catalog = store.catalogs().get(session.database_name)
            if catalog is not None and session.temporary_schema in catalog.schemas:
                from gpudb.session.ddl.tables.temporary_tables import drop_schema

                drop_schema(session)
        finally:
            if store.locks.held:
                from gpudb.session.execution.locks_and_snapshots.advisory_locks import unlock_all

                unlock_all(session)

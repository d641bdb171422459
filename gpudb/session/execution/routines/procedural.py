"""The session as PL/pgSQL sees it: it binds and runs the statements of bodies, and undoes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import pyarrow as pa
from postgast import pg_query_pb2 as pg

from gpudb.catalog.routines import Routine
from gpudb.catalog.row_types import get_row_type
from gpudb.engine.protocol import Cancel
from gpudb.errors import FeatureNotSupported, GpudbError, SqlError, UndefinedFunction
from gpudb.functions.carried import LAYOUT, Layout, bind_in_layout, layout_failure
from gpudb.functions.registry import Function
from gpudb.plpgsql.host import Bound, Outcome
from gpudb.session.authorization.authorize import authorize
from gpudb.session.context import Context
from gpudb.session.execution.binding.binding import bind_statement, parse_statements
from gpudb.session.execution.binding.record_stars import expand_record_stars
from gpudb.session.execution.locks_and_snapshots.savepoints import restore_savepoint, take_savepoint
from gpudb.session.execution.requests.layouts import handle_in_layouts, read_ahead
from gpudb.session.execution.routines.acting import check_volatility, read_newest
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.session.results import CopyIn, CopyOut, Result, result_columns
from gpudb.session.settings.catalog import FRIENDLY
from gpudb.session.state.cursors import Cursor
from gpudb.session.state.scrolling import ScrolledRows
from gpudb.sql.bind.base import Arguments, Binder
from gpudb.sql.bind.types.type_names import resolve_value_type
from gpudb.sql.bound import Query, Scan, Select
from gpudb.sql.parse.parser import RawStatement, changes_data, inner, parse, strings
from gpudb.sql.traverse import walk
from gpudb.types import SqlType

_REFUSED = {
    "TransactionStmt": "unsupported transaction command in PL/pgSQL",
    "CopyStmt": "cannot COPY to/from client in PL/pgSQL",
}
_NAMES_VARIABLES = {"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "CreateTableAsStmt",
                    "ExplainStmt", "CallStmt", "DeclareCursorStmt"}  # fmt: skip
_COUNT = re.compile(r"(\d+)$")
_EMPTY = RawStatement(pg.SelectStmt(), "")
_portals = count(1)


@dataclass(slots=True)
class SessionCursor:
    """An open cursor of the session, as bodies use it."""

    name: str
    cursor: Cursor
    cursors: dict[str, Cursor]

    @property
    def columns(self) -> tuple[tuple[str, SqlType], ...]:
        """The names and types of the columns."""
        return tuple((each.name, each.type) for each in self.cursor.columns)

    @property
    def position(self) -> int:
        """The number of the row on which the cursor is, from 1 on."""
        return self.cursor.rows.position

    @position.setter
    def position(self, position: int) -> None:
        self.cursor.rows.position = position

    def fetch(self, direction: str, number: int) -> list[pa.RecordBatch]:
        """Returns rows in a direction (see `plpgsql.host.CursorRows`)."""
        rows = self.cursor.rows
        match direction:
            case "absolute":
                return list(rows.absolute(number))
            case "relative" if number:
                return list(rows.relative(number))
            case "relative":
                number = 0
            case "backward":
                number = -number
        found = rows.forward(number) if number > 0 else rows.backward(-number) if number else rows.current()
        return list(found)

    def close(self) -> None:
        """Closes the cursor, if it is still open."""
        if self.cursors.get(self.name) is self.cursor:
            self.cursors.pop(self.name).result.close()


class SessionHost:
    """The session of one call (see `plpgsql.host.Host`).

    `is_atomic` is whether the transaction may not end within the call.
    """

    def __init__(
        self,
        context: Context,
        call: Callable[[Context, Function, Sequence[object]], object],
        *,
        is_atomic: bool,
        routine: Routine | None = None,
    ) -> None:
        self.context = context
        self._routine = routine
        self.routine_oid = 0 if routine is None else routine.oid
        self._call = call
        self._is_atomic = is_atomic

    @property
    def timezone(self) -> str:
        """The session's time zone."""
        return self.context.session.settings["timezone"]

    def version(self) -> object:
        """Returns what bound statements depend on."""
        session = self.context.session
        return self.context.transaction.catalog.version, session.settings.version, session.identity.definer

    @property
    def cancel(self) -> Cancel:
        """The flag of the statement that runs."""
        return self.context.cancel

    def asserts(self) -> bool:
        """Whether ASSERT is checked."""
        return True

    # ---- binding

    def resolve_type(self, text: str) -> SqlType | None:
        """Returns the type of a declaration; None for record."""
        return resolve_declared_type(self.context, text)

    def binder(self) -> Binder:
        """Returns a binder."""
        return replace(self.context, statement=_EMPTY, arguments=None).binder()

    def split(self, text: str) -> list[str]:
        """Returns the statements of a text."""
        return [each.text for each in self._parse(text)]

    def _parse(self, text: str) -> list[RawStatement]:
        return parse_statements(text, friendly=self.context.session.settings[FRIENDLY] == "on")

    def bind(self, text: str, arguments: Arguments, *, dynamic: bool = False) -> Bound:
        """Parses and binds one statement."""
        statements = self._parse(text)
        if len(statements) != 1:
            raise FeatureNotSupported("several statements, or none, are not supported here")
        (statement,) = statements
        if dynamic and statement.kind == "SelectStmt" and statement.node.HasField("into_clause"):
            hint = "You might want to use EXECUTE ... INTO or EXECUTE CREATE TABLE ... AS instead."
            raise FeatureNotSupported("EXECUTE of SELECT ... INTO is not implemented", hint=hint)
        if statement.kind in _REFUSED and not (statement.kind == "CopyStmt" and statement.node.filename):
            message = _REFUSED[statement.kind]
            if dynamic and statement.kind == "TransactionStmt":
                message = "EXECUTE of transaction commands is not implemented"
            raise FeatureNotSupported(message)
        if statement.kind != "SelectStmt" or changes_data(statement.node) or len(statement.node.locking_clause):
            return Bound(None, statement, statement.kind)
        context = replace(
            self.context, statement=statement, arguments=arguments, parameters=(), parameter_oids=(), session_calls=None
        )
        binder = context.binder()
        try:
            with bind_in_layout() as layout:
                query = bind_statement(binder, statement)
        except GpudbError as error:
            if dynamic and isinstance(error, UndefinedFunction):
                return Bound(None, statement, statement.kind)
            raise
        query = authorize(context, query, binder.accesses)
        assert isinstance(query, Query)
        return Bound(query, statement, "SelectStmt", has_session_calls(query), layout.used, binder.cacheable)

    def prepare_query(self, query: Query) -> Bound:
        """Returns a bound query, ready to run."""
        return Bound(query, _EMPTY, "SelectStmt", has_session_calls(query))

    def output_targets(self, text: str, arguments: Arguments) -> tuple[tuple[str, ...], ...]:
        """Returns the names in the places of a CALL's output parameters."""
        (statement,) = self._parse(text)
        context = replace(self.context, statement=statement, plan=None, arguments=arguments)
        procedure = self.context.session.resolve_procedure(context)
        nodes = list(statement.node.funccall.args)
        found = []
        for place, each in enumerate(procedure.inputs):
            if each.mode not in {"o", "b"}:
                continue
            node = nodes[place] if place < len(nodes) else None
            if node is not None and node.HasField("named_arg_expr"):
                node = node.named_arg_expr.arg
            if node is None or not node.HasField("column_ref"):
                message = f'procedure parameter "{each.name}" is an output parameter but corresponding argument'
                raise SqlError.of("syntax_error", message + " is not writable")
            found.append(strings(node.column_ref.fields))
        return tuple(found)

    # ---- running

    def run(
        self,
        bound: Bound,
        parameters: Sequence[object] = (),
        arguments: Callable[[], Arguments] | None = None,
        *,
        may_end_transaction: bool = False,
    ) -> Outcome:
        """Runs a bound statement."""
        self.context.cancel.check()
        if self._routine is not None:
            check_volatility(self._routine, bound.statement)
        read_newest(self.context, self._routine)
        context = replace(
            self.context,
            statement=bound.statement,
            parameters=tuple(parameters),
            parameter_oids=(),
            arguments=None,
            session_calls=bound.session_calls,
            level=self.context.level + 1,
            may_end_transaction=may_end_transaction and not self._is_atomic,
        )
        if bound.query is None:
            return self._handle(replace(context, session_calls=None), bound, arguments)
        stream = context.session.run_bound_query(context, bound.query)
        columns = tuple((each.name, each.type) for each in bound.query.columns)
        result = Result("SELECT", result_columns(bound.query.columns), iter(stream), stream.close)
        if bound.is_layout_bound and arguments is not None:
            try:
                result = read_ahead(result)
            except GpudbError as error:
                if not layout_failure(error):
                    raise
                return self._handle(replace(context, parameters=(), session_calls=None), bound, arguments)
        return Outcome(0, columns, result.batches, result.close)

    def _handle(self, context: Context, bound: Bound, arguments: Callable[[], Arguments] | None) -> Outcome:
        """Runs a statement by its handler, in other layouts of numerics if values do not fit."""
        handler = context.session.handlers.get(bound.kind)
        if handler is None:
            raise FeatureNotSupported(f"{bound.statement.text.split()[0].upper()} is not supported")
        if arguments is not None and bound.kind in _NAMES_VARIABLES:
            context.arguments = arguments()
            node = expand_record_stars(bound.statement.node, context.arguments)
            if node is not bound.statement.node:
                context.statement = replace(bound.statement, node=node)
        context.transaction = self.context.transaction
        layout, catalog = Layout(), context.transaction.catalog
        token = LAYOUT.set(layout)
        try:
            result = handler(context)
            result = read_ahead(result) if layout.used else result
        except GpudbError as error:
            if not layout.used or not layout_failure(error):
                raise
            result = handle_in_layouts(handler, context, layout, error, catalog)
        finally:
            LAYOUT.reset(token)
        self.context.transaction = context.transaction
        if isinstance(result, CopyIn | CopyOut):
            result.close()
            raise FeatureNotSupported(_REFUSED["CopyStmt"])
        if result.columns is None:
            result.close()
            found = _COUNT.search(result.tag)
            return Outcome(int(found[1]) if found else 0)
        batches = list(result.batches)
        result.close()
        columns = tuple((each.name, each.type) for each in result.columns)
        return Outcome(sum(each.num_rows for each in batches), columns, iter(batches))

    def call_routine(self, function: Function, values: Sequence[object]) -> object:
        """Calls a function that returns one value."""
        self.context.cancel.check()
        return self._call(self.context, function, values)

    # ---- transactions

    def savepoint(self) -> object:
        """Returns the state of the transaction."""
        return take_savepoint(self.context)

    def rollback_to(self, savepoint: Any) -> None:
        """Undoes what was changed since a savepoint."""
        restore_savepoint(self.context, savepoint)

    def end_transaction(self, *, commit: bool, chain: bool) -> None:
        """Commits or rolls back the transaction, and begins another; 2D000."""
        if self._is_atomic:
            raise SqlError.of("invalid_transaction_termination", "invalid transaction termination")
        self.context.transaction = self.context.session.transactions.restart(commit=commit, chain=chain)

    # ---- messages

    def notice(self, message: str, severity: str, sqlstate: str, detail: str | None, hint: str | None) -> None:
        """Sends the client a message."""
        more = {name: text for name, text in (("detail", detail), ("hint", hint)) if text is not None}
        self.context.notice(message, severity=severity, sqlstate=sqlstate, **more)

    # ---- cursors

    def open_cursor(self, name: str | None, bound: Bound, parameters: Sequence[object], scroll: bool | None) -> str:
        """Opens a cursor, and returns its name; 42P03."""
        session = self.context.session
        if name is None:
            name = f"<unnamed portal {next(_portals)}>"
        if name in session.cursors:
            raise SqlError.of("duplicate_cursor", f'cursor "{name}" already in use')
        assert bound.query is not None
        outcome = self.run(bound, parameters)
        tables = frozenset(each.table.oid for each in walk(bound.query) if isinstance(each, Scan))
        columns = result_columns(bound.query.columns)
        result = Result("SELECT", columns, outcome.batches, outcome.close)
        rows = ScrolledRows(result.batches, scroll)
        catalog = self.context.transaction.catalog
        text, values = bound.statement.text, tuple(parameters)
        session.cursors[name] = Cursor(columns, result, rows, text, tables, bound.query, catalog, values)
        self.context.transaction.keeps_places |= isinstance(bound.query, Select)
        return name

    def find_cursor(self, name: str) -> SessionCursor:
        """Returns an open cursor; 34000."""
        cursors = self.context.session.cursors
        found = cursors.get(name)
        if found is None:
            raise SqlError.of("invalid_cursor_name", f'cursor "{name}" does not exist')
        return SessionCursor(name, found, cursors)

    def close_cursor(self, name: str) -> None:
        """Closes a cursor; 34000."""
        self.find_cursor(name).close()


def resolve_declared_type(context: Context, text: str) -> SqlType | None:
    """Returns the type of a declaration: a type, the type of a column (%TYPE) or of a row; None for record."""
    lowered = text.lower()
    catalog, path = context.transaction.catalog, context.session.search_path()
    if "%" in text:
        name = text[: text.rindex("%")].strip()
        kind = lowered[lowered.rindex("%") + 1 :].strip()
        names = strings(inner(parse(f"SELECT {name}")[0].node.target_list[0]).val.column_ref.fields)
        if kind == "rowtype":
            relation = catalog.find(names[-1], names[-2:-1] or path)
            if relation is None:
                raise SqlError.of("undefined_table", f'relation "{".".join(names)}" does not exist')
            return get_row_type(relation)
        relation = catalog.find(names[-2], names[-3:-2] or path) if len(names) > 1 else None
        columns = relation.columns if relation is not None else ()
        column = next((each for each in columns if each.name == names[-1]), None)
        if column is None:
            where = f'invalid type name "{text}"'
            raise SqlError.of("syntax_error", 'syntax error at or near "%"', where=where)
        return column.type
    if lowered.strip() == "record":
        return None
    node: Any = inner(inner(parse(f"SELECT NULL::{text}")[0].node.target_list[0]).val).type_name
    names = strings(node.names)
    if not len(node.array_bounds) and names[0] != "pg_catalog":
        relation = catalog.find(names[-1], names[-2:-1] or path)
        if relation is not None:
            return get_row_type(relation)
    binder = replace(context, statement=_EMPTY, arguments=None).binder()
    return resolve_value_type(node, binder)

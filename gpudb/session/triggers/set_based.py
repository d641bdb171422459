"""Row-level triggers over all rows at once: bodies of IF, assignments to NEW, INSERT … VALUES and RETURN.

Such a body is bound once over OLD and NEW as relations: a condition becomes a filter, an assignment an expression in
the place of a column, and an INSERT one that selects its values. What does not fit, or fails for a row, runs row by
row, so that errors are those of the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from gpudb.catalog.languages import TRAITS
from gpudb.catalog.model import FIRST_USER_OID
from gpudb.catalog.row_types import get_row_type
from gpudb.catalog.tables import Table
from gpudb.catalog.triggers import AFTER, DELETE, Trigger
from gpudb.errors import GpudbError
from gpudb.plpgsql.plans import shift_arguments
from gpudb.plpgsql.scope import Fragment
from gpudb.plpgsql.tree import Assign, Body, If, Null, Raise, Return, Sql, Statement
from gpudb.session.authorization.authorize import check_accesses
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.session.execution.routines.acting import act_for
from gpudb.session.execution.routines.bodies import TRIGGER_VARIABLES, parse_routine
from gpudb.session.triggers.calls import list_variables
from gpudb.sql.bind.base import Arguments
from gpudb.sql.bind.binder import StatementBinder
from gpudb.sql.bind.dml.checks import parse_expression
from gpudb.sql.bind.dml.insert import bind_insert
from gpudb.sql.bind.dml.trigger_conditions import list_frame_columns
from gpudb.sql.bind.expressions.expressions import bind_expression
from gpudb.sql.bind.expressions.operators import conjunction
from gpudb.sql.bind.query.sources import table_columns
from gpudb.sql.bind.scope import NamespaceItem, Scope
from gpudb.sql.bind.types.coercion import coerce_to_column
from gpudb.sql.bound import (
    NEW_ROWS,
    Aggregate,
    AnySubquery,
    ArraySubquery,
    BoolOp,
    Call,
    Case,
    Column,
    Constant,
    Exists,
    Expr,
    FrameScan,
    Insert,
    OutputColumn,
    ScalarSubquery,
    Select,
    SetReturning,
    Test,
    Values,
    Window,
)
from gpudb.sql.parse.parser import inner, parse, present
from gpudb.sql.traverse import has_volatile, walk
from gpudb.types import BOOL

Append = Callable[[Context, Table, Sequence[pa.RecordBatch]], None]
"""Appends rows to a table, after its checks."""
_FEWEST_ROWS = 4
_MOST_NODES = 2000
_QUERIES = (ScalarSubquery, ArraySubquery, AnySubquery, Exists, Aggregate, SetReturning, Window)
_EFFECTS = frozenset(
    """currval lastval setval pg_export_snapshot pg_notify set_config pg_cancel_backend pg_terminate_backend
    pg_trigger_depth""".split()
)
TRUE = Constant(True, BOOL)


class _NotSetBased(Exception):
    """The body has to run row by row."""


@dataclass(slots=True)
class _Effects:
    """What a body does for rows: inserts under conditions, the rows that it skips, and those for which it raises."""

    inserts: list[tuple[Insert, Expr | None]] = field(default_factory=list)
    skips: list[Expr] = field(default_factory=list)
    raises: list[Expr] = field(default_factory=list)


def run_for_rows(
    context: Context,
    table: Table,
    trigger: Trigger,
    event: str,
    new: pa.Table | None,
    old: pa.Table | None,
    append: Append,
) -> tuple[pa.Table, pa.Array] | None:
    """Runs a trigger's function for all rows at once; None if it has to run row by row, and nothing was done.

    Returns the rows NEW afterwards, or OLD of a DELETE, and which rows the function did not skip.
    """
    rows = old if new is None else new
    assert rows is not None
    routine = context.transaction.catalog.find_routine_by_oid(trigger.function)
    if routine is None or not TRAITS[routine.language].has_statements or rows.num_rows < _FEWEST_ROWS:
        return None
    savepoint = context.transaction.savepoint()
    inside = replace(context, plan=None, session_calls=None, arguments=None, parameters=())
    try:
        with act_for(context.session, context.transaction.catalog, routine):
            body = parse_routine(inside, routine, get_row_type(table))
            run = _Run(inside, table, trigger, event, has_new=new is not None, has_old=old is not None)
            run.read(body)
            frame = _pair(table, new, old)
            return run.execute(frame, rows, append)
    except (GpudbError, _NotSetBased, RecursionError):
        context.transaction.rollback_to(savepoint)
        return None


def _pair(table: Table, new: pa.Table | None, old: pa.Table | None) -> pa.Table:
    rows = new if new is not None else old
    assert rows is not None
    columns: list[Any] = []
    for side in (new, old):
        for place, column in enumerate(table.columns):
            columns.append(pa.nulls(rows.num_rows, column.type.arrow) if side is None else side.column(place))
    return pa.table(columns, names=[column.name for column in list_frame_columns(table)])


class _Run:
    """One body over the rows of one event."""

    def __init__(
        self, context: Context, table: Table, trigger: Trigger, event: str, *, has_new: bool, has_old: bool
    ) -> None:
        self._context, self._table, self._trigger, self._event = context, table, trigger, event
        self._has_new, self._has_old = has_new, has_old
        self._binder: StatementBinder = context.binder()
        variables = list_variables(table, trigger, event)
        values = tuple(Constant(variables[name], item) for name, item in TRIGGER_VARIABLES.items())
        self._binder.arguments = Arguments("", tuple(TRIGGER_VARIABLES), values)
        self._rel = self._binder.new_rel()
        width = len(table.columns)
        self._new: list[Expr] = [Column(self._rel, n, c.type, c.name) for n, c in enumerate(table.columns)]
        self._old: list[Expr] = [Column(self._rel, width + n, c.type, c.name) for n, c in enumerate(table.columns)]
        self._effects = _Effects()
        self._assigns = False
        self._source = FrameScan(self._rel, NEW_ROWS, list_frame_columns(table))

    # ---- reading

    def read(self, body: Body) -> None:
        """Reads a body; raises _NotSetBased for one that has to run row by row."""
        block = body.block
        if block.variables or block.handlers or block.label or body.conflict != "error":
            raise _NotSetBased
        left = self._read_statements(block.body, None)
        if left is not _NOBODY:
            raise _NotSetBased  # the function may end without RETURN

    def _read_statements(self, statements: Sequence[Statement], guard: Expr | None) -> Any:
        """Reads statements for the rows of a condition, None for all; returns the condition of those that go on."""
        for each in statements:
            if guard is _NOBODY:
                break
            guard = self._read_statement(each, guard)
        return guard

    def _read_statement(self, statement: Statement, guard: Expr | None) -> Any:
        match statement:
            case Null():
                return guard
            case Return(value=value) if value is not None:
                self._read_return(value, guard)
                return _NOBODY
            case If():
                return self._read_if(statement, guard)
            case Assign():
                self._read_assignment(statement, guard)
                return guard
            case Sql(into=None):
                self._effects.inserts.append((self._read_insert(statement.query), guard))
                return guard
            case Raise(level="exception"):
                if guard is None:
                    raise _NotSetBased
                self._effects.raises.append(guard)
                return _NOBODY
        raise _NotSetBased

    def _read_return(self, value: Fragment, guard: Expr | None) -> None:
        word = value.text.strip().lower()
        if word not in {"new", "old", "null"}:
            raise _NotSetBased
        if self._trigger.timing == AFTER:
            return
        if word == ("old" if self._event == DELETE else "new"):
            return
        if word == "old" and self._has_old:
            raise _NotSetBased
        self._effects.skips.append(TRUE if guard is None else guard)

    def _read_if(self, statement: If, guard: Expr | None) -> Any:
        left: list[Any] = []
        rest: Expr | None = guard
        for condition, body, _ in statement.branches:
            test = self._bind_condition(condition)
            if not _reads_columns(test):
                if self._evaluate(test):
                    left.append(self._read_statements(body, rest))
                    rest = _NOBODY
                    break
                continue
            holds = Test(test, "TRUE")
            left.append(self._read_statements(body, holds if rest is None else conjunction([rest, holds])))
            fails = Test(test, "TRUE", True)
            rest = fails if rest is None else conjunction([rest, fails])
        if rest is not _NOBODY:
            left.append(self._read_statements(statement.otherwise, rest))
        going = [each for each in left if each is not _NOBODY]
        if len(going) == len(left) and not _has_returned(statement):
            return guard
        if not going:
            return _NOBODY
        if any(each is None for each in going):
            return None
        return going[0] if len(going) == 1 else BoolOp("OR", tuple(going))

    def _read_assignment(self, statement: Assign, guard: Expr | None) -> None:
        target = statement.target
        if statement.subscripts or target.variable.name != "new" or len(target.path) != 1 or not self._has_new:
            raise _NotSetBased
        names = [column.name for column in self._table.columns]
        if target.path[0] not in names:
            raise _NotSetBased
        place = names.index(target.path[0])
        column = self._table.columns[place]
        value = coerce_to_column(self._binder, self._bind(statement.value), column.name, column.type)
        if has_volatile(value):
            raise _NotSetBased  # it would be computed wherever NEW is read
        self._new[place] = value if guard is None else Case(((guard, value),), self._new[place], column.type)
        self._assigns = True
        if sum(1 for _ in walk(self._new[place])) > _MOST_NODES:
            raise _NotSetBased

    def _read_insert(self, fragment: Fragment) -> Insert:
        statements = parse(self._text(fragment))
        node: Any = statements[0].node
        if len(statements) != 1 or node.DESCRIPTOR.name != "InsertStmt" or not present(node.select_stmt):
            raise _NotSetBased
        if node.HasField("with_clause") or node.HasField("on_conflict_clause") or node.HasField("returning_clause"):
            raise _NotSetBased
        if len(inner(node.select_stmt).values_lists) != 1:
            raise _NotSetBased
        self._context.check_writable("INSERT")
        found = bind_insert(self._binder, node, self._scope())
        plain = isinstance(found.query, Values) and len(found.query.rows) == 1
        if not plain or found.table.triggers or found.table.kind not in "rf" or found.table.oid == self._table.oid:
            raise _NotSetBased
        if found.table.name != node.relation.relname:
            raise _NotSetBased  # a view
        if found.table.row_security:
            raise _NotSetBased  # policies may reject the rows
        assert isinstance(found.query, Values)
        for value in found.query.rows[0]:
            _check(value)
        if _is_volatile(found) and any(_is_volatile(other) for other, _ in self._effects.inserts):
            raise _NotSetBased  # row by row they take turns, for instance at a sequence
        return found

    # ---- expressions

    def _text(self, fragment: Fragment) -> str:
        """Returns a fragment's text. The row that an event lacks is NULL, which only its columns are here."""
        for name, is_there in (("new", self._has_new), ("old", self._has_old)):
            if not is_there and re.search(rf"\b{name}\b(?!\s*\.\s*[^\s*])", fragment.text, re.IGNORECASE):
                raise _NotSetBased
        return shift_arguments(fragment.text)

    def _scope(self) -> Scope:
        row = get_row_type(self._table)
        scope = Scope()
        names = [column.name for column in self._table.columns]
        for alias, values in (("new", self._new), ("old", self._old)):
            scope.add((NamespaceItem(alias, tuple(zip(names, values, strict=True)), row_type=row),), ())
        scope.rels.add(self._rel)
        return scope

    def _bind(self, fragment: Fragment) -> Expr:
        expr = bind_expression(self._binder, self._scope(), parse_expression(self._text(fragment)))
        _check(expr)
        return expr

    def _bind_condition(self, fragment: Fragment) -> Expr:
        test = self._bind(fragment)
        if test.type != BOOL or has_volatile(test):
            raise _NotSetBased
        return test

    def _evaluate(self, test: Expr) -> bool:
        found = fetch_query(self._context, Select((OutputColumn("holds", BOOL),), (test,)))
        return found.column(0)[0].as_py() is True

    # ---- running

    def execute(self, frame: pa.Table, rows: pa.Table, append: Append) -> tuple[pa.Table, pa.Array]:
        """Runs what the body does over the rows (see `run_for_rows`)."""
        check_accesses(self._context, self._binder.accesses)
        effects = self._effects
        if effects.raises and any(each.as_py() for each in self._flags(frame, effects.raises)):
            raise _NotSetBased
        kept = pa.array([not each.as_py() for each in self._flags(frame, effects.skips)], pa.bool_())
        if not effects.skips:
            kept = pa.array([True] * frame.num_rows)
        if self._assigns and self._trigger.timing != AFTER:
            columns = table_columns(self._table)
            query = Select(columns, tuple(self._new), self._source)
            names = [column.name for column in self._table.columns]
            rows = self._fetch(query, frame).rename_columns(names)
        for insert, guard in effects.inserts:
            self._insert(insert, guard, frame, append)
        return rows, kept

    def _flags(self, frame: pa.Table, guards: Sequence[Expr]) -> pa.ChunkedArray:
        if not guards:
            return pa.chunked_array([pa.array([], pa.bool_())])
        test = guards[0] if len(guards) == 1 else BoolOp("OR", tuple(guards))
        return self._fetch(Select((OutputColumn("flag", BOOL),), (test,), self._source), frame).column(0)

    def _insert(self, insert: Insert, guard: Expr | None, frame: pa.Table, append: Append) -> None:
        assert isinstance(insert.query, Values)
        query = Select(insert.query.columns, insert.query.rows[0], self._source, guard)
        found = self._fetch(query, frame)
        if found.num_rows:
            append(self._context, insert.table, found.combine_chunks().to_batches())

    def _fetch(self, query: Select, frame: pa.Table) -> pa.Table:
        return fetch_query(self._context, query, {NEW_ROWS: frame})


_NOBODY: Any = object()
"""In the place of a condition: no row goes on."""


def _has_returned(statement: If) -> bool:
    """Whether a branch of an IF may return or raise."""
    bodies = [body for _, body, _ in statement.branches] + [statement.otherwise]
    return any(
        isinstance(each, Return | Raise) or (isinstance(each, If) and _has_returned(each))
        for body in bodies
        for each in body
    )


def _is_volatile(insert: Insert) -> bool:
    assert isinstance(insert.query, Values)
    return any(has_volatile(value) for value in insert.query.rows[0])


def _reads_columns(expr: Expr) -> bool:
    return any(isinstance(each, Column) for each in walk(expr))


def _check(expr: Expr) -> None:
    """Refuses expressions that may see, or do, what depends on the order of rows."""
    for each in walk(expr):
        if isinstance(each, _QUERIES):
            raise _NotSetBased
        if isinstance(each, Call):
            name = each.function.name
            if each.function.oid >= FIRST_USER_OID or name in _EFFECTS or "advisory" in name:
                raise _NotSetBased

"""Execution of bound queries: the engine computes them, and the session runs the calls that engines cannot.

Session calls are sequence functions, signals, and routines that are more than a query. The engine computes the rows
without them, in the order of the query; the calls run row by row, and what depends on their results is a query over
those rows. Subqueries with session calls run first, and so do those that lock rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa

from gpudb.catalog.model import FIRST_USER_OID
from gpudb.engine.protocol import Stream
from gpudb.errors import FeatureNotSupported
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.session.context import Context
from gpudb.session.execution import sequence_values
from gpudb.session.execution.locks_and_snapshots.restarts import StatementRestart
from gpudb.session.execution.queries.drawn_rows import DrawnRows
from gpudb.session.execution.queries.lateral_calls import replace_lateral_calls
from gpudb.session.execution.queries.locked_rows import FetchedRows, fetch_locked_rows, lock_tables
from gpudb.session.execution.queries.model_scores import put_scores
from gpudb.session.execution.queries.row_calls import replace_row_calls
from gpudb.session.execution.queries.set_calls import lift_set_calls
from gpudb.session.execution.queries.table_functions import call_table_function
from gpudb.session.execution.requests.requests import collect, fetch_from_engine, run_on_engine
from gpudb.session.execution.routines.literals import literal
from gpudb.session.execution.routines.routine_calls import call_function, call_with_columns, takes_table_arguments
from gpudb.session.execution.session_calls import (
    call_session_function,
    check_always_evaluated,
    constant_argument,
    engine_argument,
    has_session_calls,
    is_session_call,
    put_checked_value,
)
from gpudb.sql.bound import (
    Aggregate,
    Column,
    Constant,
    Constrained,
    Cte,
    CteScan,
    Derived,
    Expr,
    FrameScan,
    FunctionScan,
    OutputColumn,
    Parameter,
    Query,
    ScalarSubquery,
    Select,
    SetOperation,
    SetReturning,
    TableFunction,
    Values,
    Window,
)
from gpudb.sql.traverse import outer_columns, reads_columns, replace_nodes, walk
from gpudb.types import INT8

T = TypeVar("T")
_FIRST_REL = 2_000_000
_PLAIN = frozenset({"bool", "int2", "int4", "int8", "oid", "bytea", "text", "void"})
"""Types whose values are the same in a constant and in a column."""
_QUERIES = (Select, SetOperation, Values)


def run_query(context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None) -> Stream:
    """Runs a query that reads `frames` by name beside the session's own."""
    if context.session_calls is False or (context.session_calls is None and not has_session_calls(query)):
        return run_on_engine(context, query, frames)
    scored = put_scores(context, query)
    if scored is not None:
        with contextlib.suppress(NotSupportedOnWorkers):
            return run_on_engine(context, scored, frames)
    return _QueryRun(context, dict(frames or {})).stream(query)


def fetch_query(context: Context, query: Query, frames: Mapping[str, pa.Table] | None = None) -> pa.Table:
    """Runs a query; all rows, as columns c1, c2, …"""
    return collect(run_query(context, query, frames))


class _QueryRun:
    """Execution of a query with session calls: the frames and relation numbers that it has made so far."""

    def __init__(self, context: Context, frames: dict[str, pa.Table]) -> None:
        self._context = context
        self._frames = frames
        self._rel = _FIRST_REL
        # A statement does not see what the routines that it calls change.
        self._snapshot = context.transaction.catalog

    def stream(self, query: Query, ctes: tuple[Cte, ...] = ()) -> Stream:
        """Runs a query at the top level, or an uncorrelated subquery."""

        def run(inside: Query) -> pa.Table:
            return collect(self.stream(inside, ctes))

        query = self._restarting(lambda: lock_tables(self._context, query))
        query = replace_nodes(query, lambda node: self._call_table_function(node, run))
        if isinstance(query, Select) and query.source is not None:
            query = lift_set_calls(query, self._next_rel)
            query = replace_lateral_calls(self._context, query, run, self._add_frame)
        query = self._run_subqueries(query, ctes)
        if isinstance(query, Select) and query.locks:
            return FetchedRows(self._fetch_locked(query))
        if isinstance(query, Select) and query.source is not None and has_session_calls(query):
            query = replace_row_calls(query, run, self._add_frame)
        if not has_session_calls(query):
            return run_on_engine(self._context, query, self._frames, self._snapshot)
        if isinstance(query, Values):
            rows = tuple(self._evaluate_calls(query.rows))
            return run_on_engine(self._context, replace(query, rows=rows), self._frames, self._snapshot)
        if not isinstance(query, Select):
            raise FeatureNotSupported("a sequence function is not supported here")
        _check_places(query)
        if _is_single_row(query):
            targets = self._evaluate_calls([query.targets])[0]
            if all(type(each) is Constant and each.type.name in _PLAIN for each in targets):
                return FetchedRows(_make_row(targets))
            return run_on_engine(self._context, replace(query, targets=targets), self._frames, self._snapshot)
        return DrawnRows(self._context, query, self._frames, self._next_rel(), self._snapshot)

    def _fetch_locked(self, query: Select) -> pa.Table:
        """Returns the rows of a SELECT that locks them."""

        def fetch(located: Select) -> pa.Table:
            return collect(run_on_engine(self._context, located, self._frames, self._snapshot))

        return self._restarting(lambda: fetch_locked_rows(self._context, query, fetch, self._evaluate_argument))

    def _restarting(self, lock: Callable[[], T]) -> T:
        """Locks rows or tables, again on the newest state whenever others have changed them; the rest reads that too.

        If it has other definitions, the statement as a whole has to begin again.
        """
        transaction = self._context.transaction
        while True:
            try:
                return lock()
            except StatementRestart:
                self._context.cancel.check()
                version = transaction.catalog.version
                self._context.session.transactions.advance(transaction)
                if transaction.catalog.version != version:
                    raise
                self._snapshot = transaction.catalog

    def _next_rel(self) -> int:
        self._rel += 1
        return self._rel

    # ---- subqueries

    def _run_subqueries(self, query: Query, ctes: tuple[Cte, ...]) -> Query:
        """Runs every subquery with session calls and puts its rows in its place."""
        seen = ctes

        def change(node: Any) -> Any:
            if isinstance(node, Cte) and has_session_calls(node.query):
                if node.recursive:
                    raise FeatureNotSupported("a sequence function in WITH RECURSIVE is not supported")
                return replace(node, query=self._materialize(node.query, seen))
            if isinstance(node, _QUERIES) and node is not query and has_session_calls(node):
                return self._materialize(node, (*seen, *query.ctes))
            if isinstance(node, FunctionScan) and is_session_call(node):
                return self._call_in_from(node)
            return None

        if query.ctes and any(has_session_calls(cte.query) for cte in query.ctes):
            changed_ctes: list[Cte] = []
            for cte in query.ctes:
                changed_ctes.append(replace_nodes(cte, change))
                seen = (*seen, changed_ctes[-1])
            query = replace(query, ctes=tuple(changed_ctes))
            seen = ctes
        if isinstance(query, SetOperation) and has_session_calls(query):
            # The left side draws its values first.
            visible = (*ctes, *query.ctes)
            left = self._materialize(query.left, visible) if has_session_calls(query.left) else query.left
            right = self._materialize(query.right, visible) if has_session_calls(query.right) else query.right
            query = replace(query, left=left, right=right)
        return replace_nodes(query, change)  # type: ignore[no-any-return]

    def _materialize(self, query: Query, ctes: tuple[Cte, ...]) -> Query:
        if outer_columns(query):
            message = "functions that draw values or run statements are not supported in correlated subqueries"
            raise FeatureNotSupported(message)
        used = {node.cte for node in walk(query) if isinstance(node, CteScan)}
        needed = tuple(cte for cte in ctes if cte.number in used and cte not in query.ctes)
        rows = collect(self.stream(replace(query, ctes=(*needed, *query.ctes))))
        return self._scan_rows(rows, query.columns)

    def _call_table_function(self, node: Any, run: Callable[[Query], pa.Table]) -> Derived | None:
        """Calls a function over queries in FROM and puts its rows in its place; None if it reads other rows."""
        if type(node) is not TableFunction or any(map(reads_columns, node.args)):
            return None
        return Derived(node.rel, self._scan_rows(call_table_function(self._context, node, run), node.columns))

    def _call_in_from(self, node: FunctionScan) -> Derived:
        """Calls a routine in FROM once and puts its rows in its place."""
        outputs = tuple(OutputColumn(f"k{n}", arg.type) for n, arg in enumerate(node.args, 1))
        is_alone = not outer_columns(Select(outputs, node.args))
        if is_alone and takes_table_arguments(self._context, node.function):
            rows = call_with_columns(self._context, node.function, [self._fetch(arg) for arg in node.args])
            return Derived(node.rel, self._scan_rows(rows, node.columns))
        if any(isinstance(each, Column) for arg in node.args for each in walk(arg)):
            message = f"function {node.function.name}, which is carried out by statements, for each row"
            raise FeatureNotSupported(f"{message} of another relation is not supported")
        args = [self._literal(arg) for arg in self._evaluate_calls([node.args])[0]]
        rows = call_function(self._context, node.function, args)
        if node.ordinality:
            rows = rows.append_column("ordinality", pa.array(range(1, rows.num_rows + 1), pa.int64()))
        return Derived(node.rel, self._scan_rows(rows, node.columns))

    def _literal(self, arg: Expr) -> Expr:
        """Evaluates an argument that reads no column."""
        return arg if isinstance(arg, Constant) else literal(self._context, arg.type, self._fetch(arg))

    def _fetch(self, arg: Expr) -> pa.Array:
        """Evaluates an argument that reads no column, as a column of one row."""
        query = Select((OutputColumn("k1", arg.type),), (self._evaluate_calls([(arg,)])[0][0],))
        return fetch_from_engine(self._context, query, self._frames).column(0).combine_chunks()

    def _scan_rows(self, table: pa.Table, columns: Sequence[OutputColumn]) -> Select:
        """Returns a query that reads rows from a frame."""
        scan = self._add_frame(table, columns)
        targets = tuple(Column(scan.rel, index, each.type, each.name) for index, each in enumerate(scan.columns))
        return Select(tuple(columns), targets, scan)

    def _add_frame(self, table: pa.Table, columns: Sequence[OutputColumn]) -> FrameScan:
        """Makes rows a frame, and returns a scan of it."""
        rel = self._next_rel()
        name = f"gpudb drawn rows {rel}"
        outputs = tuple(OutputColumn(f"k{n}", column.type) for n, column in enumerate(columns, 1))
        self._frames[name] = table.rename_columns([output.name for output in outputs])
        return FrameScan(rel, name, outputs)

    # ---- single rows

    def _evaluate_calls(self, rows: Sequence[tuple[Expr, ...]]) -> list[tuple[Expr, ...]]:
        """Replaces every session call in the rows by its result, from left to right, row by row."""
        counts: dict[object, int] = {}
        only_nextval = True
        for node in (node for row in rows for expr in row for node in walk(expr) if is_session_call(node)):
            if node.function.name != "nextval":
                only_nextval = False
                continue
            reference = constant_argument(node.args[0]) if node.args else None
            counts[reference] = counts.get(reference, 0) + 1
        blocks: dict[object, Iterator[int]] = {}
        if only_nextval and None not in counts and len(rows) > 1:
            for reference, count in counts.items():
                sequence = sequence_values.named_sequence(self._context, reference)
                drawn = sequence_values.draw(self._context, sequence, count)
                blocks[reference] = iter([value for block in drawn for value in block])

        def change(node: Any) -> Any:
            if isinstance(node, Aggregate | Window | SetReturning) and has_session_calls(node):
                raise FeatureNotSupported("a sequence function is not supported here")
            if isinstance(node, Constrained) and any(has_session_calls(check) for _, check in node.checks):
                # the checks call functions with the value that is checked
                value = self._literal(replace_nodes(node.arg, change))
                checks = tuple(
                    (name, replace_nodes(put_checked_value(check, value), change)) for name, check in node.checks
                )
                return replace(node, arg=value, checks=checks)
            check_always_evaluated(node)
            if not is_session_call(node):
                return None
            if node.function.oid >= FIRST_USER_OID:
                literals = [self._literal(replace_nodes(arg, change)) for arg in node.args]
                found = call_function(self._context, node.function, literals)
                if node.type.fields:
                    return ScalarSubquery(self._scan_rows(found, (OutputColumn("row", node.type),)), node.type)
                return literal(self._context, node.type, found.column(0).combine_chunks())
            if blocks:
                return Constant(next(blocks[constant_argument(node.args[0])]), INT8)
            args = tuple(self._evaluate_argument(replace_nodes(arg, change)) for arg in node.args)
            return Constant(call_session_function(self._context, node.function.name, args), node.type)

        return [tuple(replace_nodes(expr, change) for expr in row) for row in rows]

    def _evaluate_argument(self, arg: Expr) -> object:
        """Evaluates an argument of a sequence function that reads no column: a regclass to an OID or a name."""
        found = constant_argument(arg)
        if found is not None or (isinstance(arg, Constant) and arg.value is None):
            return found
        if isinstance(arg, Parameter) and arg.type.name in _PLAIN:
            return self._context.parameters[arg.number - 1]
        if any(isinstance(each, SetReturning) for each in walk(arg)):
            raise FeatureNotSupported("a set-returning function as an argument of a sequence function is not supported")
        query = Select((OutputColumn("k1", engine_argument(arg).type),), (engine_argument(arg),))
        (value,) = fetch_from_engine(self._context, query, self._frames).column(0).to_pylist()
        return value


def _make_row(values: Sequence[Expr]) -> pa.Table:
    """Returns constants of plain types as a row."""
    columns = [pa.array([each.value], each.type.arrow) for each in values if isinstance(each, Constant)]
    return pa.table(columns, names=[f"c{number}" for number in range(1, len(columns) + 1)])


def _is_single_row(query: Select) -> bool:
    return query.source is None and query.where is None and query.limit is None and query.offset is None


def _check_places(query: Select) -> None:
    """0A000 for session calls that sort, group or filter rows: they run for the rows of the result alone."""
    parts = [query.where, *query.group_by, query.having, *query.order_by, query.limit, query.offset, query.source]
    if query.distinct is True or any(part is not None and has_session_calls(part) for part in parts):
        message = "functions that draw values or change data are supported in select lists and lists of values alone"
        raise FeatureNotSupported(message)

"""SELECT and VALUES: bound, run by an engine, streamed."""

from __future__ import annotations

from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import run_query
from gpudb.session.results import Result, ResultColumn, result_columns
from gpudb.sql.bound import Query
from gpudb.sql.parse.parser import changes_data


def select(context: Context) -> Result:
    """SELECT and VALUES."""
    if context.statement.direct_node is not None:
        from gpudb.session.execution.system.cluster_tables import find_worker

        find_worker(context, context.statement.direct_node)
    if context.statement.is_function:
        from gpudb.session.copy.load_data import run_function

        return run_function(context)
    known = context.plan
    is_query = known is not None and known.statement is context.statement and isinstance(known.bound, Query)
    if not is_query and changes_data(context.statement.node):
        from gpudb.session.dml.changes import select_with_changes

        return select_with_changes(context)
    plan = context.session.plan(context)
    if plan.row_locks:
        from gpudb.session.execution.locks_and_snapshots.restarts import run_with_restarts

        return run_with_restarts(context, lambda: _run_plan(context))
    assert isinstance(plan.bound, Query)
    return rows(context, plan.bound, columns=plan.columns)


def _run_plan(context: Context) -> Result:
    """Runs the query of a context's statement, bound to the catalog of now."""
    plan = context.session.plan(context)
    assert isinstance(plan.bound, Query)
    return rows(context, plan.bound, columns=plan.columns)


def rows(
    context: Context, query: Query, tag: str = "SELECT", columns: tuple[ResultColumn, ...] | None = None
) -> Result:
    """The rows of a query as a result; `columns` are its result columns, if known."""
    stream = run_query(context, query)
    return Result(tag, columns or result_columns(query.columns), iter(stream), stream.close)

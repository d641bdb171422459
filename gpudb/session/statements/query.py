"""SELECT and VALUES: bound, handed to an engine, streamed."""

from __future__ import annotations

from gpudb.session.context import Context, handles, result_columns
from gpudb.session.copy.load_data import load_call
from gpudb.session.dml.changes import select_with_changes
from gpudb.session.execution import execution
from gpudb.session.execution.cluster_tables import worker_named
from gpudb.session.results import Result, ResultColumn
from gpudb.sql.bound import Query
from gpudb.sql.parse.parser import changes_data


@handles("SelectStmt")
def select(context: Context) -> Result:
    """SELECT and VALUES."""
    if context.statement.node_named is not None:
        worker_named(context, context.statement.node_named)
    loaded = load_call(context)
    if loaded is not None:
        return loaded
    if changes_data(context.statement.node):
        return select_with_changes(context)
    plan = context.session.plan(context)
    assert isinstance(plan.bound, Query)
    return rows(context, plan.bound, columns=plan.columns)


def rows(
    context: Context, query: Query, tag: str = "SELECT", columns: tuple[ResultColumn, ...] | None = None
) -> Result:
    """A query's rows as a result; `columns` are the query's as clients are told of them, if the caller has them."""
    stream = execution.run(context, query)
    return Result(tag, columns or result_columns(query.columns), iter(stream), stream.close)

"""SELECT and VALUES: bound, handed to an engine, streamed."""

from __future__ import annotations

from gpudb.session.context import Context, handles, result_columns
from gpudb.session.loading import load_call
from gpudb.session.results import Result
from gpudb.sql.bound import DataChange, Query


@handles("SelectStmt")
def select(context: Context) -> Result:
    """SELECT and VALUES."""
    loaded = load_call(context)
    if loaded is not None:
        return loaded
    query = context.session.bind(context)
    assert not isinstance(query, DataChange)
    return rows(context, query)


def rows(context: Context, query: Query, tag: str = "SELECT") -> Result:
    """A query's rows as a result."""
    stream = context.session.engine(query).run(context.request(query))
    return Result(tag, result_columns(query.columns), iter(stream), stream.close)

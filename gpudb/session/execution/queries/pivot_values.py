"""The values of a PIVOT that does not list them: a query that runs while the statement is bound, in its snapshot."""

from __future__ import annotations

from dataclasses import replace

from gpudb.session.authorization.authorize import authorize
from gpudb.session.context import Context
from gpudb.session.execution.queries.queries import fetch_query
from gpudb.sql.accesses import Accesses
from gpudb.sql.bound import Query


def fetch_texts(context: Context, query: Query, accesses: Accesses) -> list[str]:
    """Returns the rows of a query of one column of texts; 42501 if the current role may not run it."""
    allowed = authorize(context, query, accesses)
    assert isinstance(allowed, Query)
    rows = fetch_query(replace(context, session_calls=None), allowed)
    return [str(each) for each in rows.column(0).to_pylist()]

"""Subqueries that are no more than an expression over the query around them, `(SELECT a + 1)`, are put in place.

An engine would join each to what it depends on, and compute it for rows that a CASE leaves out.
"""

from __future__ import annotations

from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import mapped, reads_columns, walk

_OWN = (bound.SetReturning, bound.Window)


def put_in_place(query: bound.Query) -> bound.Query:
    """The query with the values of such subqueries where these stood."""

    def change(node: Any) -> Any:
        value = _value(node.query) if isinstance(node, bound.ScalarSubquery) else None
        return None if value is None else mapped(value, change)

    made: bound.Query = mapped(query, change)
    return made


def _value(query: bound.Query) -> bound.Expr | None:
    """The one value that a query without FROM gives; None for another query, or one whose value is no other's."""
    if not isinstance(query, bound.Select) or len(query.targets) != 1 or query.ctes:
        return None
    if query.source is not None or query.grouped or query.where is not None:
        return None
    if query.limit is not None or query.offset is not None:
        return None
    (value,) = query.targets
    # what reads no column is computed once, and a constant would be taken for a position
    return value if reads_columns(value) and not any(map(_is_own, walk(value))) else None


def _is_own(node: object) -> bool:
    """Whether a node gives something else in each query that it stands in."""
    return isinstance(node, _OWN) or (isinstance(node, bound.Call) and node.function.volatile)

"""Replaces scalar subqueries that only compute an expression of the outer query, `(SELECT a + 1)`.

An engine would decorrelate each into a join, and would compute it for rows that a CASE excludes.
"""

from __future__ import annotations

from typing import Any

from gpudb.sql import bound
from gpudb.sql.traverse import is_volatile, reads_columns, replace_nodes, walk

_LEVEL_BOUND = (bound.SetReturning, bound.Window)


def inline_subqueries(query: bound.Query) -> bound.Query:
    """Returns the query with such subqueries replaced by their values."""

    def change(node: Any) -> Any:
        value = _value(node.query) if isinstance(node, bound.ScalarSubquery) else None
        return None if value is None else replace_nodes(value, change)

    result: bound.Query = replace_nodes(query, change)
    return result


def _value(query: bound.Query) -> bound.Expr | None:
    """Returns the expression of a query without FROM; None if the query does more, or depends on its level."""
    if not isinstance(query, bound.Select) or len(query.targets) != 1 or query.ctes:
        return None
    if query.source is not None or query.grouped or query.where is not None:
        return None
    if query.limit is not None or query.offset is not None:
        return None
    (value,) = query.targets
    # An uncorrelated subquery runs once, and a constant in ORDER BY would read as a column position
    return value if reads_columns(value) and not any(map(_is_level_bound, walk(value))) else None


def _is_level_bound(node: object) -> bool:
    """Whether the value of a node depends on the query level that it belongs to."""
    return isinstance(node, _LEVEL_BOUND) or is_volatile(node)

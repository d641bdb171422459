"""Replaces columns of one-row and plain subqueries by the constants that these select.

PostgreSQL pulls such subqueries up, so that a constant expression may span several query levels. Rows that an outer
join adds are NULL there, so columns of its nullable sides stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes, walk


def pull_up_constants(query: bound.Query) -> bound.Query:
    """Returns the query with the constants of its subqueries in the place of the columns that read them."""
    found: dict[tuple[int, int], bound.Constant] = {}
    for node in walk(query):
        if isinstance(node, bound.Derived):
            found.update(((node.rel, index), each) for index, each in _constants(node.query))
    nullable = {rel for node in walk(query) if isinstance(node, bound.Join) for rel in _nullable(node)}
    known = {place: each for place, each in found.items() if place[0] not in nullable}
    if not known:
        return query
    result: bound.Query = replace_nodes(
        query, lambda n: known.get((n.rel, n.index)) if isinstance(n, bound.Column) else None
    )
    return result


def _constants(query: bound.Query) -> Iterator[tuple[int, bound.Constant]]:
    """Yields the position and value of each output column that is a constant."""
    if isinstance(query, bound.Values) and len(query.rows) == 1:
        targets: tuple[bound.Expr, ...] = query.rows[0]
    elif isinstance(query, bound.Select) and not (query.grouped or query.distinct or query.limit or query.offset):
        targets = query.targets
        if any(isinstance(node, bound.SetReturning) for target in targets for node in walk(target)):
            return
    else:
        return
    yield from ((index, each) for index, each in enumerate(targets) if isinstance(each, bound.Constant))


def _nullable(join: bound.Join) -> Iterator[int]:
    """Yields the relation numbers of subqueries for which an outer join may add rows of NULL."""
    sides = {"LEFT": [join.right], "RIGHT": [join.left], "FULL": [join.left, join.right]}.get(join.kind, [])
    yield from (node.rel for side in sides for node in walk(side) if isinstance(node, bound.Derived))

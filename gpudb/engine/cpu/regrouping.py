"""Rewrites a grouped query as one over its groups, if subqueries read keys with several representations.

DuckDB groups such a key by its canonical form, and cannot resolve the column itself in the subquery.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from gpudb.functions.equality import has_many_representations
from gpudb.sql import bound
from gpudb.sql.traverse import children, replace_nodes, walk


def needs_regrouping(query: bound.Select) -> bool:
    """Returns whether a subquery of the select list, HAVING or ORDER BY reads such a key."""
    keys = [key for key in query.group_by if has_many_representations(key.type)]
    if not keys:
        return False
    return any(each in keys for part in clauses_over_groups(query) for sub in _subqueries(part) for each in walk(sub))


def regroup(query: bound.Select, rel: int) -> bound.Select:
    """Returns the query over a derived table `rel` with the values of its keys and aggregates."""
    values: list[Any] = list(query.group_by)
    own = read_relations(query)
    direct = {id(each) for part in clauses_over_groups(query) for each in walk_level(part)}

    def column(node: Any) -> bound.Column:
        if node not in values:
            values.append(node)
        return bound.Column(rel, values.index(node), node.type, "")

    def change(node: Any) -> Any:
        if isinstance(node, bound.Constant):
            return None
        if isinstance(node, bound.Aggregate | bound.Grouping):
            # an aggregate of a subquery's own level stays in it
            inside = {each.rel for each in walk(node) if isinstance(each, bound.Column)}
            return column(node) if id(node) in direct or (inside and inside <= own) else None
        return column(node) if node in query.group_by else None

    result = map_clauses_over_groups(query, change)
    outer = replace(result, where=result.having, grouped=False, group_by=(), grouping_sets=None, having=None)
    inner = bound.Select(
        tuple(bound.OutputColumn(f"c{number}", value.type) for number, value in enumerate(values, 1)),
        tuple(values),
        query.source,
        query.where,
        True,
        query.group_by,
        query.grouping_sets,
    )
    return replace(outer, source=bound.Derived(rel, inner))


def map_clauses_over_groups(query: bound.Select, change: Callable[[Any], Any]) -> bound.Select:
    """Applies a change to the clauses over groups: the select list, HAVING, DISTINCT ON and ORDER BY."""
    distinct = query.distinct
    return replace(
        query,
        targets=tuple(replace_nodes(each, change) for each in query.targets),
        having=replace_nodes(query.having, change) if query.having is not None else None,
        distinct=tuple(replace_nodes(each, change) for each in distinct) if isinstance(distinct, tuple) else distinct,
        order_by=tuple(replace_nodes(each, change) for each in query.order_by),
    )


def read_relations(query: bound.Select) -> set[int]:
    """Returns the numbers of the relations that a query reads."""
    return {each.rel for each in walk(query.source) if hasattr(each, "rel")} if query.source is not None else set()


def clauses_over_groups(query: bound.Select) -> Iterator[Any]:
    """Yields the expressions of the clauses over a query's groups."""
    yield from query.targets
    yield from query.order_by
    if query.having is not None:
        yield query.having
    if isinstance(query.distinct, tuple):
        yield from query.distinct


def walk_level(node: Any) -> Iterator[Any]:
    """Yields a node and its descendants outside subqueries."""
    if not isinstance(node, bound.SUBQUERIES):
        yield node
        for child in children(node):
            yield from walk_level(child)


def _subqueries(node: Any) -> Iterator[Any]:
    if isinstance(node, bound.SUBQUERIES):
        yield node
        return
    for child in children(node):
        yield from _subqueries(child)

"""Functions that run statements and return sets, in a select list: they become functions in FROM, called for each row.

Rows are filtered before: the query's FROM and WHERE become a subquery, and the function a lateral join with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gpudb.errors import FeatureNotSupported
from gpudb.session.execution.queries.lateral_calls import list_relations
from gpudb.session.execution.session_calls import has_session_calls
from gpudb.sql.bound import ArraySubquery, Column, Derived, Join, OutputColumn, Select, SetReturning, SortKey, Window
from gpudb.sql.traverse import outer_columns, replace_nodes, walk


def lift_set_calls(query: Select, next_rel: Callable[[], int]) -> Select:
    """Returns the query with a lateral join in the place of a set that a routine returns for each of its rows.

    Equal calls are one. 0A000 for several sets, and over groups and windows, whose rows are computed later.
    """
    parts = [part.expr if isinstance(part, SortKey) else part for part in (*query.targets, *query.order_by)]
    sets = [node for part in parts for node in walk(part) if isinstance(node, SetReturning)]
    calls = [node for node in sets if has_session_calls(node) and outer_columns(node)]
    if not calls or query.source is None:
        return query
    first = _get_rows(calls[0])
    if first is None or any(_identify(each) != _identify(calls[0]) for each in sets):
        raise FeatureNotSupported("several sets in a select list, one of a function that runs statements")
    if query.grouped or any(isinstance(node, Window) for part in parts for node in walk(part)):
        raise FeatureNotSupported("a set of a function that runs statements is not supported over groups or windows")
    rels = list_relations(query.source)
    used = {
        (node.rel, node.index): node
        for part in (*query.targets, *query.order_by, *_distinct_keys(query))
        for node in walk(part)
        if type(node) is Column and node.rel in rels
    }
    outputs = tuple(OutputColumn(f"k{number}", each.type) for number, each in enumerate(used.values(), 1))
    inside, set_rel = next_rel(), next_rel()
    rows = Derived(inside, Select(outputs, tuple(used.values()), query.source, query.where))
    places = {key: place for place, key in enumerate(used)}

    def read_inside(node: Any) -> Any:
        if type(node) is Column and (node.rel, node.index) in places:
            return replace(node, rel=inside, index=places[node.rel, node.index])
        return None

    def change(node: Any) -> Any:
        if isinstance(node, SetReturning):
            return Column(set_rel, 0, node.type)
        return read_inside(node)

    values = Derived(set_rel, replace_nodes(first, read_inside), lateral=True)
    outside = replace_nodes(replace(query, source=None, where=None), change)
    lifted: Select = replace(outside, source=Join("CROSS", rows, values, None))
    return lifted


def _distinct_keys(query: Select) -> tuple[Any, ...]:
    return query.distinct if isinstance(query.distinct, tuple) else ()


def _get_rows(call: SetReturning) -> Any:
    """Returns the query whose rows a set consists of; None for any other set."""
    (arg,) = call.args if len(call.args) == 1 else (None,)
    return arg.query if isinstance(arg, ArraySubquery) else None


def _identify(call: SetReturning) -> object:
    """Returns a key that equal calls have in common, although each has relations of its own."""
    rows = _get_rows(call)
    if rows is None:
        return id(call)
    own: dict[int, int] = {}
    for node in walk(rows):
        if hasattr(node, "rel") and not isinstance(node, Column):
            own.setdefault(node.rel, -len(own) - 1)

    def number(node: Any) -> Any:
        if hasattr(node, "rel") and node.rel in own:
            return replace_nodes(replace(node, rel=own[node.rel]), number)
        return None

    return replace_nodes(rows, number)

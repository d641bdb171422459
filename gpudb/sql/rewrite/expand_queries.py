"""Replaces table expressions, PIVOT and the like, by the queries that they stand for, so that a view keeps those."""

from __future__ import annotations

from typing import Any

from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.parser import inner, kind
from gpudb.sql.rewrite.rule import NameSource


def expand_queries(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with each such function in FROM replaced by its query."""
    copy = type(node)()
    copy.CopyFrom(node)
    _expand(copy, names.expansions)
    return copy


def _expand(node: Any, expansions: Expansions) -> None:
    if node.DESCRIPTOR.name == "Node" and kind(node) == "range_function":
        _replace(node, expansions)
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _expand(each, expansions)


def _replace(node: Any, expansions: Expansions) -> None:
    function = inner(node)
    call = inner(function.functions[0]).items[0] if len(function.functions) == 1 else None
    if call is None or kind(call) != "func_call":
        return
    query = expansions.queries.get(inner(call).SerializeToString(deterministic=True))
    if query is None:
        return
    made = type(node)()
    made.range_subselect.subquery.select_stmt.CopyFrom(query)
    if function.HasField("alias"):
        made.range_subselect.alias.CopyFrom(function.alias)
    node.CopyFrom(made)

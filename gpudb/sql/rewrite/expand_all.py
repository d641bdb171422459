"""Expands GROUP BY ALL and ORDER BY ALL to the positions of output columns, so that a stored query is PostgreSQL's."""

from __future__ import annotations

from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.friendly.all_columns import ALL
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.sql.rewrite.rule import NameSource


def expand_all(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with each ALL replaced by positions."""
    copy = type(node)()
    copy.CopyFrom(node)
    _expand(copy, names.expansions)
    return copy


def _expand(node: Any, expansions: Expansions) -> None:
    if node.DESCRIPTOR.name == "SelectStmt":
        _replace(node.group_clause, [_expand_key(each, expansions) for each in node.group_clause])
        _replace(node.sort_clause, [_expand_order(each, expansions) for each in node.sort_clause])
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _expand(each, expansions)


def _replace(items: Any, made: list[list[Any]]) -> None:
    del items[:]
    items.extend(one for each in made for one in each)


def _find_positions(node: Any, expansions: Expansions) -> tuple[int, ...] | None:
    if kind(node) != "column_ref" or kind(inner(node).fields[0]) != "string" or strings(inner(node).fields) != (ALL,):
        return None
    return expansions.positions.get(inner(node).location)


def _expand_key(node: Any, expansions: Expansions) -> list[Any]:
    positions = _find_positions(node, expansions)
    if positions is None:
        return [node]
    if not positions:
        empty = pg.GroupingSet(kind=pg.GROUPING_SET_EMPTY)
        return [pg.Node(grouping_set=empty)]
    return [_make_position(each) for each in positions]


def _expand_order(node: Any, expansions: Expansions) -> list[Any]:
    positions = _find_positions(inner(node).node, expansions)
    if positions is None:
        return [node]
    made = []
    for each in positions:
        copy = pg.Node()
        copy.CopyFrom(node)
        copy.sort_by.node.CopyFrom(_make_position(each))
        made.append(copy)
    return made


def _make_position(number: int) -> Any:
    return pg.Node(a_const=pg.A_Const(ival=pg.Integer(ival=number)))

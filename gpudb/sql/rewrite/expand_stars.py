"""Expands `*` and `t.*`, so that a stored query keeps its columns when columns are added to its tables.

So do stars with changes, of which a stored query has the result, and COLUMNS, for whose columns an item is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.expansions import Names, name_repeated
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.parser import children, inner, kind, strings
from gpudb.sql.parse.star_changes import is_changed_star, read_changed_star
from gpudb.sql.rewrite.rule import NameSource


def expand_stars(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with each star of a select list replaced by its columns."""
    copy = type(node)()
    copy.CopyFrom(node)
    _expand(copy, names.expansions.stars)
    _restore(copy)
    return copy


def _expand(node: Any, stars: Mapping[int, Names]) -> None:
    if node.DESCRIPTOR.name == "SelectStmt" and len(node.target_list):
        targets = [made for each in node.target_list for made in _expand_target(each, stars)]
        del node.target_list[:]
        node.target_list.extend(targets)
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                _expand(each, stars)


def _restore(node: Any) -> None:
    """Gives the calls of a function of the database that is named columns, which nothing expanded, its name back."""
    if node.DESCRIPTOR.name == "FuncCall" and strings(node.funcname) == (COLUMNS,):
        node.funcname[0].string.sval = "columns"
    for each in children(node):
        _restore(each)


def _expand_target(target: Any, stars: Mapping[int, Names]) -> list[Any]:
    value = inner(target).val
    if is_changed_star(value):
        return _expand_changed(target, stars)
    if kind(value) != "column_ref" or kind(inner(value).fields[-1]) != "a_star":
        return _repeat(target, stars)
    names = stars.get(inner(value).location)
    if names is None:
        return [target]
    return [pg.Node(res_target=pg.ResTarget(val=_make_column(parts))) for parts in names]


def _make_column(parts: tuple[str, ...]) -> Any:
    return pg.Node(column_ref=pg.ColumnRef(fields=[pg.Node(string=pg.String(sval=part)) for part in parts]))


def _expand_changed(target: Any, stars: Mapping[int, Names]) -> list[Any]:
    call = inner(inner(target).val)
    names = stars.get(call.location)
    if names is None:
        return [target]
    changes, found = read_changed_star(call), []
    for parts in names:
        result, name = pg.ResTarget(val=_make_column(parts)), parts[-1]
        if name in changes.replaced:
            result = pg.ResTarget(name=name, val=changes.replaced[name])
        elif name in changes.renamed:
            result.name = changes.renamed[name]
        found.append(pg.Node(res_target=result))
    return found


def _repeat(target: Any, stars: Mapping[int, Names]) -> list[Any]:
    """Returns an item of a select list for each column of its COLUMNS, or as it is without one."""
    calls = _find_columns(inner(target).val)
    names = stars.get(inner(calls[0]).location) if calls else None
    if names is None:
        return [target]
    argument = inner(calls[0]).args[0] if len(inner(calls[0]).args) else None
    pattern = inner(argument).sval.sval if argument is not None and kind(argument) == "a_const" else None
    found = []
    for parts in names:
        copy = pg.Node()
        copy.CopyFrom(target)
        for call in _find_columns(copy.res_target.val):
            call.CopyFrom(_make_column(parts))
        copy.res_target.name = name_repeated(parts[-1], copy.res_target.name, pattern)
        found.append(copy)
    return found


def _find_columns(node: Any) -> list[Any]:
    """Returns the nodes of COLUMNS in an expression, without those of its subqueries."""
    if node.DESCRIPTOR.name == "Node" and kind(node) == "func_call" and strings(inner(node).funcname) == (COLUMNS,):
        return [node]
    if node.DESCRIPTOR.name == "SelectStmt":
        return []
    children = ((field, value) for field, value in node.ListFields() if field.message_type is not None)
    each_child = (one for field, value in children for one in (value if field.is_repeated else (value,)))
    return [found for each in each_child for found in _find_columns(each)]

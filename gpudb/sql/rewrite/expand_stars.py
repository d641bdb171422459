"""Expands `*` and `t.*`, so that a stored query keeps its columns when columns are added to its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pg

from gpudb.sql.parse.parser import inner, kind
from gpudb.sql.rewrite.rule import Names, NameSource


def expand_stars(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query with each star of a select list replaced by its columns."""
    copy = type(node)()
    copy.CopyFrom(node)
    _expand(copy, names.stars)
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


def _expand_target(target: Any, stars: Mapping[int, Names]) -> list[Any]:
    value = inner(target).val
    if kind(value) != "column_ref" or kind(inner(value).fields[-1]) != "a_star":
        return [target]
    names = stars.get(inner(value).location)
    if names is None:
        return [target]
    found = []
    for parts in names:
        result = pg.Node()
        for part in parts:
            result.res_target.val.column_ref.fields.add().string.sval = part
        found.append(result)
    return found

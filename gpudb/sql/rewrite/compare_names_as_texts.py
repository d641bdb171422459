"""Compares a text with a name that no row decides, as in `owner = current_user`, as two texts.

Only comparisons of two texts use the codes of a dictionary.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.functions.library import functions_by_name
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns, replace_nodes
from gpudb.types import TEXT

_AS_TEXTS = {"texteqname": "texteq", "nameeqtext": "texteq", "textnename": "textne", "namenetext": "textne"}


def compare_names_as_texts(query: bound.Query) -> bound.Query:
    """Returns the query with such comparisons replaced."""

    def change(node: Any) -> Any:
        other = _AS_TEXTS.get(node.function.name) if isinstance(node, bound.Call) else None
        if other is None or not any(_is_known_name(each) for each in node.args):
            return None
        args = tuple(
            bound.Cast(each, TEXT) if each.type.name == "name" else replace_nodes(each, change) for each in node.args
        )
        return replace(node, function=functions_by_name()[other][0], args=args)

    result: bound.Query = replace_nodes(query, change)
    return result


def _is_known_name(expr: Any) -> bool:
    return expr.type.name == "name" and not reads_columns(expr)

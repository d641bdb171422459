"""Replaces tests of `current_user`'s privileges by those without a role, which look the role up once per statement.

`has_table_privilege(current_user, x, 'SELECT')` means `has_table_privilege(x, 'SELECT')`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.functions.library import Function, functions_by_name
from gpudb.sql import bound
from gpudb.sql.traverse import replace_nodes

_TESTS = frozenset(
    f"has_{each}_privilege"
    for each in ("any_column", "column", "database", "function", "schema", "sequence", "table", "type")
)


def ask_current_role(query: bound.Query) -> bound.Query:
    """Returns the query with such tests replaced."""

    def change(node: Any) -> Any:
        if not isinstance(node, bound.Call) or node.function.name not in _TESTS or not _is_current_role(node.args[0]):
            return None
        shorter = _without_role(node.function)
        if shorter is None:
            return None
        return replace(node, function=shorter, args=tuple(replace_nodes(each, change) for each in node.args[1:]))

    result: bound.Query = replace_nodes(query, change)
    return result


def _is_current_role(expr: bound.Expr) -> bool:
    return isinstance(expr, bound.Call) and expr.function.name == "current_user"


def _without_role(function: Function) -> Function | None:
    """Returns the function of the same name that has the same arguments but the role; None if there is none."""
    if function.args[0].name != "name":
        return None
    return next((each for each in functions_by_name()[function.name] if each.args == function.args[1:]), None)

"""COLUMNS('regex') and COLUMNS(*), in whose place an expression of a select list is repeated for several columns.

PostgreSQL's grammar takes it for a call of a function, which gets a name that no function has.
"""

from __future__ import annotations

import re
from typing import Any

from gpudb.catalog.parse_trees import walk_with_state
from gpudb.sql.parse.friendly.star import STAR

COLUMNS = "gpudb columns"
_QUERIES = frozenset({"SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"})
_MENTIONED = re.compile(r"\bcolumns\s*\(", re.I)


def mentions_columns(text: str) -> bool:
    """Whether a text may contain COLUMNS."""
    return _MENTIONED.search(text) is not None


def mark_columns(message: Any, *, within: bool = False) -> None:
    """Renames the calls of COLUMNS in the queries and changes of a tree; `within` is whether it is part of one."""
    for each, is_inside in walk_with_state(message, within, _enter):
        if is_inside and each.DESCRIPTOR.name == "FuncCall" and _is_columns(each):
            each.funcname[0].string.sval = COLUMNS


def _enter(message: Any, field: str, within: bool) -> bool:
    return within or message.DESCRIPTOR.name in _QUERIES


def _is_columns(call: Any) -> bool:
    if len(call.funcname) != 1 or call.funcname[0].string.sval != "columns":
        return False
    if call.agg_star:
        return True
    if len(call.args) != 1:
        return False
    argument = call.args[0]
    if argument.WhichOneof("node") == "a_const":
        return bool(argument.a_const.WhichOneof("val") == "sval")
    return bool(argument.WhichOneof("node") == "func_call" and argument.func_call.funcname[0].string.sval == STAR)

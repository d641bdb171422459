"""Replaces calls of composed functions by the expressions that they are names for, and names of routines by OIDs.

So what is stored calls the functions that it called when it was written, whatever functions there will be.
"""

from __future__ import annotations

from typing import Any

from gpudb.sql.expansions import Expansions
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.parser import inner, kind, strings
from gpudb.sql.rewrite.rule import NameSource

_CALLS = frozenset({"func_call", "column_ref", "a_indirection"})
"""What may call a function: `name(row)` and `row.name`."""


def expand_composed(node: Any, names: NameSource) -> Any:
    """Returns a copy of a query or an expression with each such call replaced by its expression."""
    return expand_calls(node, names.expansions)


def expand_calls(node: Any, expansions: Expansions) -> Any:
    """Returns a copy of a parse tree with the calls replaced that were recorded when it was bound."""
    copy = type(node)()
    copy.CopyFrom(node)
    if expansions.calls:
        _expand(copy, expansions)
    return copy


def _expand(node: Any, expansions: Expansions) -> bool:
    """Replaces the calls in a tree; returns whether there are any."""
    name = node.SerializeToString(deterministic=True) if node.DESCRIPTOR.name == "ResTarget" else b""
    found = False
    if node.DESCRIPTOR.name == "Node" and kind(node) in _CALLS:
        made = expansions.calls.get(_restore_name(inner(node)).SerializeToString(deterministic=True))
        if made is not None:
            node.CopyFrom(made)
            found = True
    elif node.DESCRIPTOR.name == "CallStmt":
        made = expansions.calls.get(node.funccall.SerializeToString(deterministic=True))
        if made is not None:
            node.funccall.CopyFrom(inner(made))
    for field, value in node.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else (value,):
                found |= _expand(each, expansions)
    if found and name in expansions.names:
        node.name = expansions.names[name]
    return found


def _restore_name(message: Any) -> Any:
    """Returns the message that was bound: that of a function of the database which is named columns."""
    if message.DESCRIPTOR.name != "FuncCall" or strings(message.funcname) != (COLUMNS,):
        return message
    own = type(message)()
    own.CopyFrom(message)
    own.funcname[0].string.sval = "columns"
    return own

"""What the call that stands for a changed star says, read from its parse tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpudb.errors import SyntaxError_
from gpudb.sql.parse.friendly.columns import COLUMNS
from gpudb.sql.parse.friendly.star import CHANGES, STAR
from gpudb.sql.parse.parser import children, inner, kind, strings

_EXCLUDE, _REPLACE, _RENAME = CHANGES["exclude"], CHANGES["replace"], CHANGES["rename"]


class StarChanges(NamedTuple):
    """The changes of a star. `star` is its ColumnRef if it is qualified. Excluded columns are ColumnRefs.

    `replaced` maps names of columns to expressions, `renamed` to other names; `named` has the ColumnRefs of both.
    """

    star: Any | None
    excluded: Sequence[Any]
    replaced: Mapping[str, Any]
    renamed: Mapping[str, str]
    named: Sequence[tuple[str, Any]]


def is_changed_star(node: Any) -> bool:
    """Whether a node is a call that stands for a changed star."""
    return kind(node) == "func_call" and strings(inner(node).funcname) == (STAR,)


def is_one_column(node: Any) -> bool:
    """Whether an item of a select list is certainly one column: no name, which may be a star, and no COLUMNS."""
    if kind(node) == "column_ref" or is_changed_star(node):
        return False
    if kind(node) == "a_indirection" and kind(inner(node).indirection[-1]) == "a_star":
        return False
    return not has_columns(node)


def has_columns(message: Any) -> bool:
    """Whether an expression contains COLUMNS outside its subqueries."""
    if message.DESCRIPTOR.name == "FuncCall" and strings(message.funcname) == (COLUMNS,):
        return True
    return message.DESCRIPTOR.name != "SelectStmt" and any(map(has_columns, children(message)))


def read_changed_star(call: Any) -> StarChanges:
    """Reads a call that stands for a changed star."""
    star, excluded, replaced, renamed, named = None, list[Any](), dict[str, Any](), dict[str, str](), list[Any]()
    for argument in call.args:
        if kind(argument) == "column_ref":
            star = inner(argument)
            continue
        (function,) = strings(inner(argument).funcname)
        arguments = list(inner(argument).args)
        if function == _EXCLUDE:
            excluded += map(inner, arguments)
        elif function == _REPLACE:
            for value, column in _pairs(arguments):
                replaced[_name(column)] = value
                named.append((_name(column), inner(column)))
        elif function == _RENAME:
            for column, new in _pairs(arguments):
                renamed[_name(column)] = _name(new)
                named.append((_name(column), inner(column)))
    return StarChanges(star, excluded, replaced, renamed, named)


def _pairs(nodes: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    return zip(nodes[::2], nodes[1::2], strict=True)


def _name(node: Any) -> str:
    if kind(node) != "column_ref" or len(inner(node).fields) != 1:
        raise SyntaxError_("a column that a star replaces or renames is named without its table")
    (name,) = strings(inner(node).fields)
    return name

"""LIMIT 0 reads nothing, as clients ask for a query's columns; nor does a join on a condition that is never true."""

from __future__ import annotations

from dataclasses import replace

from gpudb.plan.tree.nodes import Filter, Join, Node, Sort, Values
from gpudb.plan.tree.traversal import rebuild
from gpudb.sql import bound
from gpudb.types import BOOL


def nothing_wanted(root: Node) -> Node:
    """No rows, of which no table is asked, where none of a node's are wanted."""
    return rebuild(root, _without_unwanted)


def _without_unwanted(node: Node) -> Node:
    match node:
        case Sort(limit=limit, offset=offset) if _count(limit) == 0 and not (offset and _count(offset) is None):
            return _nothing(node)
        case Join(kind=kind, condition=bound.Constant(value=value), null_aware=False) if value is not True:
            if kind in {"INNER", "SEMI"}:
                return _nothing(node)
            return replace(node, right=_nothing(node.right)) if kind in {"LEFT", "ANTI"} else node
    return node


def _nothing(node: Node) -> Node:
    """No row of a node's types."""
    row = tuple(bound.Constant(None, kind) for kind in node.types)
    return Filter(Values((row,), node.types), bound.Constant(False, BOOL))


def _count(expr: object) -> int | None:
    """The number of rows that a LIMIT or OFFSET is, where that is one."""
    value = expr.value if isinstance(expr, bound.Constant) else None
    return value if isinstance(value, int) and value >= 0 else None

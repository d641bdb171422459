"""LIMIT 0 reads nothing: clients ask so for a query's columns."""

from __future__ import annotations

from gpudb.plan.nodes import Filter, Node, Sort, Values
from gpudb.plan.traversal import rebuild
from gpudb.sql import bound
from gpudb.types import BOOL


def nothing_wanted(root: Node) -> Node:
    """No rows, of which no table is asked, where none of a node's are wanted."""

    def none(node: Node) -> Node:
        if not isinstance(node, Sort) or _count(node.limit) != 0 or (node.offset and _count(node.offset) is None):
            return node
        row = tuple(bound.Constant(None, kind) for kind in node.types)
        return Filter(Values((row,), node.types), bound.Constant(False, BOOL))

    return rebuild(root, none)


def _count(expr: object) -> int | None:
    """The number of rows that a LIMIT or OFFSET is, where that is one."""
    value = expr.value if isinstance(expr, bound.Constant) else None
    return value if isinstance(value, int) and value >= 0 else None

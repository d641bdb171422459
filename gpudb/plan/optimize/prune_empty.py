"""LIMIT 0 reads nothing, as when clients ask for a query's columns; nor does a join whose condition is never true."""

from __future__ import annotations

from dataclasses import replace

from gpudb.plan.tree.nodes import Filter, Join, Node, Sort, Values
from gpudb.plan.tree.traversal import rebuild
from gpudb.sql import bound
from gpudb.types import BOOL


def prune_empty(root: Node) -> Node:
    """Replaces nodes that return no rows by an empty input, so that no table is read for them."""
    return rebuild(root, _prune)


def _prune(node: Node) -> Node:
    match node:
        case Sort(limit=limit, offset=offset) if _constant_count(limit) == 0 and not (
            offset and _constant_count(offset) is None
        ):
            return _empty(node)
        case Join(kind=kind, condition=bound.Constant(value=value), null_aware=False) if value is not True:
            if kind in {"INNER", "SEMI"}:
                return _empty(node)
            return replace(node, right=_empty(node.right)) if kind in {"LEFT", "ANTI"} else node
    return node


def _empty(node: Node) -> Node:
    """Returns an empty input with a node's types."""
    row = tuple(bound.Constant(None, kind) for kind in node.types)
    return Filter(Values((row,), node.types), bound.Constant(False, BOOL))


def _constant_count(expr: object) -> int | None:
    """Returns the number of rows of a constant LIMIT or OFFSET, else None."""
    value = expr.value if isinstance(expr, bound.Constant) else None
    return value if isinstance(value, int) and value >= 0 else None

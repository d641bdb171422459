"""Removes the limits of all rows that kept conditions from moving below others, once no rule moves conditions.

The conditions above and below stay apart: the upper ones are evaluated for the rows alone that the lower ones keep.
"""

from __future__ import annotations

from gpudb.plan.tree.nodes import Node, Sort
from gpudb.plan.tree.traversal import rebuild
from gpudb.sql import bound


def remove_barriers(root: Node) -> Node:
    """Returns the plan without limits that no result reaches."""
    return rebuild(root, lambda node: node.input if isinstance(node, Sort) and _is_barrier(node) else node)


def _is_barrier(node: Sort) -> bool:
    limit = node.limit
    if node.keys or node.offset is not None or not isinstance(limit, bound.Constant):
        return False
    return limit.value == bound.ALL_ROWS

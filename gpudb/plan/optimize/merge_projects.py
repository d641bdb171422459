"""Merges nested projections and removes projections that change nothing."""

from __future__ import annotations

from gpudb.plan.tree.nodes import INPUT, Node, Project
from gpudb.plan.tree.traversal import rebuild, substitute, transform
from gpudb.sql import bound


def merge_projects(root: Node) -> Node:
    """Merges projections where no expression is computed twice as a result."""

    def merge(node: Node) -> Node:
        if not isinstance(node, Project):
            return node
        below = node.input
        if isinstance(below, Project) and _computes_once(node, below):
            exprs = tuple(substitute(expr, below.exprs) for expr in node.exprs)
            return merge(Project(below.input, exprs, node.labels or node.names))
        plain = [expr.index for expr in node.exprs if isinstance(expr, bound.Column)]
        if plain == list(range(len(below.types))) and len(node.exprs) == len(plain) and node is not root:
            return below
        return node

    return rebuild(root, merge)


def _computes_once(node: Project, below: Project) -> bool:
    uses = [0] * len(below.exprs)

    def look(each: object) -> None:
        if isinstance(each, bound.Column) and each.rel == INPUT:
            uses[each.index] += 1

    transform(node.exprs, look)
    return all(count < 2 or isinstance(expr, bound.Column) for count, expr in zip(uses, below.exprs, strict=True))

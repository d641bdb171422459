"""Inlines shared subplans that have one use, so that no result is kept for them."""

from __future__ import annotations

from collections import Counter

from gpudb.plan.tree.nodes import Node, Shared
from gpudb.plan.tree.traversal import rebuild


def inline_shared(root: Node) -> Node:
    """Inlines shared subplans that have one use."""
    uses: Counter[int] = Counter()
    seen: set[int] = set()

    def count(node: Node) -> None:
        if isinstance(node, Shared):
            uses[node.number] += 1
            if node.number in seen:
                return
            seen.add(node.number)
        for each in node.inputs:
            count(each)

    count(root)

    def inline(node: Node) -> Node:
        return node.input if isinstance(node, Shared) and uses[node.number] == 1 else node

    return rebuild(root, inline)

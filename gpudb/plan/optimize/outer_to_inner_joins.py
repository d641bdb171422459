"""Narrows outer joins where a condition above them is true of no NULL-extended row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.tree.nodes import Join
from gpudb.plan.tree.null_extension import is_not_true
from gpudb.plan.tree.traversal import conjuncts


def inner(join: Join, condition: Any) -> Join:
    """Returns a LEFT or FULL join under a condition as the narrowest join with the same rows, or itself."""
    width = len(join.left.types)
    without_right = any(is_not_true(part, lambda index: index >= width) for part in conjuncts(condition))
    if join.kind == "LEFT":
        return replace(join, kind="INNER") if without_right else join
    without_left = any(is_not_true(part, lambda index: index < width) for part in conjuncts(condition))
    if join.kind != "FULL" or not without_left:
        return join
    return replace(join, kind="INNER" if without_right else "LEFT")

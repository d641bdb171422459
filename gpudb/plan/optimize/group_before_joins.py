"""Aggregates the right side of a LEFT JOIN before the join, where the aggregates are over that side alone.

In `SELECT k, count(b.x) FROM a LEFT JOIN b ON a.k = b.k GROUP BY k`, where k is a key of a, each group is one row of a
with its matches, so it is that row beside one of b's own groups. There are fewer of these than rows of b, and joined
rows need no grouping. (Yan and Larson, "Eager Aggregation and Lazy Aggregation", 1995.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.cost.uniqueness import unique_columns
from gpudb.plan.tree.nodes import Aggregate, Join, Node, Project, column
from gpudb.plan.tree.null_extension import is_not_true, is_null
from gpudb.plan.tree.traversal import columns_read, rebuild, remap_columns, substitute
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail

_AGGREGATES = frozenset({"count", "min", "max"})
"""Aggregates that fail for unmatched rows no more than for matched ones."""
_MIN_RATIO = 2
"""Minimum ratio of joined rows to groups."""


def group_before_joins(root: Node) -> Node:
    """Groups the right sides of left joins before the joins, where that pays."""
    return rebuild(root, _group)


def _group(node: Node) -> Node:
    # Without keys there is one group even of no rows.
    if not isinstance(node, Aggregate) or not node.keys or not node.calls:
        return node
    keys, calls, join = node.keys, node.calls, node.input
    if isinstance(join, Project) and all(isinstance(expr, bound.Column) for expr in join.exprs):
        keys, calls = substitute(keys, join.exprs), substitute(calls, join.exprs)
        join = join.input
    if not isinstance(join, Join) or join.kind != "LEFT" or not join.keys or join.condition is not None:
        return node
    width = len(join.left.types)
    if not all(isinstance(key, bound.Column) and key.index < width for key in keys):
        return node
    if not any(columns_read(keys) >= key for key in unique_columns(join.left)):
        return node
    if not all(_is_over_right_side(call, width) for call in calls):
        return node
    by = tuple(key for _, key in join.keys)
    own = Aggregate(join.right, by, tuple(remap_columns(call, lambda index: index - width) for call in calls))
    if estimate(own) > 2 * estimate(join.left) or _MIN_RATIO * estimate(own) > estimate(join):
        return node
    pairs = tuple((pair[0], column(place, pair[1].type)) for place, pair in enumerate(join.keys))
    made = replace(join, right=own, keys=pairs)
    counted = [_group_value(call, column(width + len(by) + place, call.type)) for place, call in enumerate(calls)]
    return Project(made, (*keys, *counted), node.names)


def _is_over_right_side(call: bound.Aggregate, width: int) -> bool:
    """Returns whether a call reads the right side alone, cannot fail, and ignores the NULLs of an unmatched row."""
    if call.function.name not in _AGGREGATES or any(index < width for index in columns_read(call)) or _may_fail(call):
        return False
    if call.star and call.filter is None:
        return True
    return any(is_null(each, _all_null) for each in call.args) or is_not_true(call.filter, _all_null)


def _all_null(_: int) -> bool:
    """Without a match every column of the right side is NULL."""
    return True


def _may_fail(call: bound.Aggregate) -> bool:
    """Returns whether what a call computes from a row may fail."""
    return any(map(may_fail, call.args)) or (call.filter is not None and may_fail(call.filter))


def _group_value(call: bound.Aggregate, value: bound.Column) -> Any:
    """Returns a group's value beside a row that may have no match."""
    if call.function.name != "count":
        return value
    # For an unmatched row count(*) counts the row itself.
    nothing = 1 if call.star and call.filter is None else 0
    return bound.Choice("COALESCE", (value, bound.Constant(nothing, call.type)), call.type)

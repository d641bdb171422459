"""Rows that a LEFT JOIN adds to each row of a relation, and that are counted for it, are counted before the join.

`SELECT k, count(b.x) FROM a LEFT JOIN b ON a.k = b.k GROUP BY k`, where k is a key of a: each group is one row of a and
its partners, so it is that row beside one row of b's own groups. These are fewer than b's rows, and no group is made of
what was joined. (Yan and Larson, "Eager Aggregation and Lazy Aggregation", 1995.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.cost.uniqueness import unique_columns
from gpudb.plan.tree.fallibility import may_fail
from gpudb.plan.tree.nodes import Aggregate, Join, Node, Project, column
from gpudb.plan.tree.null_extension import is_not_true, is_null
from gpudb.plan.tree.traversal import moved, rebuild, substituted, used
from gpudb.sql import bound

_CALLS = frozenset({"count", "min", "max"})
"""Of rows that find no partner these fail no more than of those that do."""
_FEWER = 2
"""So many times fewer groups than joined rows there have to be."""


def group_before_joins(root: Node) -> Node:
    """The plan with the right sides of left joins grouped before them."""
    return rebuild(root, _grouped)


def _grouped(node: Node) -> Node:
    # Without keys there is a group of no rows, too.
    if not isinstance(node, Aggregate) or not node.keys or not node.calls:
        return node
    keys, calls, join = node.keys, node.calls, node.input
    if isinstance(join, Project) and all(isinstance(expr, bound.Column) for expr in join.exprs):
        keys, calls = substituted(keys, join.exprs), substituted(calls, join.exprs)
        join = join.input
    if not isinstance(join, Join) or join.kind != "LEFT" or not join.keys or join.condition is not None:
        return node
    width = len(join.left.types)
    if not all(isinstance(key, bound.Column) and key.index < width for key in keys):
        return node
    if not any(used(keys) >= key for key in unique_columns(join.left)):
        return node
    if not all(_counts(call, width) for call in calls):
        return node
    by = tuple(key for _, key in join.keys)
    own = Aggregate(join.right, by, tuple(moved(call, lambda index: index - width) for call in calls))
    if estimate(own) > 2 * estimate(join.left) or _FEWER * estimate(own) > estimate(join):
        return node
    pairs = tuple((pair[0], column(place, pair[1].type)) for place, pair in enumerate(join.keys))
    made = replace(join, right=own, keys=pairs)
    counted = [_value(call, column(width + len(by) + place, call.type)) for place, call in enumerate(calls)]
    return Project(made, (*keys, *counted), node.names)


def _counts(call: bound.Aggregate, width: int) -> bool:
    """Whether a call is of the right side's rows alone, fails for none of them, and of a row without a partner leaves
    the NULLs out."""
    if call.function.name not in _CALLS or any(index < width for index in used(call)) or _may_fail(call):
        return False
    if call.star and call.filter is None:
        return True
    return any(is_null(each, _filled) for each in call.args) or is_not_true(call.filter, _filled)


def _filled(_: int) -> bool:
    """Without a partner every column of the right side is NULL."""
    return True


def _may_fail(call: bound.Aggregate) -> bool:
    """Whether what a call computes of a row may fail."""
    return any(map(may_fail, call.args)) or (call.filter is not None and may_fail(call.filter))


def _value(call: bound.Aggregate, value: bound.Column) -> Any:
    """A group's value beside a row that may have no partner."""
    if call.function.name != "count":
        return value
    # Without a partner count(*) has the row itself, without a value.
    nothing = 1 if call.star and call.filter is None else 0
    return bound.Choice("COALESCE", (value, bound.Constant(nothing, call.type)), call.type)

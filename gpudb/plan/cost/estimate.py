"""Estimates a node's rows and their profile, from tables' statistics upwards.

A node's profile is cached on the node, which never changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from math import prod
from typing import Any, TypeVar

from gpudb.plan.cost.derived import max_values
from gpudb.plan.cost.profile import DEFAULT_DISTINCT, ColumnProfile, Profile, profile_table, row_width, unknown_column
from gpudb.plan.cost.selectivity import filter_profile, selectivity
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.nodes import Node
from gpudb.plan.tree.stage_nodes import Final, Partial, Receive
from gpudb.plan.tree.traversal import columns_read
from gpudb.sql import bound
from gpudb.sql.widening import bare

_cached: Callable[[Node], Profile] = vars(Node)["profile"].__get__
_KEY_FRACTION = 0.9
"""A column with at least this many distinct values per row is taken for a key."""
Leaf = TypeVar("Leaf", Receive, BuildSideScan)
_SET_ROWS = 10.0
"""Assumed number of rows of a set-returning function."""
_ITERATIONS = 100.0
"""Assumed number of iterations of a recursion."""


def estimate(node: Node) -> int:
    """Returns the estimated number of rows, at least 1."""
    if isinstance(node, nodes.Scan) and node.filter is None:
        return max(node.table.rows, 1)
    return max(int(profile(node).rows), 1)


def estimate_bytes(node: Node) -> int:
    """Returns the estimated size in bytes."""
    return estimate(node) * row_width(node.types)


def profile(node: Node) -> Profile:
    """Returns the profile of a node's rows."""
    try:
        found: Profile = _cached(node)
    except AttributeError:
        found = _profile(node)
        object.__setattr__(node, "profile", found)
    return found


def copy_profile(leaf: Leaf, source_node: Node) -> Leaf:
    """Copies to a leaf the profile of the node that produces its rows elsewhere."""
    object.__setattr__(leaf, "profile", profile(source_node))
    return leaf


def estimate_groups(keys: tuple[Any, ...], over: Profile) -> float:
    """Estimates the number of groups of rows by some keys."""
    return min(prod(estimate_distinct(key, over) for key in keys), over.rows) if keys else 1.0


def estimate_distinct(expr: Any, over: Profile) -> float:
    """Estimates the number of distinct values of an expression."""
    inner = bare(expr)
    if isinstance(inner, bound.Column):
        return over.columns[inner.index].distinct
    found = min(prod(over.columns[index].distinct for index in columns_read(expr)), max_values(inner, over.columns) + 1)
    return max(min(found, DEFAULT_DISTINCT if _reduces_values(inner) else over.rows, over.rows), 1.0)


def _reduces_values(expr: Any) -> bool:
    """Returns whether an expression usually has fewer values than its arguments: a year of a date, a part of a text."""
    return isinstance(expr, bound.Call) and expr.function.name in {
        "extract",
        "date_part",
        "date_trunc",
        "substr",
        "substring",
    }


@singledispatch
def _profile(node: Any) -> Profile:
    return profile(node.inputs[0])


@_profile.register
def _(node: nodes.Scan) -> Profile:
    return filter_profile(profile_table(node.table, node.columns), node.filter)


@_profile.register
def _(node: nodes.Values) -> Profile:
    rows = float(max(len(node.rows), 1))
    return Profile(rows, tuple(unknown_column(rows) for _ in node.columns), rows)


@_profile.register
def _(node: nodes.Filter) -> Profile:
    return filter_profile(profile(node.input), node.condition)


@_profile.register
def _(node: nodes.Project) -> Profile:
    below = profile(node.input)
    return Profile(below.rows, tuple(_profile_column(expr, below) for expr in node.exprs), below.base)


def _profile_column(expr: Any, below: Profile) -> ColumnProfile:
    inner = bare(expr)
    if isinstance(inner, bound.Column):
        return below.columns[inner.index]
    values = estimate_distinct(expr, below)
    return ColumnProfile(values, domain=values)


@_profile.register
def _(node: nodes.Join) -> Profile:
    left, right = profile(node.left), profile(node.right)
    return join_profile(node.kind, left, right, node.keys, node.condition)


def join_profile(
    kind: str, left: Profile, right: Profile, keys: tuple[tuple[Any, Any], ...], condition: Any | None
) -> Profile:
    """Returns the profile of a join of two inputs."""
    share = 1.0
    matched = 1.0
    for a, b in keys:
        domain = _key_domain(a, b, left, right)
        share /= domain
        matched *= min(estimate_distinct(b, right) / domain, 1.0)
    if len(keys) > 1:
        # Keys of several columns have no more values than the smaller table has rows.
        share = max(share, 1 / max(min(left.base, right.base), 1.0))
    both = left.columns + right.columns
    share *= selectivity(condition, both)
    pairs = left.rows * right.rows * share
    if kind in {"SEMI", "ANTI"}:
        matched = matched if keys else 0.5
        rows = left.rows * (matched if kind == "SEMI" else max(1 - matched, 0.1))
        return left.limit_rows(rows)
    if kind in {"LEFT", "FULL"}:
        pairs = max(pairs, left.rows)
    if kind == "FULL":
        pairs = max(pairs, right.rows)
    columns = list(both)
    if kind == "INNER":
        for a, b in keys:
            _equate_columns(columns, bare(a), bare(b), len(left.columns))
    made = Profile(pairs, tuple(columns), max(left.base, right.base, pairs))
    return made.limit_rows(pairs)


def _equate_columns(columns: list[ColumnProfile], a: Any, b: Any, width: int) -> None:
    if isinstance(a, bound.Column) and isinstance(b, bound.Column):
        one, other = columns[a.index], columns[b.index + width]
        least = one if one.distinct <= other.distinct else other
        columns[a.index] = columns[b.index + width] = least


def _key_domain(a: Any, b: Any, left: Profile, right: Profile) -> float:
    """Estimates the size of the value domain that the two sides of a key share."""
    one, other = _profile_column(a, left), _profile_column(b, right)
    keyed = [each.domain for each, over in ((one, left), (other, right)) if each.domain >= _KEY_FRACTION * over.base]
    # A foreign key has no other values than the key that it references.
    return max(min(keyed) if keyed else max(one.domain, other.domain), 1.0)


@_profile.register
def _(node: nodes.AsofJoin) -> Profile:
    left, right = profile(node.left), profile(node.right)
    return Profile(left.rows, left.columns + right.columns, left.base).limit_rows(left.rows)


@_profile.register
def _(node: nodes.Aggregate) -> Profile:
    return _profile_groups(node, profile(node.input))


def _profile_groups(node: nodes.Aggregate, below: Profile) -> Profile:
    rows = estimate_groups(node.keys, below)
    columns = [_profile_column(key, below) for key in node.keys] + [unknown_column(rows) for _ in node.calls]
    if len(node.keys) == 1:
        # A single grouping key is unique among the groups.
        columns[0] = ColumnProfile(rows, columns[0].low, columns[0].high, 0.0, columns[0].domain)
    return Profile(rows, tuple(columns), max(rows, 1.0)).limit_rows(rows)


@_profile.register
def _(node: Partial) -> Profile:
    return _profile_groups(node.aggregate, profile(node.input))


@_profile.register
def _(node: Final) -> Profile:
    below = profile(node.input)
    return below.limit_rows(below.rows)


@_profile.register
def _(node: Fused) -> Profile:
    return profile(node.root)


@_profile.register(BuildSideScan)
@_profile.register(Receive)
def _(node: Receive | BuildSideScan) -> Profile:
    rows = float(max(node.rows, 1))
    return Profile(rows, tuple(unknown_column(rows) for _ in node.columns), rows)


@_profile.register
def _(node: nodes.Window) -> Profile:
    below = profile(node.input)
    return Profile(below.rows, below.columns + tuple(unknown_column(below.rows) for _ in node.calls), below.base)


@_profile.register
def _(node: nodes.Recursive) -> Profile:
    rows = profile(node.left).rows * _ITERATIONS
    return Profile(rows, tuple(unknown_column(rows) for _ in node.types), rows)


@_profile.register
def _(node: nodes.WorkTableScan) -> Profile:
    return Profile(_ITERATIONS, tuple(unknown_column(_ITERATIONS) for _ in node.columns), _ITERATIONS)


@_profile.register
def _(node: nodes.AssignUniqueId) -> Profile:
    below = profile(node.input)
    return Profile(below.rows, (*below.columns, ColumnProfile(below.rows, domain=below.rows)), below.base)


@_profile.register
def _(node: nodes.ProjectSet) -> Profile:
    below = profile(node.input)
    rows = below.rows * _SET_ROWS
    more = len(node.types) - len(below.columns)
    return Profile(rows, below.columns + tuple(unknown_column(rows) for _ in range(more)), rows)


@_profile.register
def _(node: nodes.Sort) -> Profile:
    below = profile(node.input)
    if isinstance(node.limit, bound.Constant) and isinstance(node.limit.value, int):
        return below.limit_rows(min(below.rows, float(node.limit.value)))
    return below


@_profile.register
def _(node: nodes.DistinctOn) -> Profile:
    below = profile(node.input)
    return below.limit_rows(estimate_groups(node.keys, below))


@_profile.register
def _(node: nodes.SetOperation) -> Profile:
    left, right = profile(node.left), profile(node.right)
    if node.op != "UNION":
        return left
    rows = left.rows + right.rows
    columns = tuple(
        ColumnProfile(min(a.distinct + b.distinct, rows), domain=a.domain + b.domain)
        for a, b in zip(left.columns, right.columns, strict=True)
    )
    return Profile(rows, columns, rows)

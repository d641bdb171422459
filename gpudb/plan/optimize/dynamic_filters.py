"""Dynamic filters: scans leave out rows by the join keys that another stage has sent.

A stage starts once it has received all its inputs. A scan under an inner or semi-join with received rows then needs
only its rows between the least and the greatest key, or with the keys themselves where they are few.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpudb.plan.cost.profile import profile_table
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.nodes import Node, Scan
from gpudb.plan.tree.stage_nodes import Receive
from gpudb.plan.tree.stages import DynamicFilter, Stage
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.sql import bound
from gpudb.sql.widening import bare
from gpudb.types import SqlType
from gpudb.types.facts import EXACT_NUMBERS

MIN_ROWS = 100_000
"""Minimum rows of a table; fewer are joined faster than keys are inspected."""
MAX_SHARE = 0.5
"""Maximum estimated share of a column's values among the keys."""
_RANGE_TYPES = EXACT_NUMBERS | {"date", "timestamp", "timestamptz"}
EXACT_TYPES = frozenset({"text", "varchar"})
"""Types ordered by a collation: only exact values leave rows out."""


def add_dynamic_filters(stages: Sequence[Stage]) -> list[Stage]:
    """Adds to the stages which of their inputs narrow which of their scans."""
    return [_add_filters(stage) if stage.inputs else stage for stage in stages]


def _add_filters(stage: Stage) -> Stage:
    every = list(walk_nodes(stage.root))
    scans = [node for node in every if isinstance(node, Scan)]
    if not any(scan.table.rows >= MIN_ROWS for scan in scans):
        return stage
    times = Counter(map(id, scans))
    found: list[DynamicFilter] = []
    # Subplans below a kernel build tables that are cached, so they must be the same the next time.
    kept = {id(below) for node in every if isinstance(node, Fused) for below in walk_nodes(node)}
    for node in every:
        if not isinstance(node, nodes.Join) or node.kind not in {"INNER", "SEMI"} or id(node) in kept:
            continue
        for left, right in node.keys:
            one, other = _find_origin(node.left, left), _find_origin(node.right, right)
            if one is not None and other is not None:
                found += _filter_by(one, other, scans, times)
                found += _filter_by(other, one, scans, times) if node.kind == "INNER" else []
    return replace(stage, dynamic_filters=tuple(dict.fromkeys(found))) if found else stage


def _filter_by(scanned: _Column, received: _Column, scans: Sequence[Scan], times: Counter[int]) -> list[DynamicFilter]:
    """Returns the narrowing of one side of a key by the other, if that side is a scan worth narrowing."""
    (scan, index, grouped), (receive, key, _) = scanned, received
    if not isinstance(scan, Scan) or not isinstance(receive, Receive) or scan.table.rows < MIN_ROWS:
        return []
    kind, received_type = scan.types[index], receive.types[key]
    if kind.name not in _RANGE_TYPES | EXACT_TYPES or kind.is_carried:
        return []
    if kind.name == "numeric" and not (_same_digits(kind, received_type) or _same_digits(received_type, kind)):
        return []
    values = profile_table(scan.table, (scan.columns[index],)).columns[0].distinct
    if receive.rows > MAX_SHARE * values or times[id(scan)] > 1:
        return []
    place = next(number for number, each in enumerate(scans) if each is scan)
    return [DynamicFilter(receive.stage, key, place, index, grouped)]


_Column = tuple[Node, int, bool]
"""A node's column, and whether its rows are grouped above it."""


def _find_origin(node: Node, key: Any) -> _Column | None:
    """Returns the scan's or received column that a key reads; rows whose value matches no key may be left out."""
    inner = bare(key)
    while isinstance(inner, bound.Cast) and _same_digits(inner.arg.type, inner.type):
        inner = inner.arg
    return _find_column(node, inner.index) if isinstance(inner, bound.Column) else None


def _same_digits(old: SqlType, new: SqlType) -> bool:
    """Returns whether a cast is between numerics and keeps the scale and all digits."""
    if old.name != "numeric" or new.name != "numeric" or old.is_carried or new.is_carried:
        return False
    (digits, scale), (more, same) = old.numeric_digits, new.numeric_digits
    return scale == same and digits <= more


def _find_column(node: Node, index: int) -> _Column | None:
    match node:
        case Scan() | Receive():
            return node, index, False
        case nodes.Filter():
            return _find_column(node.input, index)
        case nodes.Project():
            return _find_origin(node.input, node.exprs[index])
        case nodes.Aggregate() if index < len(node.keys):
            found = _find_origin(node.input, node.keys[index])
            return (*found[:2], True) if found is not None else None
        case nodes.Join():
            width = len(node.left.types)
            if index < width:
                return _find_column(node.left, index) if node.kind != "FULL" else None
            return _find_column(node.right, index - width) if node.kind == "INNER" else None
        case _:
            return None

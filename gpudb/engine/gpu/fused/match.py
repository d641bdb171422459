"""Finds the parts of a plan that one kernel computes: an aggregate over a table, filters, joins with small sides.

From an aggregate down, the largest table's side of each join is the spine; the others are build sides, and have to be
small. What translates (tried here over the tables' statistics, without their rows) becomes a Fused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from gpudb.engine.gpu.fused import twin
from gpudb.engine.gpu.fused.prepare import Known, prepare
from gpudb.engine.gpu.fused.values import FLOATS, TEXT, Dictionary, NotFused
from gpudb.engine.gpu.lower.aggregates import is_mergeable
from gpudb.engine.gpu.lower.values import lanes
from gpudb.engine.gpu.resident import column_bounds
from gpudb.plan import nodes
from gpudb.plan.errors import NotCarried
from gpudb.plan.fused import Built, Fused
from gpudb.plan.nodes import Node, column
from gpudb.plan.optimize.estimate import profile
from gpudb.plan.physical import Final, Partial
from gpudb.sql import bound
from gpudb.types import SqlType

BUILD_ROWS = 16_000_000
"""A build side may have so many rows: it is made on the host, and every worker has it."""


def fused(root: Node, estimate: Callable[[Node], int], parameters: Sequence[object] = ()) -> Node:
    """A plan with a Fused in the place of every part that one kernel computes."""
    return _Matching(estimate, parameters).node(root)


class _Matching:
    def __init__(self, estimate: Callable[[Node], int], parameters: Sequence[object]) -> None:
        self._estimate = estimate
        self._parameters = parameters

    def node(self, node: Node) -> Node:
        if isinstance(node, nodes.Aggregate) and _is_distinct(node):
            return self._distinct(node)
        if isinstance(node, nodes.Aggregate) and all(map(is_mergeable, node.calls)):
            try:
                return Final(self._aggregate(node), node)
            except (NotFused, NotCarried):
                pass
        return node.with_inputs(*(self.node(each) for each in node.inputs))

    def _distinct(self, node: nodes.Aggregate) -> Node:
        """Calls with DISTINCT over one value as calls over the groups of the keys and that value."""
        keys = tuple(column(index, key.type) for index, key in enumerate((*node.keys, node.calls[0].args[0])))
        inner = self.node(replace(node, keys=(*node.keys, node.calls[0].args[0]), calls=()))
        if not isinstance(inner, Final):
            return node.with_inputs(self.node(node.input))
        calls = tuple(replace(call, args=keys[-1:], distinct=False) for call in node.calls)
        return nodes.Aggregate(inner, keys[:-1], calls)

    def _aggregate(self, node: nodes.Aggregate) -> Fused:
        builds: list[Node] = []
        below = self._spine(node.input, builds)
        made = Fused(Partial(below, replace(node, input=below)), tuple(self.node(each) for each in builds))
        prepare(made, _Statistics(scan_of(below)), [_empty(each.types) for each in builds], self._parameters)
        return made

    def _spine(self, node: Node, builds: list[Node]) -> Node:
        match node:
            case nodes.Scan():
                return node
            case nodes.Filter() | nodes.Project():
                return node.with_inputs(self._spine(node.input, builds))
            case nodes.Join():
                return self._join(node, builds)
        raise NotFused(type(node).__name__)

    def _join(self, node: nodes.Join, builds: list[Node]) -> Node:
        if not node.keys or node.kind == "FULL" or (node.condition is not None and node.kind == "LEFT"):
            raise NotFused(f"a {node.kind.lower()} join of this condition")
        swapped = node.kind == "INNER" and _largest(node.left) < _largest(node.right)
        build = node.left if swapped else node.right
        if self._estimate(build) > BUILD_ROWS:
            raise NotFused("a join of two large sides")
        build, places = _with_keys(build, [pair[0 if swapped else 1] for pair in node.keys])
        width = len((node.left if swapped else node.right).types)
        given = tuple(zip(build.names, build.types, strict=True))
        # Built first: numbers are given from the outermost join on, and say nothing of the order.
        number = len(builds)
        builds.append(build)
        built = Built(number, given, self._estimate(build), int(profile(build).base))
        spine = self._spine(node.right if swapped else node.left, builds)
        if len(given) == width:
            left, right = (built, spine) if swapped else (spine, built)
            return replace(node, left=left, right=right, keys=_keyed(node, places, swapped))
        # The keys that were added to the build side's columns are no columns of the join.
        left, right = (built, spine) if swapped else (spine, built)
        wide = replace(node, left=left, right=right, keys=_keyed(node, places, swapped))
        if node.kind in {"SEMI", "ANTI"}:
            return wide
        wide = replace(wide, condition=None)
        kept = [*range(width), *range(len(given), len(wide.types))] if swapped else list(range(len(node.types)))
        narrow = nodes.Project(wide, tuple(column(index, wide.types[index], wide.names[index]) for index in kept))
        return narrow if node.condition is None else nodes.Filter(narrow, node.condition)


def _is_distinct(node: nodes.Aggregate) -> bool:
    """Whether all calls are of the distinct values of one expression."""
    first = node.calls[0] if node.calls else None
    if first is None or not all(call.distinct and call.filter is None and len(call.args) == 1 for call in node.calls):
        return False
    return all(call.args == first.args and call.function.name in {"count", "sum", "avg"} for call in node.calls)


def _keyed(
    node: nodes.Join, places: Sequence[bound.Column], swapped: bool
) -> tuple[tuple[bound.Expr, bound.Expr], ...]:
    if swapped:
        return tuple((place, pair[1]) for pair, place in zip(node.keys, places, strict=True))
    return tuple((pair[0], place) for pair, place in zip(node.keys, places, strict=True))


def _with_keys(build: Node, keys: Sequence[bound.Expr]) -> tuple[Node, list[bound.Column]]:
    """A build side with a column for each of its keys that is computed."""
    places: list[bound.Column] = []
    added: list[bound.Expr] = []
    for key in keys:
        if isinstance(key, bound.Column):
            places.append(key)
            continue
        places.append(column(len(build.types) + len(added), key.type))
        added.append(key)
    if not added:
        return build, places
    own = tuple(column(n, kind, name) for n, (kind, name) in enumerate(zip(build.types, build.names, strict=True)))
    return nodes.Project(build, (*own, *added)), places


def _largest(node: Node) -> int:
    """The rows of the largest table below a node."""
    if isinstance(node, nodes.Scan):
        return node.table.rows
    return max((_largest(each) for each in node.inputs), default=0)


def scan_of(node: Node) -> nodes.Scan:
    """The one table that a fused part reads row by row."""
    while not isinstance(node, nodes.Scan):
        node = next(each for each in node.inputs if not isinstance(each, Built))
    return node


class _Statistics:
    """A scan as its table's statistics know it: enough to translate what is over it."""

    def __init__(self, scan: nodes.Scan) -> None:
        self._scan = scan
        self.rows = scan.table.rows

    def known(self, column: int) -> Known:
        kind = self._scan.types[column]
        if kind.name in FLOATS:
            return Known(None, True)
        if kind.name in TEXT:
            return Known((0, 0), True, Dictionary(pl.Series([], dtype=pl.String)))
        bounds = column_bounds(self._scan.table, self._scan.table.columns[self._scan.columns[column]])
        return Known(bounds if bounds is not None and max(-bounds[0], bounds[1]) < 2**63 else (0, 0), True)

    def segments(self, columns: Sequence[int]) -> Sequence[twin.Segment]:
        return ()


def _empty(types: Sequence[SqlType]) -> pl.DataFrame:
    schema = {f"c{n}{suffix}": held for n, kind in enumerate(types) for suffix, held in lanes(kind).items()}
    return pl.DataFrame(schema=schema)

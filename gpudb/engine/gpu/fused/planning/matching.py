"""Finds the parts of a plan that one kernel computes: a scan, filters, joins with small build sides, an aggregate.

Without an aggregate the part returns the remaining rows, all of them or the first by an order, if it is estimated to
keep few of many. From the top down, the side of each join that reads the largest table is the spine; the others are
build sides, and have to be small. A part that translates (tried here with the tables' statistics, without their rows)
becomes a Fused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from gpudb.engine.gpu.backend.host import HostFrame
from gpudb.engine.gpu.cache.host_columns import column_bounds
from gpudb.engine.gpu.fused.numpy_backend import executor
from gpudb.engine.gpu.fused.planning.prepare import prepare
from gpudb.engine.gpu.fused.planning.prepared_pipeline import ColumnFacts
from gpudb.engine.gpu.fused.planning.top_n import needed_rows
from gpudb.engine.gpu.fused.translate.typed_values import PLAIN_TEXT, TEXT, Dictionary, NotFused
from gpudb.engine.gpu.lower.groups.aggregates import is_mergeable
from gpudb.engine.gpu.lower.values import empty_frame
from gpudb.plan.cost.estimate import copy_profile, profile
from gpudb.plan.errors import NotSupportedOnWorkers
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.nodes import Node, column
from gpudb.plan.tree.stage_nodes import Final, Partial
from gpudb.sql import bound
from gpudb.types import INT4, INT8
from gpudb.types.facts import FLOATS

BUILD_ROWS = 16_000_000
"""Maximum rows of a build side on CPU workers: every worker has all of it."""
DEVICE_ROWS = 1 << 30
"""Maximum rows of a build side whose lookup table a GPU builds in its own memory."""

MANY_ROWS, SHORT_TEXT = 1_000_000, 10
"""For tables of more rows, a column of longer texts gets no dictionary only to output rows."""
HOST_GROUPS, DEVICE_GROUPS = 1_000_000, 1 << 26
"""Maximum groups that pass through host memory, at 20 million per second, and that stay on the GPU.

The general engine computes more groups.
"""
_CONSTANT_KEY = bound.Constant(0, INT4)
MAX_TOP_ROWS = 100_000
"""Maximum rows of ORDER BY … LIMIT."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of fused parts: the fewest rows of the scanned table, the most rows of build sides, the most groups.

    A build side is sent whole to each of the `workers`, once if they cache the lookup table that they build from it.
    One of more than `kept` rows is sent for each run, unless the other side is so large that repartitioning both moves
    no less.
    """

    scan: int = 0
    build: int = BUILD_ROWS
    groups: int = HOST_GROUPS
    kept: int = DEVICE_ROWS
    workers: int = 1


def fuse_parts(
    root: Node, estimate: Callable[[Node], int], parameters: Sequence[object] = (), limits: Limits | None = None
) -> Node:
    """Replaces every part of a plan that one kernel computes by a Fused."""
    return _Matcher(estimate, parameters, limits or Limits()).match(root)


class _Matcher:
    def __init__(self, estimate: Callable[[Node], int], parameters: Sequence[object], limits: Limits) -> None:
        self._estimate = estimate
        self._parameters = parameters
        self._limits = limits

    def match(self, node: Node) -> Node:
        if isinstance(node, nodes.Aggregate) and _is_distinct(node):
            return self._match_distinct(node)
        if isinstance(node, nodes.Aggregate) and all(map(is_mergeable, node.calls)) and self._has_few_groups(node):
            try:
                return Final(self._fuse_aggregate(node), node)
            except (NotFused, NotSupportedOnWorkers):
                pass
        if isinstance(node, nodes.Sort) and self._is_top(node):
            with contextlib.suppress(NotFused, NotSupportedOnWorkers):
                return replace(node, input=self._fuse_top(node))
        if self._drops_most(node):
            with contextlib.suppress(NotFused, NotSupportedOnWorkers):
                return self._fuse(node, lambda below: below)
        return node.with_inputs(*(self.match(each) for each in node.inputs))

    def _has_few_groups(self, node: nodes.Aggregate) -> bool:
        return not node.keys or self._estimate(node) <= self._limits.groups

    def _is_top(self, node: nodes.Sort) -> bool:
        """Whether a sort returns few of many rows."""
        limit = needed_rows(node, self._parameters)
        if limit is None or not node.keys or limit > MAX_TOP_ROWS:
            return False
        return _largest_table(node) >= max(self._limits.scan, 1) and self._estimate(node.input) > limit

    def _drops_most(self, node: Node) -> bool:
        """Whether few of a table's many rows are estimated to remain; a kernel that finds too many declines.

        A kernel does not return rows without columns, of which only the number matters.
        """
        if not isinstance(node, nodes.Filter | nodes.Project | nodes.Join | nodes.Scan) or not _drops_rows(node):
            return False
        if not node.types:
            return False
        largest = _largest_table(node)
        return largest >= max(self._limits.scan, 1) and self._estimate(node) <= largest // 2

    def _fuse_top(self, node: nodes.Sort) -> Fused:
        """Fuses the input of a top-N sort; the kernel orders by the first key alone, and returns ties as well."""
        limit: bound.Expr | None = node.limit
        if node.offset is not None:
            if isinstance(node.limit, bound.Parameter) or isinstance(node.offset, bound.Parameter):
                raise NotFused("an offset that is or accompanies a parameter")
            limit = bound.Constant(needed_rows(node, ()), INT8)
        return self._fuse(node.input, lambda below: nodes.Sort(below, node.keys, limit=limit))

    def _match_distinct(self, node: nodes.Aggregate) -> Node:
        """Rewrites DISTINCT calls over one value to calls over groups by the keys and that value."""
        keys = tuple(column(index, key.type) for index, key in enumerate((*node.keys, node.calls[0].args[0])))
        inner = self.match(replace(node, keys=(*node.keys, node.calls[0].args[0]), calls=()))
        if not isinstance(inner, Final):
            return node.with_inputs(self.match(node.input))
        calls = tuple(replace(call, args=keys[-1:], distinct=False) for call in node.calls)
        return nodes.Aggregate(inner, keys[:-1], calls)

    def _fuse_aggregate(self, node: nodes.Aggregate) -> Fused:
        return self._fuse(node.input, lambda below: Partial(below, replace(node, input=below)))

    def _fuse(self, node: Node, top: Callable[[Node], Node]) -> Fused:
        """Fuses a node's rows with the operator above them into one kernel."""
        builds: list[Node] = []
        below = self._build_spine(node, builds)
        made = Fused(top(below), tuple(self.match(each) for each in builds))
        scan = find_scan(below)
        bound_to = prepare(
            made, _Statistics(scan), [HostFrame(empty_frame(tuple(each.types))) for each in builds], self._parameters
        )
        if not isinstance(made.root, Partial) and scan.table.rows > MANY_ROWS:
            for kind in (scan.types[index] for index in bound_to.fields if index not in bound_to.raw_fields):
                if kind.name in TEXT and not 0 <= kind.modifier - 4 <= SHORT_TEXT:
                    # Rows may be output only once; a dictionary of comments is not worth it.
                    raise NotFused("texts that may be distinct in every row")
        return made

    def _build_spine(self, node: Node, builds: list[Node]) -> Node:
        match node:
            case nodes.Scan():
                return node
            case nodes.Filter() | nodes.Project():
                return node.with_inputs(self._build_spine(node.input, builds))
            case nodes.Join():
                return self._build_join(node, builds)
        raise NotFused(type(node).__name__)

    def _build_join(self, node: nodes.Join, builds: list[Node]) -> Node:
        if node.kind == "FULL":
            raise NotFused("a full join")
        swapped = node.kind == "INNER" and _largest_table(node.left) < _largest_table(node.right)
        if not node.keys:
            if node.kind != "INNER" or not (_is_single_row(node.left) or _is_single_row(node.right)):
                raise NotFused(f"a {node.kind.lower()} join without keys")
            # The single row matches every row.
            node, swapped = replace(node, keys=((_CONSTANT_KEY, _CONSTANT_KEY),)), not _is_single_row(node.right)
        build, probing = (node.left, node.right) if swapped else (node.right, node.left)
        self._check_build_side(build, probing)
        build, key_columns = _add_key_columns(build, [pair[0 if swapped else 1] for pair in node.keys])
        width = len((node.left if swapped else node.right).types)
        columns = tuple(zip(build.names, build.types, strict=True))
        # Created before the spine: numbers count from the outermost join, and imply no order.
        number = len(builds)
        builds.append(build)
        built = copy_profile(BuildSideScan(number, columns, self._estimate(build), int(profile(build).base)), build)
        spine = self._build_spine(probing, builds)
        if len(columns) == width:
            left, right = (built, spine) if swapped else (spine, built)
            return replace(node, left=left, right=right, keys=_replace_keys(node, key_columns, swapped))
        # The keys that were added to the build side are not columns of the join.
        left, right = (built, spine) if swapped else (spine, built)
        wide = replace(node, left=left, right=right, keys=_replace_keys(node, key_columns, swapped))
        if node.kind in {"SEMI", "ANTI"}:
            return wide
        # A left join's condition refers to the matches' columns, which the added keys follow.
        condition = None if node.kind == "LEFT" else node.condition
        wide = wide if node.kind == "LEFT" else replace(wide, condition=None)
        kept = [*range(width), *range(len(columns), len(wide.types))] if swapped else list(range(len(node.types)))
        narrow = nodes.Project(wide, tuple(column(index, wide.types[index], wide.names[index]) for index in kept))
        return narrow if condition is None else nodes.Filter(narrow, condition)

    def _check_build_side(self, build: Node, probing: Node) -> None:
        """Raises NotFused for a build side that is too large, or too expensive to send to every worker for each run."""
        rows, limits = self._estimate(build), self._limits
        if rows > limits.build:
            raise NotFused("a join of two large sides")
        if rows > limits.kept and limits.workers * rows > rows + self._estimate(probing):
            raise NotFused("a build side that workers do not cache")


def _is_distinct(node: nodes.Aggregate) -> bool:
    """Whether all calls aggregate the distinct values of one expression."""
    first = node.calls[0] if node.calls else None
    if first is None or not all(call.distinct and call.filter is None and len(call.args) == 1 for call in node.calls):
        return False
    return all(call.args == first.args and call.function.name in {"count", "sum", "avg"} for call in node.calls)


def _replace_keys(
    node: nodes.Join, key_columns: Sequence[bound.Column], swapped: bool
) -> tuple[tuple[bound.Expr, bound.Expr], ...]:
    if swapped:
        return tuple((key_column, pair[1]) for pair, key_column in zip(node.keys, key_columns, strict=True))
    return tuple((pair[0], key_column) for pair, key_column in zip(node.keys, key_columns, strict=True))


def _add_key_columns(build: Node, keys: Sequence[bound.Expr]) -> tuple[Node, list[bound.Column]]:
    """Adds a column to a build side for each computed key; returns the keys as columns."""
    key_columns: list[bound.Column] = []
    added: list[bound.Expr] = []
    for key in keys:
        if isinstance(key, bound.Column):
            key_columns.append(key)
            continue
        key_columns.append(column(len(build.types) + len(added), key.type))
        added.append(key)
    if not added:
        return build, key_columns
    own = tuple(column(n, kind, name) for n, (kind, name) in enumerate(zip(build.types, build.names, strict=True)))
    return nodes.Project(build, (*own, *added)), key_columns


def _is_single_row(node: Node) -> bool:
    """Whether a node returns at most one row, as a scalar subquery does."""
    if isinstance(node, nodes.Project | nodes.Filter | nodes.Shared):
        return _is_single_row(node.input)
    return isinstance(node, nodes.Aggregate) and not node.keys


def _drops_rows(node: Node) -> bool:
    """Whether a chain of operators down to a scan drops rows."""
    if isinstance(node, nodes.Project):
        return _drops_rows(node.input)
    return isinstance(node, nodes.Filter | nodes.Join) or (isinstance(node, nodes.Scan) and node.filter is not None)


def _largest_table(node: Node) -> int:
    """Returns the rows of the largest table below a node."""
    if isinstance(node, nodes.Scan):
        return node.table.rows
    return max((_largest_table(each) for each in node.inputs), default=0)


def find_scan(node: Node) -> nodes.Scan:
    """Returns the table scan on a fused part's spine."""
    while not isinstance(node, nodes.Scan):
        node = next(each for each in node.inputs if not isinstance(each, BuildSideScan))
    return node


class _Statistics:
    """A scan's columns as its table's statistics describe them: enough to translate the expressions over them."""

    def __init__(self, scan: nodes.Scan) -> None:
        self._scan = scan
        self.rows = scan.table.rows

    def facts(self, column: int, *, raw: bool = False) -> ColumnFacts:
        kind = self._scan.types[column]
        if raw and kind.name in PLAIN_TEXT and self.rows > MANY_ROWS:
            return ColumnFacts((0, 0), True, raw_ascii=True)
        if kind.name in FLOATS:
            return ColumnFacts(None, True)
        if kind.name in TEXT:
            return ColumnFacts((0, 0), True, Dictionary(pl.Series([], dtype=pl.String)))
        bounds = column_bounds(self._scan.table, self._scan.table.columns[self._scan.columns[column]])
        return ColumnFacts(bounds if bounds is not None and max(-bounds[0], bounds[1]) < 2**63 else (0, 0), True)

    def segments(self, columns: Sequence[int], raw: Sequence[int] = ()) -> Sequence[executor.Segment]:
        return ()

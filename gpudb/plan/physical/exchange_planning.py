"""Adds exchanges to a plan where rows have to meet and are not on one worker already.

A join's sides: one is broadcast, or both are partitioned by the hash of the keys, whichever moves less. An aggregate's
groups: after each worker's partial aggregation, unless there are nearly as many groups as rows. A window's partitions,
a set operation's rows, a result's order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from gpudb.catalog.distribution import BUCKETS
from gpudb.plan.cost.estimate import estimate, estimate_bytes, profile
from gpudb.plan.optimize import optimize_aggregate
from gpudb.plan.optimize.split_distinct import Mergeable
from gpudb.plan.physical import distribution
from gpudb.plan.physical.distribution import ANY, ONE, Distribution, hash_distribution, shift_keys
from gpudb.plan.physical.ranged_windows import can_split_by_range, split_by_range
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import BuildSideScan, Fused
from gpudb.plan.tree.nodes import Exchange, Node, column
from gpudb.plan.tree.stage_nodes import Final, Partial, RecursionShared
from gpudb.plan.tree.traversal import walk_nodes
from gpudb.sql import bound


@dataclass(frozen=True, slots=True)
class Costs:
    """Parameters of exchange planning; sizes are in bytes.

    `workers` is their number, `exchange` the fixed cost of an exchange beside what it moves. With `chunks` each worker
    is that many shares of a worker, which runs one after the other.

    A join side of more than `broadcast` bytes is not broadcast unless there is no other way. An order of at least
    `range` rows is computed by all workers, each a range of it. At least `groups` groups are computed without partial
    ones where they are more than `share` of the rows. No more than `gathered` partial groups, on all workers, are
    merged by one worker, which continues with them. A table of at least `scan` rows is worth a kernel. A joined table
    of fewer than `small` rows, in files of no more than SMALL_BYTES, is read whole by every worker.
    """

    workers: int = 4
    exchange: int = 2**20
    broadcast: int = 2**29
    range: int = 200_000
    groups: int = 100_000
    share: float = 0.5
    gathered: int = 0
    scan: int = 1_000_000
    small: int = 0
    chunks: int = 1


MAX_REPLICATED_BYTES = 1 << 28
_FIRST_SHARED = 1 << 40
"""First number of the shared subplans that are added here; those of plans have relations' numbers."""


def plan_exchanges(root: Node, mergeable: Mergeable, costs: Costs) -> tuple[Node, bool]:
    """Returns the plan with its exchanges, and whether its rows come from the first worker alone.

    `mergeable` returns whether workers' partial states of an aggregate's call can be merged.
    """
    node, where = _ExchangePlanner(mergeable, costs).plan_result(root)
    return node, where.single_worker


PlacedNode = tuple[Node, Distribution]


class _ExchangePlanner:
    def __init__(self, mergeable: Mergeable, costs: Costs) -> None:
        self._mergeable = mergeable
        self._costs = costs
        self._shared: dict[int, PlacedNode] = {}
        self._numbers = itertools.count(_FIRST_SHARED)

    def plan_result(self, node: Node) -> PlacedNode:
        """Plans the nodes above the result: its order may be computed by ranges, which workers return one after the
        other.
        """
        if isinstance(node, nodes.Project):
            below, where = self.plan_result(node.input)
            return replace(node, input=below), distribution.project_keys(where, node.exprs)
        if isinstance(node, nodes.Sort) and self._sorts_by_range(node):
            below, where = self.plan(node.input)
            if not where.single_worker:
                return replace(node, input=Exchange(below, "range", order=node.keys)), ANY
            return replace(node, input=below), ONE
        return self.plan(node)

    def _sorts_by_range(self, node: nodes.Sort) -> bool:
        if not node.keys or node.limit is not None or node.offset is not None:
            return False
        if self._costs.workers == 1:
            return False
        if not self._fits_worker(node.input):
            return True
        over = profile(node.input)
        if over.rows < self._costs.range:
            return False
        # Rows with equal keys go to one worker: there must be enough distinct keys for all workers.
        values = (over.columns[each.expr.index].distinct for each in node.keys if isinstance(each.expr, bound.Column))
        computed = any(not isinstance(each.expr, bound.Column) for each in node.keys)
        return computed or prod(values) >= 4 * self._costs.workers

    def plan(self, node: Node) -> PlacedNode:
        """Returns a node with the exchanges below it, and the distribution of its rows."""
        match node:
            case nodes.Scan():
                return node, distribution.scan_distribution(
                    node, whole=self._costs.chunks == 1 or self._costs.workers <= BUCKETS
                )
            case nodes.Values():
                return node, ONE
            case nodes.Join():
                return self._plan_join(node)
            case nodes.AsofJoin():
                # A left row has one match at most: its rows move as those of a LEFT JOIN by the same keys.
                made, where = self._plan_join(nodes.Join("LEFT", node.left, node.right, node.keys))
                return node.with_inputs(*made.inputs), where
            case nodes.Aggregate():
                return self._plan_aggregate(node)
            case Fused():
                return self._plan_fused(node)
            case Final(input=Fused() as fused):
                below, where = self.plan(fused)
                if where.keys and where.colocates([column(n, key.type) for n, key in enumerate(node.aggregate.keys)]):
                    return replace(node, input=below, whole=True), where
                return self._merge_partials(below, node.aggregate)
            case nodes.Sort():
                return self._plan_sort(node)
            case nodes.Project():
                below, where = self.plan(node.input)
                return replace(node, input=below), distribution.project_keys(where, node.exprs)
            case nodes.Window():
                return self._plan_window(node)
            case nodes.DistinctOn():
                below, where = self._plan_colocated(node.input, node.keys)
                return replace(node, input=below), where
            case nodes.SetOperation():
                return self._plan_set_operation(node)
            case nodes.Recursive():
                # Iterations run one after the other, so one worker runs them, over rows that are gathered before.
                left, right = _gather(*self.plan(node.left)), self._plan_recursive_term(node.right)
                return node.with_inputs(left, right), ONE
            case nodes.Shared():
                if node.number not in self._shared:
                    below, where = self.plan(node.input)
                    self._shared[node.number] = replace(node, input=below), where
                return self._shared[node.number]
            case _:
                (below,) = node.inputs
                made, where = self.plan(below)
                return node.with_inputs(made), where

    def _plan_recursive_term(self, node: Node) -> Node:
        """Plans a recursion's second term on one worker; subplans that do not change come from outside."""
        if not any(isinstance(each, nodes.WorkTableScan) for each in walk_nodes(node)):
            return _gather(*self.plan(node))
        if isinstance(node, nodes.Shared):
            return RecursionShared(self._plan_recursive_term(node.input), node.number)
        return node.with_inputs(*map(self._plan_recursive_term, node.inputs))

    def _plan_colocated(self, node: Node, keys: tuple[Any, ...]) -> PlacedNode:
        """Brings rows of equal keys to one worker; all rows to the first without keys."""
        below, where = self.plan(node)
        return self._colocate(below, where, keys)

    def _plan_window(self, node: nodes.Window) -> PlacedNode:
        below, where = self.plan(node.input)
        if not where.single_worker and not self._fits_worker(node.input) and can_split_by_range(node):
            return split_by_range(node, below, lambda: next(self._numbers)), ANY
        below, where = self._colocate(below, where, node.calls[0].partition_by)
        return replace(node, input=below), where

    def _colocate(self, node: Node, where: Distribution, keys: tuple[Any, ...]) -> PlacedNode:
        if where.single_worker or (keys and where.colocates(keys)):
            return node, where
        return (node if self._costs.workers == 1 else _exchange(node, keys)), _distribute_by(keys)

    # ------------------------------------------------------------------------------------------ joins

    def _plan_fused(self, node: Fused) -> PlacedNode:
        """Plans a kernel: each build side is broadcast, or partitioned as its matching rows are."""
        builds: list[Node] = []
        near, where = self._plan_probe_side(node.root)
        for number, each in enumerate(node.builds):
            made = replicate(each, self._costs.small)
            if made is None:
                below, lies = self.plan(each)
                keys, hash_name = near.get(number, ((), ""))
                if keys and lies.is_hashed_by(keys, hash_name):
                    made = below
                elif keys and estimate_bytes(each) > self._costs.exchange and _is_bucket_key(keys, hash_name):
                    made = Exchange(below, "hash", keys, hash_name=hash_name)
                else:
                    made = Exchange(below, "broadcast")
            builds.append(made)
        return node.with_inputs(*builds), where

    def _plan_probe_side(self, node: Node) -> tuple[dict[int, tuple[distribution.Keys, str]], Distribution]:
        """Walks down a kernel's probe side.

        Returns, for build sides whose matching rows are distributed by a hash, their number with keys and hash, and the
        distribution of the kernel's rows.
        """
        match node:
            case nodes.Scan():
                single = self._costs.workers == 1
                return {}, ANY if single else self.plan(node)[1]
            case nodes.Project():
                near, where = self._plan_probe_side(node.input)
                return near, distribution.project_keys(where, node.exprs)
            case Partial():
                near, where = self._plan_probe_side(node.input)
                return near, distribution.group_distribution(node.aggregate, where)
            case nodes.Join():
                swapped = isinstance(node.left, BuildSideScan)
                built, spine = (node.left, node.right) if swapped else (node.right, node.left)
                assert isinstance(built, BuildSideScan)
                near, where = self._plan_probe_side(spine)
                mine = tuple(pair[1 if swapped else 0] for pair in node.keys)
                theirs = tuple(pair[0 if swapped else 1] for pair in node.keys)
                order = None if node.null_aware else where.match_keys(mine)
                if order is not None:
                    near[built.number] = tuple(theirs[place] for place in order), where.hash_name
                return near, shift_keys(where, len(node.left.types)) if swapped else where
            case _:
                (below,) = node.inputs
                return self._plan_probe_side(below)

    def _plan_join(self, node: nodes.Join) -> PlacedNode:
        left, one = self.plan(node.left)
        right, other = self.plan(node.right)
        if one.single_worker and other.single_worker:
            return node.with_inputs(left, right), ONE
        if node.kind == "FULL" and not node.keys:
            return node.with_inputs(_gather(left, one), _gather(right, other)), ONE
        sides = (left, one), (right, other)
        if (near := _join_replicated(node, *sides)) is not None:
            return near
        hashing = self._partition_sides(node, *sides) if node.keys and not node.null_aware else None
        if hashing is not None and not hashing[1]:
            return hashing[0]
        if (near := _join_replicated(node, *sides, self._costs.small)) is not None:
            return near
        ways: list[tuple[float, Callable[[], PlacedNode]]] = []
        first, second = estimate_bytes(node.left), estimate_bytes(node.right)
        costs, workers = self._costs, self._costs.workers
        if node.kind != "FULL":
            ways.append((self._broadcast_cost(second), lambda: self._broadcast_right(node, *sides)))
        if node.kind == "INNER" and not other.single_worker:
            ways.append((self._broadcast_cost(first), lambda: self._broadcast_left(node, *sides)))
        if hashing is not None:
            made, moved = hashing
            held = {"left": first, "right": second}
            cost = sum(2.0 * held[side] / workers + costs.exchange for side in moved) + second / workers
            ways.append((cost, lambda: made))
        return min(ways, key=lambda way: way[0])[1]()

    def _broadcast_cost(self, size: int) -> float:
        """Returns the cost of broadcasting a side: every worker builds the whole hash table."""
        return float("inf") if size > self._costs.broadcast else 2.0 * size + self._costs.exchange

    @staticmethod
    def _broadcast_right(node: nodes.Join, left: PlacedNode, right: PlacedNode) -> PlacedNode:
        if left[1].single_worker:
            return node.with_inputs(left[0], _gather(*right)), ONE
        return node.with_inputs(left[0], Exchange(right[0], "broadcast")), left[1]

    @staticmethod
    def _broadcast_left(node: nodes.Join, left: PlacedNode, right: PlacedNode) -> PlacedNode:
        where = shift_keys(right[1], len(node.left.types))
        return node.with_inputs(Exchange(left[0], "broadcast"), right[0]), where

    @staticmethod
    def _partition_sides(node: nodes.Join, left: PlacedNode, right: PlacedNode) -> tuple[PlacedNode, tuple[str, ...]]:
        """Returns the join of co-located sides, and which of them were moved for it."""
        mine, theirs = (tuple(pair[side] for pair in node.keys) for side in (0, 1))
        for number, (placed_side, keys) in enumerate(((left, mine), (right, theirs))):
            order = placed_side[1].match_keys(keys)
            if order is None:
                continue
            other, others = (right, theirs) if number == 0 else (left, mine)
            hash_name = placed_side[1].hash_name
            other_keys = tuple(others[place] for place in order)
            own = hash_distribution(tuple(keys[place] for place in order), hash_name=hash_name)
            moved: tuple[str, ...] = ()
            if not other[1].is_hashed_by(other_keys, hash_name):
                if hash_name and not _is_bucket_key(other_keys, hash_name):
                    continue  # equal values would be in other buckets
                other = (
                    Exchange(other[0], "hash", other_keys, hash_name=hash_name),
                    hash_distribution(other_keys, hash_name=hash_name),
                )
                moved = ("right",) if number == 0 else ("left",)
            else:
                other = other[0], hash_distribution(other_keys, hash_name=hash_name)
            pair = ((placed_side[0], own), other) if number == 0 else (other, (placed_side[0], own))
            (one, left_where), (two, right_where) = pair
            return (node.with_inputs(one, two), distribution.join_distribution(node, left_where, right_where)), moved
        one, two = Exchange(left[0], "hash", mine), Exchange(right[0], "hash", theirs)
        return (
            node.with_inputs(one, two),
            distribution.join_distribution(node, hash_distribution(mine), hash_distribution(theirs)),
        ), ("left", "right")

    # ------------------------------------------------------------------------------------------ other nodes

    def _plan_aggregate(self, node: nodes.Aggregate) -> PlacedNode:
        below, where = self.plan(node.input)
        if where.single_worker or (node.keys and where.colocates(node.keys)):
            return replace(node, input=below), distribution.group_distribution(node, where)
        values = self._split_distinct(node)
        if values is not None:
            return self.plan(values)
        if not all(self._mergeable(call) for call in node.calls) or self._has_many_groups(node):
            met, where = self._colocate(below, where, node.keys)
            return replace(node, input=met), distribution.group_distribution(node, where)
        if self._costs.workers == 1:
            return replace(node, input=below), _distribute_by(self._final_keys(node, estimate(node)))
        return self._merge_partials(Partial(below, node), node)

    def _split_distinct(self, node: nodes.Aggregate) -> Node | None:
        """Splits DISTINCT aggregates where a group may exceed a chunk; None where they need not be split."""
        known = node.keys and all(isinstance(key, bound.Column) for key in node.keys)
        if self._fits_worker(node.input) or (known and estimate(node) >= 4 * self._costs.workers):
            return None
        return optimize_aggregate(node, self._mergeable, self._reuse)

    def _fits_worker(self, node: Node) -> bool:
        """Returns whether all rows of a node may be on one worker: always, unless it works chunk by chunk."""
        return self._costs.chunks == 1 or estimate_bytes(node) <= self._costs.broadcast

    def _reuse(self, node: Node) -> Node:
        """Returns a subplan for several readers: plain reads of a table are repeated, all else is shared."""
        if all(isinstance(each, nodes.Scan | nodes.Filter | nodes.Project) for each in walk_nodes(node)):
            return node
        return nodes.Shared(node, next(self._numbers))

    def _merge_partials(self, partial: Node, node: nodes.Aggregate) -> PlacedNode:
        """Merges partial aggregates of all workers, or of the single worker.

        A kernel's groups go to another stage even with a single worker: where they are few they are finished on the
        host.
        """
        keys = self._final_keys(node, estimate(partial))
        return Final(_exchange(partial, keys), node, whole=self._costs.workers == 1), _distribute_by(keys)

    def _final_keys(self, node: nodes.Aggregate, rows: int) -> tuple[Any, ...]:
        """Returns the keys by which partial groups are partitioned; few groups go to one worker."""
        few = self._costs.chunks == 1 and rows * self._costs.workers <= self._costs.gathered
        return () if few else tuple(column(index, key.type) for index, key in enumerate(node.keys))

    def _has_many_groups(self, node: nodes.Aggregate) -> bool:
        rows = estimate(node.input)
        return bool(node.keys) and rows >= self._costs.groups and estimate(node) >= rows * self._costs.share

    def _plan_sort(self, node: nodes.Sort) -> PlacedNode:
        below, where = self.plan(node.input)
        if where.single_worker:
            return replace(node, input=below), ONE
        first = _limit_per_worker(node)
        # The first rows of all are among the first rows of each.
        below = below if first is None else replace(node, input=below, limit=first, offset=None)
        return replace(node, input=Exchange(below, "gather")), ONE

    def _plan_set_operation(self, node: nodes.SetOperation) -> PlacedNode:
        (left, one), (right, other) = self.plan(node.left), self.plan(node.right)
        if one.single_worker and other.single_worker:
            return node.with_inputs(left, right), ONE
        if node.op == "UNION":
            # Gathered rows stay on their worker; the others have none of them.
            left = Exchange(left, "gather") if one.single_worker else left
            right = Exchange(right, "gather") if other.single_worker else right
            return node.with_inputs(left, right), distribution.union_distribution(one, other)
        keys = tuple(column(index, kind) for index, kind in enumerate(node.types))
        if not keys:
            return node.with_inputs(_gather(left, one), _gather(right, other)), ONE
        alike = distribution.union_distribution(one, other)
        if alike.keys:
            return node.with_inputs(left, right), alike
        return node.with_inputs(Exchange(left, "hash", keys), Exchange(right, "hash", keys)), hash_distribution(keys)


def _is_bucket_key(keys: distribution.Keys, hash_name: str) -> bool:
    """Returns whether equal values of keys are in the buckets that rows are distributed by."""
    return bool(hash_name) and [distribution.bucket_hash_name(key.type) for key in keys] == [hash_name]


def replicate(node: Node, small: int = 0) -> Node | None:
    """Returns a subplan over replicated tables, or tables of fewer than `small` rows, that every worker computes whole.

    None for any other subplan.
    """
    match node:
        case nodes.Scan():
            few = node.part is None and node.table.rows < small
            few = few and sum(file.bytes for file in node.table.files) <= MAX_REPLICATED_BYTES
            return replace(node, part=nodes.WHOLE) if few or node.table.replicated else None
        case nodes.Filter() | nodes.Project() | nodes.Aggregate() | nodes.Join():
            # Sums of floats differ between workers, and a join of small tables need not be small.
            unbounded = isinstance(node, nodes.Aggregate) or (isinstance(node, nodes.Join) and estimate(node) >= small)
            inputs = [replicate(each, 0 if unbounded else small) for each in node.inputs]
            made = [each for each in inputs if each is not None]
            return node.with_inputs(*made) if len(made) == len(inputs) else None
    return None


def _join_replicated(node: nodes.Join, left: PlacedNode, right: PlacedNode, small: int = 0) -> PlacedNode | None:
    """Returns a join that moves no rows, since every worker has all of one side; None if there is none."""
    if node.kind == "FULL":
        return None
    side = replicate(node.right, small)
    if side is not None:
        return node.with_inputs(left[0], side), left[1]
    side = replicate(node.left, small) if node.kind == "INNER" else None
    return None if side is None else (node.with_inputs(side, right[0]), shift_keys(right[1], len(node.left.types)))


def _exchange(node: Node, keys: tuple[Any, ...]) -> Node:
    """Brings rows of equal keys to one worker; all rows to the first without keys."""
    return Exchange(node, "hash", keys) if keys else Exchange(node, "gather")


def _distribute_by(keys: tuple[Any, ...]) -> Distribution:
    """Returns the resulting distribution."""
    return hash_distribution(keys) if keys else ONE


def _gather(node: Node, where: Distribution) -> Node:
    return node if where.single_worker else Exchange(node, "gather")


def _limit_per_worker(node: nodes.Sort) -> Any | None:
    """Returns how many first rows of each worker a sort needs; None for all of them."""
    if node.limit is None:
        return None
    if node.offset is None:
        return node.limit
    limit, offset = node.limit, node.offset
    if isinstance(limit, bound.Constant) and isinstance(offset, bound.Constant):
        if isinstance(limit.value, int) and isinstance(offset.value, int) and min(limit.value, offset.value) >= 0:
            return replace(limit, value=limit.value + offset.value)
    return None

"""Orders inner joins by estimated intermediate rows, the smaller side of each join on the right.

A tree of inner joins is split into relations, equalities (with those that they imply) and conditions. Dynamic
programming over connected sets orders up to TEN relations; with more, the pair with the fewest result rows is joined
first, repeatedly. Other joins keep their place: each is a relation of the tree above it. (Moerkotte and Neumann,
"Dynamic Programming Strikes Back", 2008; Fegaras, "A New Heuristic for Optimizing Large Queries", 1998.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from gpudb.plan.cost.estimate import join_profile, profile
from gpudb.plan.cost.profile import Profile
from gpudb.plan.optimize.push_down_filters import add_filters
from gpudb.plan.tree.joins import build_join, split_keys
from gpudb.plan.tree.nodes import Filter, Join, Node, Project, Scan, column
from gpudb.plan.tree.predicates import equality_function, implied_predicate
from gpudb.plan.tree.traversal import columns_read, remap_columns, shift_columns, substitute
from gpudb.sql import bound
from gpudb.sql.fallibility import may_fail
from gpudb.sql.traverse import join_conjuncts, split_conjuncts
from gpudb.sql.widening import bare
from gpudb.types import BOOL

MAX_EXHAUSTIVE = 10
BUILD_COST = 2.0
"""Cost of a row of a join's smaller side, which goes into the hash table, relative to a result row."""


def order_joins(root: Node) -> Node:
    """Orders every tree of inner joins of a plan."""
    if _is_inner(root):
        tree = _JoinTree()
        outputs = tree.add(root)
        return tree.build(outputs)
    return root.with_inputs(*(order_joins(each) for each in root.inputs))


def _is_inner(node: Node) -> bool:
    return isinstance(node, Join) and node.kind == "INNER"


def _selects_from_inner(node: Node) -> bool:
    """Returns whether a node only selects columns or rows of an inner join."""
    if isinstance(node, Project):
        return all(isinstance(expr, bound.Column) for expr in node.exprs) and _selects_from_inner(node.input)
    if isinstance(node, Filter):
        return not may_fail(node.condition) and _selects_from_inner(node.input)
    return _is_inner(node)


def _drop_null_tests(leaf: Node, keys: set[int]) -> Node:
    """Removes IS NOT NULL conditions on keys from a relation; the join on those keys tests them again."""
    if isinstance(leaf, Project) and all(isinstance(expr, bound.Column) for expr in leaf.exprs):
        below = {
            expr.index for place, expr in enumerate(leaf.exprs) if place in keys and isinstance(expr, bound.Column)
        }
        return leaf.with_inputs(_drop_null_tests(leaf.input, below))
    if isinstance(leaf, Join) and leaf.kind in {"SEMI", "ANTI"}:
        return leaf.with_inputs(_drop_null_tests(leaf.left, keys), leaf.right)
    if not isinstance(leaf, Scan) or leaf.filter is None:
        return leaf
    kept = tuple(each for each in split_conjuncts(leaf.filter) if not _tests_null(each, keys))
    return replace(leaf, filter=join_conjuncts(kept))


def _tests_null(part: Any, keys: set[int]) -> bool:
    match part:
        case bound.Test(arg=bound.Column(index=index), what="NULL", negated=True):
            return index in keys
        case _:
            return False


@dataclass(slots=True)
class _PartialJoin:
    """A join of some of the relations: the position of each of the tree's columns in it, and its profile.

    For most of them no node is ever built: `sides` are the two joined parts, the keys and the condition.
    """

    mask: int
    places: dict[int, int]
    profile: Profile
    cost: float
    relation: Node | None = None
    sides: tuple[_PartialJoin, _PartialJoin, tuple[tuple[Any, Any], ...], Any | None] | None = None

    @property
    def node(self) -> Node:
        """The node, built on first use."""
        if self.relation is None:
            assert self.sides is not None
            left, right, keys, condition = self.sides
            self.relation = Join("INNER", left.node, right.node, keys, condition)
        return self.relation


@dataclass(slots=True)
class _JoinTree:
    """A tree of inner joins. Its columns are numbered consecutively; bit masks denote sets of relations."""

    leaves: list[Node] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    equal: list[list[Any]] = field(default_factory=list)
    conditions: list[Any] = field(default_factory=list)
    width: int = 0
    _masks: list[list[int]] = field(default_factory=list, init=False)
    """The relations of each value in `equal`."""
    _early: list[tuple[int, Any]] = field(default_factory=list, init=False)
    """Conditions on several relations that cannot fail, with their relations."""

    # ------------------------------------------------------------------------------------------ splitting

    def add(self, node: Node) -> tuple[bound.Column, ...]:
        """Adds the relations and conditions of a subtree; returns its output columns in the tree's numbering."""
        if isinstance(node, Join) and node.kind == "INNER":
            left, right = self.add(node.left), self.add(node.right)
            for one, other in node.keys:
                self._add_equal(substitute(one, left), substitute(other, right))
            self.conditions += [substitute(part, left + right) for part in split_conjuncts(node.condition)]
            return left + right
        if isinstance(node, Project) and _selects_from_inner(node):
            below = self.add(node.input)
            return tuple(below[expr.index] for expr in node.exprs if isinstance(expr, bound.Column))
        if isinstance(node, Filter) and _selects_from_inner(node):
            below = self.add(node.input)
            self.conditions += [substitute(part, below) for part in split_conjuncts(node.condition)]
            return below
        self.leaves.append(order_joins(node))
        self.starts.append(self.width)
        self.width += len(node.types)
        start = self.starts[-1]
        return tuple(column(start + index, kind) for index, kind in enumerate(node.types))

    def _add_equal(self, one: Any, other: Any) -> None:
        """Adds an equality: merges the equivalence classes of both sides."""
        if self._find_relations(one).bit_count() != 1 or self._find_relations(other).bit_count() != 1:
            self.conditions.append(bound.Call(equality_function(one.type), (one, other), BOOL))
            return
        with_one = [each for each in self.equal if one in each or other in each]
        merged = [one, other]
        for each in with_one:
            merged += each
            self.equal.remove(each)
        unique: list[Any] = []
        for each in merged:
            if each not in unique:
                unique.append(each)
        self.equal.append(unique)

    def _find_leaf(self, index: int) -> int:
        found = 0
        for number, start in enumerate(self.starts):
            if start <= index:
                found = number
        return found

    def _find_relations(self, expr: Any) -> int:
        mask = 0
        for index in columns_read(expr):
            mask |= 1 << self._find_leaf(index)
        return mask

    # ------------------------------------------------------------------------------------------ ordering

    def build(self, outputs: Sequence[bound.Column]) -> Node:
        """Joins the relations in the new order and returns a node with the original columns."""
        self._masks = [[self._find_relations(each) for each in equal] for equal in self.equal]
        everything = (1 << len(self.leaves)) - 1
        late = [each for each in self.conditions if may_fail(each) or self._find_relations(each) == 0]
        early = [(self._find_relations(each), each) for each in self.conditions if each not in late]
        early += self._imply_by_disjunctions(early)
        early += self._imply_by_equalities(early)
        singles = [self._build_leaf(number, early) for number in range(len(self.leaves))]
        self._early = [(mask, each) for mask, each in early if mask.bit_count() > 1]
        parts = _order_exhaustively(self, singles) if len(singles) <= MAX_EXHAUSTIVE else singles
        whole = self._order_greedily(parts)
        assert whole.mask == everything
        node = whole.node
        if late:
            top = [remap_columns(each, whole.places.__getitem__) for each in late]
            node = self._add_conditions(node, top)
        exprs = tuple(column(whole.places[each.index], each.type) for each in outputs)
        return Project(node, exprs)

    def _imply_by_disjunctions(self, early: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Returns what conditions on several relations imply for one of them."""
        found: list[tuple[int, Any]] = []
        for mask, each in early:
            if mask.bit_count() > 1:
                for bit in (1 << number for number in range(len(self.leaves)) if mask >> number & 1):
                    part = implied_predicate(each, partial(self._reads_exactly, bit))
                    found += [] if part is None else [(bit, part)]
        return found

    def _imply_by_equalities(self, early: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Returns conditions implied through equalities by conditions on a single column, those of scans included."""
        conditions_known = [each for _, each in early]
        for start, leaf in zip(self.starts, self.leaves, strict=True):
            conditions_known += (
                [shift_columns(part, start) for part in split_conjuncts(leaf.filter)] if isinstance(leaf, Scan) else []
            )
        found: list[tuple[int, Any]] = []
        for each in conditions_known:
            places = columns_read(each)
            # A join tests its keys for NULL itself.
            if len(places) != 1 or may_fail(each) or _tests_null(each, places):
                continue
            for one, other in self._equal_columns(*places):
                part = remap_columns(each, {one.index: other.index}.__getitem__)
                found += [(self._find_relations(part), part)] if part not in conditions_known else []
        return found

    def _equal_columns(self, index: int) -> list[tuple[bound.Column, bound.Column]]:
        """Returns pairs of a column and each equal column of its type."""
        columns = [[each for each in equal if isinstance(each, bound.Column)] for equal in self.equal]
        return [
            (one, other)
            for equal in columns
            for one in equal
            if one.index == index
            for other in equal
            if other.index != index and other.type == one.type
        ]

    def _reads_exactly(self, mask: int, part: Any) -> bool:
        return self._find_relations(part) == mask

    @staticmethod
    def _add_conditions(node: Node, parts: list[Any]) -> Node:
        if isinstance(node, Join):
            made = build_join("INNER", node.left, node.right, (*split_conjuncts(node.condition), *parts))
            return Join("INNER", node.left, node.right, node.keys + made.keys, made.condition)
        return add_filters(node, parts)

    def _build_leaf(self, number: int, early: list[tuple[int, Any]]) -> _PartialJoin:
        """Returns a relation with the conditions on it alone and those that equalities imply for it."""
        start, leaf = self.starts[number], self.leaves[number]
        parts = [each for mask, each in early if mask == 1 << number]
        for equal, masks in zip(self.equal, self._masks, strict=True):
            own = [each for each, mask in zip(equal, masks, strict=True) if mask == 1 << number]
            parts += [bound.Call(equality_function(own[0].type), (own[0], each), BOOL) for each in own[1:]]
        keys = {index - start for equal in self.equal for each in equal for index in columns_read(bare(each))}
        leaf = _drop_null_tests(leaf, keys)
        if parts:
            leaf = add_filters(leaf, [remap_columns(each, lambda index: index - start) for each in parts])
        places = {start + index: index for index in range(len(leaf.types))}
        return _PartialJoin(1 << number, places, profile(leaf), 0.0, leaf)

    def is_linked(self, one: int, other: int) -> bool:
        """Returns whether an equality links two sets of relations."""
        return any(any(mask & one for mask in masks) and any(mask & other for mask in masks) for masks in self._masks)

    def _join_conditions(self, one: _PartialJoin, other: _PartialJoin) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Returns the equal values of two parts, and the conditions that become applicable when they are joined."""
        keys: list[tuple[Any, Any]] = []
        for equal, masks in zip(self.equal, self._masks, strict=True):
            mine = [each for each, mask in zip(equal, masks, strict=True) if mask & one.mask]
            theirs = [each for each, mask in zip(equal, masks, strict=True) if mask & other.mask]
            if mine and theirs:
                keys.append((mine[0], theirs[0]))
        both = one.mask | other.mask
        parts = [
            each
            for mask, each in self._early
            if mask & both == mask and mask & one.mask != mask and mask & other.mask != mask
        ]
        return keys, parts

    def join(self, one: _PartialJoin, other: _PartialJoin) -> _PartialJoin:
        """Joins two parts, the smaller one on the right."""
        if one.profile.rows < other.profile.rows:
            one, other = other, one
        equal, parts = self._join_conditions(one, other)
        width = len(one.places)
        places = one.places | {index: width + place for index, place in other.places.items()}
        keys = [
            (remap_columns(a, one.places.__getitem__), remap_columns(b, other.places.__getitem__)) for a, b in equal
        ]
        more, rest = split_keys(tuple(remap_columns(each, places.__getitem__) for each in parts), width)
        every, condition = (*keys, *more), join_conjuncts(tuple(rest))
        made = join_profile("INNER", one.profile, other.profile, every, condition)
        mask = one.mask | other.mask
        return _PartialJoin(mask, places, made, one.cost + other.cost, sides=(one, other, every, condition))

    def _order_greedily(self, parts: list[_PartialJoin]) -> _PartialJoin:
        """Joins the pair with the fewest result rows until one part remains; pairs that an equality links come
        first.
        """
        made: dict[tuple[int, int], _PartialJoin] = {}
        while len(parts) > 1:
            for i, one in enumerate(parts):
                for other in parts[:i]:
                    pair = one.mask, other.mask
                    if pair not in made:
                        made[pair] = self.join(other, one)
            alive = {part.mask for part in parts}
            made = {pair: part for pair, part in made.items() if alive.issuperset(pair)}
            first, second = min(made, key=lambda pair: (not self.is_linked(*pair), made[pair].profile.rows))
            best = made[first, second]
            parts = [part for part in parts if part.mask not in {first, second}] + [best]
        return parts[0]


def _order_exhaustively(tree: _JoinTree, singles: list[_PartialJoin]) -> list[_PartialJoin]:
    """Returns the best join of each maximal connected set of relations, by dynamic programming."""
    count = len(singles)
    best = {part.mask: part for part in singles}
    near = {
        1 << i: sum(1 << j for j in range(count) if i != j and tree.is_linked(1 << i, 1 << j)) for i in range(count)
    }
    for mask in range(3, 1 << count):
        low = mask & -mask
        chosen: tuple[float, int] | None = None
        sub = (mask - 1) & mask
        while sub:
            rest = mask ^ sub
            if sub & low and sub in best and rest in best and near[sub] & rest:
                one, other = best[sub], best[rest]
                cost = one.cost + other.cost + BUILD_COST * min(one.profile.rows, other.profile.rows)
                if chosen is None or cost < chosen[0]:
                    chosen = cost, sub
            sub = (sub - 1) & mask
        if chosen is not None:
            cost, sub = chosen
            part = tree.join(best[sub], best[mask ^ sub])
            best[mask] = replace(part, cost=cost + part.profile.rows)
            near[mask] = (near[sub] | near[mask ^ sub]) & ~mask
    return [part for mask, part in best.items() if not near[mask]]

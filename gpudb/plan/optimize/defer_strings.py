"""Late materialisation of strings that a stage's filters and joins pass on, where few rows remain.

A `Defer` over the scan returns each row's position in place of the strings; a `Fetch` above the last node that passes
them on reads them by that position. It pays where a filter or a join before the last one would copy strings of many
more rows: a single join copies only those of its own rows. A million rows with four strings, of which a filter kept one
in seven and a join one in a hundred, took a fifth less time; at one in ten nothing was gained. Rows that leave their
worker carry their strings, and the first rows of an order are found before the other rows' strings are copied anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node, Project, Scan, column
from gpudb.plan.tree.stage_nodes import Defer, Fetch
from gpudb.plan.tree.stages import Stage
from gpudb.plan.tree.traversal import columns_read, walk_nodes
from gpudb.sql import bound

MIN_COPIED = 50_000
"""Minimum rows whose strings the nodes would copy, in total."""
MAX_REMAINING = 0.05
"""Maximum estimated share of them that remains."""
_STRINGS = frozenset({"text", "varchar", "bpchar"})


def defer_strings(stages: Sequence[Stage]) -> list[Stage]:
    """Fetches strings late in the stages where that pays."""
    return [_defer(stage) for stage in stages]


def _defer(stage: Stage) -> Stage:
    scans = [node for node in walk_nodes(stage.root) if isinstance(node, Scan)]
    times = Counter(map(id, scans))
    asked = {id(scan): number for number, scan in enumerate(scans) if times[id(scan)] == 1 and _is_candidate(scan)}
    if not asked:
        return stage
    looking = _StringDeferrer(asked)
    looking.rewrite(stage.root)
    worth = {scan: asked[scan] for scan, (copied, left) in looking.ends.items() if _pays(copied, left)}
    return replace(stage, root=_StringDeferrer(worth).rewrite(stage.root)) if worth else stage


def _is_candidate(scan: Scan) -> bool:
    return scan.table.rows >= MIN_COPIED // 2 and any(kind.name in _STRINGS for kind in scan.types)


def _pays(copied: int, left: int) -> bool:
    return copied >= MIN_COPIED and left <= MAX_REMAINING * copied


@dataclass(frozen=True, slots=True)
class _PassedStrings:
    """A scan's strings that a node passes on.

    `columns` maps positions in the node to the scan's columns, `at` is the position that holds the row's position, and
    `copied` counts the rows whose strings the nodes so far would have copied.
    """

    columns: dict[int, int]
    at: int
    copied: int


_Rewritten = tuple[Node, dict[int, _PassedStrings]]
"""A node that passes strings on, and those strings, by the scan's id."""


class _StringDeferrer:
    """Defers the strings of some scans, by id, under their numbers.

    `ends` has for each scan the rows whose strings would have been copied before the fetch, and the rows that remain.
    """

    def __init__(self, scans: dict[int, int]) -> None:
        self._scans = scans
        self.ends: dict[int, tuple[int, int]] = {}

    def rewrite(self, node: Node) -> Node:
        """Rewrites a stage's root, whose rows have all their columns."""
        return self._fetch_read(node)[0]

    def _fetch_read(self, node: Node, places: set[int] | None = None) -> _Rewritten:
        """Rewrites a node and fetches the strings of each scan of which some are read: those at some positions, or
        any.
        """
        made, passed = self._rewrite(node)
        left: dict[int, _PassedStrings] = {}
        for scan, strings in passed.items():
            if places is not None and places.isdisjoint(strings.columns):
                left[scan] = strings
                continue
            self.ends[scan] = strings.copied, estimate(node)
            made = Fetch(made, self._scans[scan], strings.at, tuple(strings.columns.items()), node.types)
        return made, left

    def _rewrite(self, node: Node) -> _Rewritten:
        match node:
            case Scan() if id(node) in self._scans:
                return self._defer_scan(node)
            case nodes.Filter():
                below, passed = self._fetch_read(node.input, columns_read(node.condition))
                return node.with_inputs(below), _count_copy(passed, node)
            case Project():
                return self._rewrite_project(node)
            case nodes.Join():
                return self._rewrite_join(node)
            case _:
                return node.with_inputs(*(self._fetch_read(each)[0] for each in node.inputs)), {}

    def _defer_scan(self, node: Scan) -> _Rewritten:
        strings = tuple(place for place, kind in enumerate(node.types) if kind.name in _STRINGS)
        copied = estimate(node) if node.filter is not None else 0
        passed = _PassedStrings({place: place for place in strings}, strings[0], copied)
        return Defer(node, self._scans[id(node)], strings), {id(node): passed}

    def _rewrite_project(self, node: Project) -> _Rewritten:
        plain = {place: each.index for place, each in enumerate(node.exprs) if isinstance(each, bound.Column)}
        computed = tuple(each for place, each in enumerate(node.exprs) if place not in plain)
        below, passed = self._fetch_read(node.input, columns_read(computed))
        exprs = list(node.exprs)
        left: dict[int, _PassedStrings] = {}
        for scan, strings in passed.items():
            columns = {place: strings.columns[index] for place, index in plain.items() if index in strings.columns}
            if not columns:
                continue
            for place in columns:
                exprs[place] = column(plain[place], below.types[plain[place]], node.names[place])
            at = min(columns)
            exprs[at] = column(strings.at, below.types[strings.at], node.names[at])
            left[scan] = _PassedStrings(columns, at, strings.copied)
        return Project(below, tuple(exprs), node.names), left

    def _rewrite_join(self, node: nodes.Join) -> _Rewritten:
        width = len(node.left.types)
        reads = columns_read(node.condition)
        mine, theirs = (columns_read(tuple(pair[side] for pair in node.keys)) for side in (0, 1))
        left, passed = self._fetch_read(node.left, mine | {index for index in reads if index < width})
        right, others = self._fetch_read(node.right, theirs | {index - width for index in reads if index >= width})
        if node.kind not in {"SEMI", "ANTI"}:
            for scan, strings in others.items():
                columns = {place + width: index for place, index in strings.columns.items()}
                passed[scan] = _PassedStrings(columns, strings.at + width, strings.copied)
        return node.with_inputs(left, right), _count_copy(passed, node)


def _count_copy(passed: dict[int, _PassedStrings], node: Node) -> dict[int, _PassedStrings]:
    """Counts one more copy of the strings."""
    rows = estimate(node)
    return {scan: replace(strings, copied=strings.copied + rows) for scan, strings in passed.items()}

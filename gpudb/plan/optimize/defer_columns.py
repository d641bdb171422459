"""Fetches columns that other grouping keys determine after ORDER BY … LIMIT has left few groups.

In `GROUP BY c.id, c.name, c.address … ORDER BY sum(x) LIMIT 20`, where id is a key of c, rows are grouped by id alone,
and the names of the remaining twenty are joined from c by its key. The same holds for columns of tables that c
references by their keys. It pays for texts alone, and where there are many groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gpudb.plan.cost.estimate import estimate
from gpudb.plan.cost.uniqueness import Origin, equal_columns, find_origin, table_keys
from gpudb.plan.tree.nodes import Aggregate, Join, Node, Project, Scan, Sort, column
from gpudb.plan.tree.traversal import columns_read, rebuild, remap_columns, walk_nodes
from gpudb.sql import bound

_MAX_LIMIT, _MIN_GROUPS = 10_000, 100_000
"""Maximum rows of the LIMIT, and minimum groups."""
_TEXTS = frozenset({"text", "varchar", "bpchar"})


def defer_columns(root: Node) -> Node:
    """Fetches texts that keys determine above the LIMIT of an order of groups."""
    return rebuild(root, _defer)


def _defer(node: Node) -> Node:
    if not isinstance(node, Sort) or not isinstance(node.limit, bound.Constant) or not node.keys:
        return node
    if not isinstance(node.limit.value, int) or node.limit.value > _MAX_LIMIT:
        return node
    above = node.input
    groups = above.input if isinstance(above, Project) else above
    if not isinstance(groups, Aggregate) or estimate(groups) < _MIN_GROUPS:
        return node
    if isinstance(above, Project):
        places = [expr.index for expr in above.exprs if isinstance(expr, bound.Column)]
        if len(places) < len(above.exprs):
            return node
    else:
        places = list(range(len(groups.types)))
    sorted_by = {places[index] for key in node.keys for index in columns_read(key.expr)}
    found = _Dependencies(groups).find_sources({place for place in places if place not in sorted_by})
    return _DeferredBuilder(node, groups, places, found).build() if found else node


@dataclass(frozen=True, slots=True)
class _Source:
    """A scan whose columns are determined by the grouping keys.

    `by` pairs the columns of its key, by name, with the grouping keys or the columns of another source that they equal.
    `columns` maps the grouping keys that are fetched from it to the scan's columns.
    """

    scan: Scan
    by: tuple[tuple[str, int | tuple[int, str]], ...]
    columns: dict[int, str] = field(default_factory=dict)


class _Dependencies:
    """Functional dependencies among grouping keys."""

    def __init__(self, groups: Aggregate) -> None:
        self._groups = groups
        self._origins: dict[int, Origin] = {}
        # A scan that occurs twice in a plan contributes two rows to each joined row, so it determines neither.
        self._times = Counter(id(node) for node in walk_nodes(groups.input))
        for place, key in enumerate(groups.keys):
            held = find_origin(groups.input, key.index) if isinstance(key, bound.Column) else None
            if held is not None and self._times[id(held[0])] == 1:
                self._origins[place] = held
        self._sources: dict[int, _Source] = {}

    def find_sources(self, free: set[int]) -> list[_Source]:
        """Returns the sources from which some of the `free` keys are fetched, each after those that it depends on."""
        self._add_by_keys()
        self._add_by_references()
        kept = {number for each in self._sources.values() for _, number in each.by if isinstance(number, int)}
        for place, (scan, index) in self._origins.items():
            source = self._sources.get(id(scan))
            if place in free and place not in kept and source is not None:
                source.columns[place] = scan.names[index]
        if not any(
            self._groups.types[place].name in _TEXTS for each in self._sources.values() for place in each.columns
        ):
            return []
        wanted: set[int] = set()
        for number, each in reversed(list(self._sources.items())):
            if each.columns or number in wanted:
                wanted |= {number, *(one[0] for _, one in each.by if isinstance(one, tuple))}
        return [each for number, each in self._sources.items() if number in wanted]

    def _add_by_keys(self) -> None:
        """Adds scans that have a whole key among the grouping keys."""
        for scan in {id(scan): scan for scan, _ in self._origins.values()}.values():
            held = {scan.names[at]: place for place, (each, at) in self._origins.items() if each is scan}
            key = next((key for key in table_keys(scan.table) if held.keys() >= set(key)), None)
            if key is not None:
                self._sources[id(scan)] = _Source(scan, tuple((name, held[name]) for name in key))

    def _add_by_references(self) -> None:
        """Adds scans whose single-column key equals a column of a source."""
        pairs = list(equal_columns(self._groups.input))
        pairs += [(b, a) for a, b in pairs]
        changed = True
        while changed:
            changed = False
            for (scan, at), (other, other_at) in pairs:
                if id(scan) not in self._sources or id(other) in self._sources or self._times[id(other)] > 1:
                    continue
                if scan.types[at] == other.types[other_at] and (other.names[other_at],) in table_keys(other.table):
                    by = ((other.names[other_at], (id(scan), scan.names[at])),)
                    self._sources[id(other)] = _Source(other, by)
                    changed = True


class _DeferredBuilder:
    """Builds an order of groups with the late columns joined above it."""

    def __init__(self, order: Sort, groups: Aggregate, places: list[int], sources: list[_Source]) -> None:
        self._order, self._groups, self._places, self._sources = order, groups, places, sources
        # Positions of the groups' columns and of the sources' columns.
        self._positions: dict[int | tuple[int, str], int] = {}

    def build(self) -> Node:
        """Returns a node with the rows of the original order."""
        order, groups = self._order, self._groups
        fetched = {place for source in self._sources for place in source.columns}
        kept = [place for place in range(len(groups.keys)) if place not in fetched]
        calls = range(len(groups.keys), len(groups.types))
        narrow = Aggregate(groups.input, tuple(groups.keys[place] for place in kept), groups.calls)
        self._positions = {place: number for number, place in enumerate((*kept, *calls))}
        keys = self._sort_keys(self._positions)
        made: Node = Sort(narrow, keys, order.limit, order.offset)
        for source in self._sources:
            made = self._join_source(made, source)
        exprs = tuple(
            column(self._positions[place], groups.types[place], groups.names[place]) for place in self._places
        )
        labels = order.input.labels if isinstance(order.input, Project) else ()
        wide = Project(made, exprs, labels)
        return Sort(wide, order.keys)

    def _sort_keys(self, at: dict[int | tuple[int, str], int]) -> tuple[bound.SortKey, ...]:
        def place(index: int) -> int:
            return at[self._places[index]]

        return tuple(replace(key, expr=remap_columns(key.expr, place)) for key in self._order.keys)

    def _join_source(self, made: Node, source: _Source) -> Node:
        table = source.scan.table
        wanted = dict.fromkeys(
            (*(name for name, _ in source.by), *source.columns.values(), *self._referencing_columns(source))
        )
        numbers = {each.name: number for number, each in enumerate(table.columns)}
        scan = Scan(table, tuple(numbers[name] for name in wanted))
        width = len(made.types)
        own = {name: place for place, name in enumerate(wanted)}
        pairs = tuple(
            (column(self._positions[by], scan.types[own[name]]), column(own[name], scan.types[own[name]]))
            for name, by in source.by
        )
        for place, name in source.columns.items():
            self._positions[place] = width + own[name]
        for name, place in own.items():
            self._positions[id(source.scan), name] = width + place
        return Join("INNER", made, scan, pairs)

    def _referencing_columns(self, source: _Source) -> Iterator[Any]:
        """Yields the columns of a source that other sources are joined by."""
        for other in self._sources:
            for _, by in other.by:
                if isinstance(by, tuple) and by[0] == id(source.scan):
                    yield by[1]

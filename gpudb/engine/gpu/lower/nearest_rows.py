"""Rows of a sort that keeps the first by a distance, from an index of vectors.

Below such a sort are projections, filters and joins over a scan. An index gives the nearest rows of the scan; if enough
of them are left below the sort, the first rows are among them. Otherwise four times as many are searched for, until
that takes as long as reading all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpudb.catalog.vector_indexes import find_vector_index
from gpudb.engine.gpu.backend.vector_indexes import Places
from gpudb.plan.tree import nodes
from gpudb.plan.tree.fused_nodes import Fused
from gpudb.plan.tree.traversal import columns_read
from gpudb.sql import bound
from gpudb.sql.traverse import reads_columns
from gpudb.vector_indexes.definition import IndexDefinition, SearchEffort

MAX_SHARE = 8
"""An index is searched for at most this part of a scan's rows."""
_MAX_RESULT = 10_000


@dataclass(frozen=True, slots=True)
class NearestScan:
    """A scan whose rows nearest to the value of `to` a sort keeps, by the distance of its column at `place`."""

    scan: nodes.Scan
    place: int
    to: bound.Expr
    name: str
    definition: IndexDefinition


@dataclass(frozen=True, slots=True)
class RowSearch:
    """An index over some rows of a scan.

    `search` returns the places of about so many nearest rows, or None; `others` are the places of the scan's rows that
    the index lacks, of `rows` in all.
    """

    search: Callable[[bytes, int, int], Places | None]
    others: Places
    rows: int


OpenIndex = Callable[[NearestScan], RowSearch | None]
"""Returns the index of a scan, which it builds if need be; None if there is none."""


@dataclass(frozen=True, slots=True)
class NearestSource:
    """What a stage's searches need: the indexes, and how far they look."""

    open: OpenIndex
    effort: SearchEffort


def find_nearest_scan(sort: nodes.Sort) -> NearestScan | None:
    """Returns the scan of a sort whose first key is a distance that an index answers; None for others."""
    if sort.limit is None or not sort.keys:
        return None
    key = sort.keys[0]
    if key.descending or key.nulls_first:
        return None
    node: nodes.Node = sort.input
    expr: Any = key.expr
    while True:
        match node:
            case nodes.Project():
                expr = _substitute(expr, node.exprs)
                node = node.input
            case nodes.Filter():
                node = node.input
            case nodes.Join(kind="INNER" | "LEFT" | "SEMI" | "ANTI") if _reads_left(expr, node):
                node = node.left
            case Fused() if not node.builds:
                node = node.root
            case nodes.Scan() if node.part is None:
                return _match(node, expr)
            case _:
                return None


def find_reader(sort: nodes.Sort, scan: nodes.Scan) -> nodes.Node:
    """Returns the node below a sort whose rows are computed from the scan's: the scan, or the fused part around it."""
    node: nodes.Node = sort.input
    while node is not scan and not isinstance(node, Fused):
        node = node.inputs[0]
    return node


def _substitute(expr: Any, exprs: tuple[Any, ...]) -> Any:
    """Returns an expression over a projection's output as one over its input; of calls, their operands."""
    if isinstance(expr, bound.Column):
        return exprs[expr.index]
    if isinstance(expr, bound.Call):
        args = tuple(_substitute(each, exprs) if reads_columns(each) else each for each in expr.args)
        return bound.Call(expr.function, args, expr.type)
    if isinstance(expr, bound.Cast) and expr.is_relabel:
        return bound.Cast(_substitute(expr.arg, exprs), expr.type, expr.explicit)
    return expr


def _reads_left(expr: Any, join: nodes.Join) -> bool:
    return max(columns_read((expr,)), default=0) < len(join.left.types)


def _match(scan: nodes.Scan, expr: Any) -> NearestScan | None:
    if not isinstance(expr, bound.Call) or len(expr.args) != 2 or not scan.table.constraints:
        return None
    for one, other in (expr.args, expr.args[::-1]):
        while isinstance(one, bound.Cast) and one.is_relabel:
            one = one.arg
        if isinstance(one, bound.Column) and not reads_columns(other):
            column = scan.table.columns[scan.columns[one.index]]
            found = find_vector_index(scan.table, column, expr.function.name)
            if found is not None and not found[1].of_bits:
                return NearestScan(scan, one.index, other, found[0].name, found[1])
    return None


def iter_candidates(
    found: NearestScan, source: NearestSource, query: bytes, wanted: int
) -> Iterator[tuple[Places, Places]]:
    """Yields places in a scan of more and more of the nearest rows, and of all rows that the index lacks."""
    if not 0 < wanted <= _MAX_RESULT or len(query) != found.definition.precision.itemsize * found.definition.dimensions:
        return
    opened = source.open(found)
    if opened is None:
        return
    breadth = source.effort.breadth(found.definition.method)
    graph = found.definition.is_graph
    count = max(wanted, breadth) if graph else 4 * wanted
    while count * MAX_SHARE <= opened.rows:
        places = opened.search(query, count, breadth)
        if places is None:
            return
        yield places, opened.others
        count, breadth = 4 * count, breadth if graph else 4 * breadth


def merge(places: Places, others: Places) -> Places:
    """Returns both, ascending."""
    return np.sort(np.concatenate((places, others))) if len(others) else places

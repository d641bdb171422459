"""Searches for nearest rows: SELECT … ORDER BY a distance of a column LIMIT k, which an index of the column can answer.

The rows that a search needs are the first by the distance for which WHERE and the joins leave one: any rows of the
scan can be left out that are farther than the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpudb.catalog.tables import Column, Index
from gpudb.catalog.vector_indexes import find_vector_index
from gpudb.sql import bound
from gpudb.sql.traverse import has_volatile, outer_columns, walk
from gpudb.vector_indexes.definition import IndexDefinition

_PER_QUERY = (bound.Aggregate, bound.Grouping, bound.Window, bound.SetReturning)


@dataclass(frozen=True, slots=True)
class NearestSearch:
    """A search for the rows of `scan` whose `column` is nearest to the value of `to`, by an index.

    `select` is the query, of which `key` is the distance by which it is ordered first.
    """

    select: bound.Select
    scan: bound.Scan
    column: Column
    key: bound.Expr
    to: bound.Expr
    index: Index
    definition: IndexDefinition


def find_nearest_searches(query: bound.Query) -> tuple[NearestSearch, ...]:
    """Returns the searches in a query, those of subqueries included."""
    selects = (node for node in walk(query) if isinstance(node, bound.Select) and node.order_by)
    return tuple(each for select in selects if (each := _find_search(select)) is not None)


def _find_search(select: bound.Select) -> NearestSearch | None:
    key = select.order_by[0]
    if select.limit is None or key.descending or key.nulls_first or not isinstance(key.expr, bound.Call):
        return None
    if select.grouped or select.distinct or select.having is not None or select.source is None:
        return None
    for column, to in _operands(key.expr):
        scan = next((each for each in _iter_scans(select.source) if each.rel == column.rel), None)
        if scan is None or scan.row_ids or column.index >= len(scan.table.columns):
            continue
        stored = scan.table.columns[column.index]
        found = find_vector_index(scan.table, stored, key.expr.function.name)
        if found is not None and _is_independent(select) and not _depends_on_all_rows(select):
            return NearestSearch(select, scan, stored, key.expr, to, *found)
    return None


def _operands(call: bound.Call) -> Iterator[tuple[bound.Column, bound.Expr]]:
    """Yields a distance's column and its other operand, which reads no column of the query."""
    if len(call.args) != 2:
        return
    for one, other in (call.args, call.args[::-1]):
        while isinstance(one, bound.Cast) and one.is_relabel:
            one = one.arg
        if isinstance(one, bound.Column) and _is_constant(other):
            yield one, other


def _is_constant(expr: bound.Expr) -> bool:
    """Returns whether an expression has one value in a query: it reads no rows but those of its own subqueries."""
    nodes = list(walk(expr))
    own = {node.rel for node in nodes if hasattr(node, "rel") and not isinstance(node, bound.Column)}
    return not any(
        isinstance(node, bound.CteScan) or (isinstance(node, bound.Column) and node.rel not in own) for node in nodes
    )


def _is_independent(select: bound.Select) -> bool:
    """Returns whether a query can run by itself: it reads nothing of the queries around it."""
    nodes = list(walk(select))
    ctes = {node.number for node in nodes if isinstance(node, bound.Cte)}
    return not outer_columns(select) and all(node.cte in ctes for node in nodes if isinstance(node, bound.CteScan))


def _iter_scans(source: bound.From) -> Iterator[bound.Scan]:
    """Yields the scans of which each row's results depend on that row alone."""
    match source:
        case bound.Scan():
            yield source
        case bound.Join(kind="INNER" | "CROSS"):
            yield from _iter_scans(source.left)
            yield from _iter_scans(source.right)
        case bound.Join(kind="LEFT"):
            yield from _iter_scans(source.left)
        case bound.Join(kind="RIGHT"):
            yield from _iter_scans(source.right)
        case _:
            return


def _depends_on_all_rows(select: bound.Select) -> bool:
    """Returns whether a query would have other results for other rows of a scan, or when it runs twice."""
    own = (*select.targets, *(key.expr for key in select.order_by))
    return has_volatile(select) or any(isinstance(node, _PER_QUERY) for each in own for node in walk(each))

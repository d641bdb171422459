"""Derives unique columns and column origins of nodes from declared keys, which always hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gpudb.catalog.tables import Table
from gpudb.plan.tree import nodes
from gpudb.plan.tree.nodes import Node
from gpudb.sql import bound

Columns = frozenset[int]
Origin = tuple[nodes.Scan, int]
"""A scan, and the position of one of its output columns."""


def table_keys(table: Table) -> Iterator[tuple[str, ...]]:
    """Yields the keys of a table: columns that are unique together and never NULL."""
    required = {column.name for column in table.columns if column.not_null} | set(table.primary_key)
    for key in table.keys:
        if required.issuperset(key.columns):
            yield key.columns


def unique_columns(node: Node) -> list[Columns]:
    """Returns the unique column sets of a node, where NULLs count as equal."""
    match node:
        case nodes.Scan():
            names = {name: place for place, name in enumerate(node.names)}
            held = [key for key in table_keys(node.table) if names.keys() >= set(key)]
            return [frozenset(names[name] for name in key) for key in held]
        case nodes.Filter() | nodes.Sort() | nodes.Shared():
            return unique_columns(node.input)
        case nodes.Project():
            places: dict[int, int] = {}
            for place, expr in enumerate(node.exprs):
                if isinstance(expr, bound.Column):
                    places.setdefault(expr.index, place)
            below = unique_columns(node.input)
            return [frozenset(places[each] for each in key) for key in below if places.keys() >= key]
        case nodes.Aggregate():
            return [frozenset(range(len(node.keys)))]
        case nodes.AsofJoin():
            return unique_columns(node.left)
        case nodes.Join():
            return _unique_in_join(node)
    return []


def _unique_in_join(node: nodes.Join) -> list[Columns]:
    left = unique_columns(node.left)
    if node.kind in {"SEMI", "ANTI"}:
        return left
    width = len(node.left.types)
    right = unique_columns(node.right)
    mine, theirs = (_plain_columns(tuple(pair[side] for pair in node.keys)) for side in (0, 1))
    found: list[Columns] = []
    if any(theirs >= key for key in right) and node.kind in {"INNER", "LEFT"}:
        found += left
    if any(mine >= key for key in left) and node.kind == "INNER":
        found += [frozenset(place + width for place in key) for key in right]
    return found


def _plain_columns(exprs: tuple[Any, ...]) -> Columns:
    return frozenset(expr.index for expr in exprs if isinstance(expr, bound.Column))


def find_origin(node: Node, place: int) -> Origin | None:
    """Returns the scan column that a node's column is, row by row; None for computed or NULL-extended columns."""
    match node:
        case nodes.Scan():
            return node, place
        case nodes.Filter() | nodes.Sort():
            return find_origin(node.input, place)
        case nodes.Project():
            expr = node.exprs[place]
            return find_origin(node.input, expr.index) if isinstance(expr, bound.Column) else None
        case nodes.Join(kind="INNER" | "LEFT" | "SEMI" | "ANTI"):
            width = len(node.left.types)
            if place < width:
                return find_origin(node.left, place)
            return find_origin(node.right, place - width) if node.kind == "INNER" else None
        case nodes.AsofJoin(left=left) if place < len(left.types):
            return find_origin(left, place)
    return None


def equal_columns(node: Node) -> Iterator[tuple[Origin, Origin]]:
    """Yields pairs of scan columns that are equal in every row of a node, by the keys of its inner joins."""
    match node:
        case nodes.Filter() | nodes.Sort() | nodes.Project():
            yield from equal_columns(node.input)
        case nodes.Join(kind="INNER"):
            yield from equal_columns(node.left)
            yield from equal_columns(node.right)
            for one, other in node.keys:
                if isinstance(one, bound.Column) and isinstance(other, bound.Column):
                    a, b = find_origin(node.left, one.index), find_origin(node.right, other.index)
                    if a is not None and b is not None:
                        yield a, b
        case nodes.Join(kind="LEFT" | "SEMI" | "ANTI"):
            yield from equal_columns(node.left)

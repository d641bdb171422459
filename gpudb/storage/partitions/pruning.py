"""Prunes a partitioned table's files: those of partitions that no row of a query can be in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from gpudb.catalog.partition_values import Limit
from gpudb.catalog.partitions import PartitionTree
from gpudb.catalog.tables import DataFile, Table
from gpudb.storage.iceberg.pruning import ColumnRange, prune_files
from gpudb.storage.partitions.routing import NOWHERE, Level
from gpudb.types import SqlType

_MOST_KEYS = 1000
"""Combinations of values, by equality, up to which each is routed."""


def prune_table(table: Table, conjuncts: Sequence[ColumnRange]) -> tuple[DataFile, ...]:
    """Returns the files of a table that may hold a row for which all `conjuncts` are true."""
    files: Sequence[DataFile] = table.files
    if table.tree is not None and conjuncts:
        leaves = {each.oid for each in list_leaves(table, conjuncts)}
        files = [file for file in files if file.partition in leaves]
    return prune_files(files, conjuncts)


def split_table(table: Table, conjuncts: Sequence[ColumnRange]) -> list[Table]:
    """Returns the partitions that may hold such a row, each as a table with the columns of the partitioned one."""
    files: dict[int, list[DataFile]] = {}
    for file in table.files:
        files.setdefault(file.partition, []).append(file)
    return [
        replace(table, oid=each.oid, name=each.name, files=tuple(files.get(each.oid, ())), tree=None)
        for each in list_leaves(table, conjuncts)
    ]


def list_leaves(table: Table, conjuncts: Sequence[ColumnRange]) -> list[PartitionTree]:
    """Returns the partitions of an assembled table that may hold a row for which all `conjuncts` are true."""
    assert table.tree is not None
    return list(_leaves(table.tree, {column.field_id: column.type for column in table.columns}, conjuncts))


def _leaves(
    tree: PartitionTree, types: Mapping[int, SqlType], conjuncts: Sequence[ColumnRange]
) -> Iterator[PartitionTree]:
    if tree.key is None:
        yield tree
        return
    for place in sorted(_find_places(Level(tree, types), conjuncts)):
        yield from _leaves(tree.children[place], types, conjuncts)


def _find_places(level: Level, conjuncts: Sequence[ColumnRange]) -> set[int]:
    """Returns the places of the direct partitions that may hold such a row."""
    by_field = [[each for each in conjuncts if each.field_id == field] for field in level.tree.fields]
    values = [_list_values(each) for each in by_field]
    given = [each for each in values if each is not None]
    if len(given) == len(values) and prod(map(len, given)) <= _MOST_KEYS:
        return {place for key in product(*given) if (place := level.find(key)) != NOWHERE}
    every = set(range(len(level.tree.children)))
    ranges = [each for each in by_field[0] if not each.null]
    if level.strategy == "h" or len(ranges) < len(by_field[0]) or not ranges:
        return every
    default = {level.default} - {NOWHERE}
    if level.strategy == "l":
        held = level.lists.items()
        return default | {place for value, place in held if value is not None and _all_hold(ranges, value)}
    alone = len(level.types) == 1
    return default | {n for lower, upper, n in level.ranges if _may_overlap(ranges, lower[0], upper[0], alone)}


def _list_values(conditions: Sequence[ColumnRange]) -> Sequence[Any] | None:
    """Returns the values that a column may have, if conditions list them."""
    for each in conditions:
        if each.null:
            return (None,)
        if each.among:
            return each.among
        if each.low is not None and each.low == each.high:
            return (each.low,)
    return None


def _all_hold(conditions: Sequence[ColumnRange], value: Any) -> bool:
    for each in conditions:
        if each.low is not None and (value < each.low or (each.low_open and value == each.low)):
            return False
        if each.high is not None and (value > each.high or (each.high_open and value == each.high)):
            return False
    return True


def _may_overlap(conditions: Sequence[ColumnRange], lower: Limit, upper: Limit, alone: bool) -> bool:
    """Returns whether a partition from `lower` to `upper` can hold a row.

    `alone` is whether the column is the only one of the key, so that no row has `upper` itself.
    """
    for each in conditions:
        if each.low is not None:
            if (0, each.low) > upper or ((0, each.low) == upper and (alone or each.low_open)):
                return False
        if each.high is not None:
            if (0, each.high) < lower or ((0, each.high) == lower and each.high_open):
                return False
    return True

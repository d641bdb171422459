"""Finds the partition that takes each row of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.catalog.partition_values import Limit, read_limit, read_value
from gpudb.catalog.partitions import PartitionTree
from gpudb.catalog.tables import Column
from gpudb.storage.partitions.values import as_integers, encode, hash_row
from gpudb.types import SqlType

Places = npt.NDArray[np.int64]
NOWHERE = -1
"""The place of a row that no partition takes."""


class Level:
    """One partitioned table: which of its direct partitions, by their places in the tree, takes a key."""

    def __init__(self, tree: PartitionTree, types: Mapping[int, SqlType]) -> None:
        """`types` are the types of columns by field id."""
        assert tree.key is not None
        self.tree = tree
        self.types = [types[field] for field in tree.fields]
        self.strategy = tree.key.strategy
        self.default = next((n for n, each in enumerate(tree.children) if each.bound and each.bound.default), NOWHERE)
        bounds = [(n, each.bound) for n, each in enumerate(tree.children) if each.bound and not each.bound.default]
        self.lists: dict[Any, int] = {}
        self.hashes: dict[tuple[int, int], int] = {}
        ranges: list[tuple[tuple[Limit, ...], tuple[Limit, ...], int]] = []
        for place, bound in bounds:
            if self.strategy == "r":
                lower, upper = (tuple(map(read_limit, self.types, side)) for side in (bound.lower, bound.upper))
                ranges.append((lower, upper, place))
            elif self.strategy == "l":
                for datum in bound.values:
                    value = None if datum.text is None else read_value(self.types[0], datum.text)
                    self.lists[value] = place
            else:
                self.hashes[bound.modulus, bound.remainder] = place
        self.ranges = sorted(ranges, key=lambda each: each[0])
        self._integers = self._build_integers()

    def _build_integers(self) -> tuple[Places, Places, Places] | None:
        """Returns lower limits, last values and places of ranges of one column; None for other levels."""
        if (
            self.strategy != "r"
            or len(self.types) != 1
            or as_integers(pa.nulls(0, self.types[0].arrow), self.types[0]) is None
        ):
            return None
        least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
        lower = [least if low[0][0] < 0 else most if low[0][0] > 0 else low[0][1] for low, _, _ in self.ranges]
        last = [most if high[0][0] > 0 else least if high[0][0] < 0 else high[0][1] - 1 for _, high, _ in self.ranges]
        return np.array(lower, np.int64), np.array(last, np.int64), np.array([n for _, _, n in self.ranges], np.int64)

    def find(self, values: Sequence[Any]) -> int:
        """Returns the place of the partition that takes a key; NOWHERE if none does."""
        if self.strategy == "l":
            return self.lists.get(values[0], self.default)
        if self.strategy == "h":
            hashed = hash_row(self.types, values)
            moduli = sorted({modulus for modulus, _ in self.hashes})
            found = (self.hashes.get((modulus, hashed % modulus)) for modulus in moduli)
            return next((place for place in found if place is not None), NOWHERE)
        if any(value is None for value in values):
            return self.default
        key = tuple((0, value) for value in values)
        for lower, upper, place in self.ranges:
            if lower <= key < upper:
                return place
        return self.default

    def find_all(self, arrays: Sequence[pa.Array]) -> Places:
        """Returns the place of the partition of each row, by the columns of the key."""
        if self._integers is not None:
            lower, last, places = self._integers
            values = as_integers(arrays[0], self.types[0])
            if not len(places) or values is None:
                return np.full(len(arrays[0]), self.default, np.int64)
            at = np.searchsorted(lower, values, "right") - 1
            inside = (at >= 0) & (values <= last[at])
            if arrays[0].null_count:
                inside &= ~np.asarray(arrays[0].is_null())
            return np.where(inside, places[at], self.default)
        codes = np.zeros(len(arrays[0]), np.int64)
        encoded = [encode(array, type) for array, type in zip(arrays, self.types, strict=True)]
        for column, values_of in encoded:
            # Numbered anew, codes are fewer than rows, and their products do not overflow
            codes = np.unique(codes, return_inverse=True)[1] * max(len(values_of), 1) + column
        distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        keys = [[values_of[column[row]] for column, values_of in encoded] for row in first]
        found = np.array([self.find(key) for key in keys], np.int64)
        return found[inverse] if len(distinct) else codes


class Router:
    """Routes batches of a table's columns to the leaves of a tree of partitions."""

    def __init__(self, tree: PartitionTree, columns: Sequence[Column]) -> None:
        self._columns = {column.field_id: place for place, column in enumerate(columns)}
        self._types = {column.field_id: column.type for column in columns}
        self._levels: dict[int, Level] = {}
        self._tree = tree

    def route(self, batch: pa.RecordBatch) -> tuple[list[tuple[int, Places]], tuple[int, PartitionTree] | None]:
        """Returns the rows of each leaf, by its OID, in order.

        Beside them the first row that no partition takes, with the table that has none for it; None without one.
        """
        found: list[tuple[int, Places]] = []
        failed: list[tuple[int, PartitionTree]] = []
        self._route(self._tree, batch, np.arange(batch.num_rows, dtype=np.int64), found, failed)
        return found, min(failed, key=lambda each: each[0], default=None)

    def _route(
        self,
        tree: PartitionTree,
        batch: pa.RecordBatch,
        rows: Places,
        found: list[tuple[int, Places]],
        failed: list[tuple[int, PartitionTree]],
    ) -> None:
        if tree.key is None:
            found.append((tree.oid, rows))
            return
        level = self._levels.get(tree.oid)
        if level is None:
            level = self._levels[tree.oid] = Level(tree, self._types)
        arrays = [batch.column(self._columns[field]) for field in tree.fields]
        if len(rows) < batch.num_rows:
            arrays = [array.take(pa.array(rows)) for array in arrays]
        places = level.find_all(arrays)
        order = np.argsort(places, kind="stable")
        numbers, starts = np.unique(places[order], return_index=True)
        for number, part in zip(numbers.tolist(), np.split(order, starts[1:]), strict=True):
            if number == NOWHERE:
                failed.append((int(rows[part[0]]), tree))
            else:
                self._route(tree.children[number], batch, rows[part], found, failed)

"""Equal vectors of an index: a graph has each vector once, since one of thousands of equal ones falls apart.

The nearest neighbours of such a vector are its equals alone, and no edge leads from them to other vectors. By cosine
vectors of one direction are equal, whatever their lengths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpudb.vector_indexes.rows import Matrix, Numbers

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_STEPS = np.float32(1 << 20)
"""Steps of a number of a unit vector: numbers of one direction differ by a few 2^-24, by which lengths are rounded."""
_EMPTY = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class EqualRows:
    """The rows of vectors that several rows have: `rows` vector by vector, each from its place in `starts` on.

    `starts` has one place more than vectors. The first row of a vector is the one that a graph has, and the first rows
    are in ascending order.
    """

    rows: Numbers = field(default_factory=lambda: _EMPTY)
    starts: Numbers = field(default_factory=lambda: np.zeros(1, np.int64))

    def expand(self, numbers: Numbers, count: int) -> tuple[Numbers, Numbers]:
        """Returns the rows with the vectors of rows of a graph, given the nearest first; and whose vector each has.

        These are `count` rows at least, if there are as many, and all rows of a vector or none.
        """
        firsts = self.rows[self.starts[:-1]]
        if not len(firsts):
            return numbers[:count], np.arange(min(count, len(numbers)))
        at = np.minimum(np.searchsorted(firsts, numbers), len(firsts) - 1)
        several = firsts[at] == numbers
        lengths = np.where(several, np.diff(self.starts)[at], 1)
        needed = np.cumsum(lengths) - lengths < count
        parts = [
            self.rows[self.starts[place] : self.starts[place + 1]] if more else numbers[number : number + 1]
            for number, (place, more) in enumerate(zip(at[needed], several[needed], strict=True))
        ]
        return np.concatenate([_EMPTY, *parts]), np.repeat(np.arange(len(parts)), lengths[needed])

    @property
    def extra(self) -> int:
        """The number of rows that a graph lacks."""
        return len(self.rows) - len(self.starts) + 1


class EqualRowsReader:
    """Passes on the first row of each vector of batches, and keeps which rows have the same (`found`, at the end)."""

    def __init__(self, *, directions: bool = False) -> None:
        """`directions` takes vectors of one direction for equal; none is of zeros then."""
        self._directions = directions
        self._firsts: dict[bytes, int] = {}
        self._others: dict[int, list[int]] = {}

    def read(self, batches: Iterable[tuple[Numbers, Matrix]]) -> Iterator[tuple[Numbers, Matrix]]:
        """Yields batches without the rows whose vector was there before."""
        for numbers, matrix in batches:
            kept = np.ones(len(numbers), bool)
            compared = matrix
            if self._directions:
                compared = round_directions(np, matrix / np.linalg.norm(matrix, axis=1, keepdims=True))
            rows = np.ascontiguousarray(compared)
            for place, (number, row) in enumerate(zip(numbers.tolist(), rows, strict=True)):
                first = self._firsts.setdefault(hashlib.blake2b(row, digest_size=16).digest(), number)
                if first != number:
                    kept[place] = False
                    self._others.setdefault(first, []).append(number)
            yield numbers[kept], matrix[kept]

    @property
    def found(self) -> EqualRows:
        """The equal rows of all batches."""
        groups = [(first, *self._others[first]) for first in sorted(self._others)]
        starts = np.cumsum([0, *map(len, groups)], dtype=np.int64)
        return EqualRows(np.array([each for group in groups for each in group], np.int64), starts)


def round_directions(arrays: Any, units: Any) -> Any:
    """Returns unit vectors, as float32, such that nearly all of one direction have the same numbers.

    `arrays` is CuPy or NumPy. Others, on two sides of a step, stay apart: that costs little where thousands are equal.
    """
    return arrays.rint(units.astype(np.float32, copy=False) * _STEPS) + np.float32(0)


def find_distinct(arrays: Any, matrix: Any) -> tuple[Any, EqualRows]:
    """Returns the rows of a matrix of float32, ascending, that have each vector once; and which rows have the same.

    `arrays` is CuPy or NumPy; rows are numbered from 0.
    """
    words = matrix.view(np.uint32)
    hashes = arrays.zeros(len(matrix), np.uint64)
    for place in range(matrix.shape[1]):
        hashes ^= words[:, place]
        hashes *= _FACTOR
        hashes ^= hashes >> _SHIFT
    order = arrays.argsort(hashes, kind="stable")
    begins = arrays.ones(len(matrix), bool)
    for place in range(matrix.shape[1]):  # equal hashes alone do not make equal vectors
        values = words[:, place][order]
        change = values[1:] != values[:-1]
        begins[1:] = change if not place else begins[1:] | change
    starts = arrays.flatnonzero(begins)
    firsts = order[starts]
    ends = arrays.concatenate((starts[1:], arrays.full(1, len(matrix), starts.dtype)))
    several = arrays.flatnonzero(ends - starts > 1)
    several = several[arrays.argsort(firsts[several])]
    found = EqualRows()
    if len(several):
        rows, starts, ends = (_to_host(each) for each in (order, starts[several], ends[several]))
        groups = [rows[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        found = EqualRows(np.concatenate(groups), np.concatenate(([0], np.cumsum(ends - starts))))
    return arrays.sort(firsts), found


def _to_host(array: Any) -> Numbers:
    return np.asarray(array.get() if hasattr(array, "get") else array).astype(np.int64)

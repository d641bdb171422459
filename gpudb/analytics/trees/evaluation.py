"""Scores of rows by an ensemble's arrays, with NumPy: the same results as of kernels/trees.cuh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from gpudb.analytics.trees.ensemble import (
    CATEGORICAL,
    DISTANCE_SHIFT,
    MAX_FEATURES,
    MISSING_LEFT,
    ZERO_MISSING,
    TreeShape,
)

Output = Literal["value", "label"]
"""A sum after its transform, or the number of a class."""
Array = npt.NDArray[Any]
_ZERO = 1e-35
"""What LightGBM takes for zero, in either direction."""
_BLOCK = 1 << 14
"""Rows that are scored together: their features stay in the cache."""


def score_rows(shape: TreeShape, tables: Sequence[Array], matrix: Array, output: Output) -> Array:
    """Returns float64 scores, or int64 numbers of classes, of a float64 matrix of rows by features; NaN is missing."""
    made = np.empty(len(matrix), np.int64 if output == "label" else np.float64)
    for start in range(0, len(matrix), _BLOCK):
        sums = _sum_leaves(shape, tables, matrix[start : start + _BLOCK])
        made[start : start + _BLOCK] = _finish(shape, sums, output)
    return made


def _finish(shape: TreeShape, sums: Array, output: Output) -> Array:
    found: Array = sums.argmax(axis=0) if shape.classes > 1 else transform_scores(shape, sums[0])
    return found > 0.5 if output == "label" and shape.classes == 1 else found


def transform_scores(shape: TreeShape, sums: Array) -> Array:
    """Returns sums after the transform of the model's objective, whose powers are rounded once."""
    if shape.transform == "identity":
        return sums
    signed = -sums if shape.transform == "logistic" else sums
    with np.errstate(over="ignore"):
        powers: Array = np.exp(signed.astype(np.float64)).astype(sums.dtype)
    return 1 / (1 + powers) if shape.transform == "logistic" else powers


def _sum_leaves(shape: TreeShape, tables: Sequence[Array], matrix: Array) -> Array:
    """Returns the sums, classes by rows, in the order and the precision of the library."""
    nodes, roots, sets, values = tables
    item = np.float32 if shape.single else np.float64
    with np.errstate(over="ignore"):
        columns = matrix.T.astype(np.float32 if shape.single or shape.rounded else np.float64)
    columns = np.ascontiguousarray(columns.astype(item))
    reals = values.view(np.float64)
    sums = np.repeat(reals[: shape.classes, None].astype(item), len(matrix), axis=1)
    walk = _Walk(shape, nodes, sets, columns)
    for number in range(1 if shape.vectors else shape.classes):
        for tree in range(roots[number], roots[number + 1]):
            leaves = walk.find_leaves(int(roots[shape.classes + 1 + tree]))
            if shape.vectors:
                first = walk.numbers(leaves)
                for each in range(shape.classes):
                    sums[each] += reals[first + each]
            else:
                sums[number] += walk.contents(leaves)
    divisor = reals[shape.classes]
    return sums if divisor == 1 else sums / item(divisor)


class _Walk:
    """The way of rows through trees; `columns` are their features."""

    def __init__(self, shape: TreeShape, nodes: Array, sets: Array, columns: Array) -> None:
        self._shape, self._sets, self._columns = shape, sets, columns
        words = nodes.view(np.uint64)
        self._heads = (words if shape.single else words[::2]) >> np.uint64(32)
        low = words.view(np.uint32)[::2] if shape.single else words[1::2]
        self._low = low
        self._contents = low.view(np.float32 if shape.single else np.float64)
        self._every = np.arange(columns.shape[1])

    def contents(self, places: Array) -> Array:
        """Returns the values of leaves."""
        return self._contents[places]

    def numbers(self, places: Array) -> Array:
        """Returns the numbers in the place of contents."""
        return self._low[places].astype(np.int64)

    def find_leaves(self, root: int) -> Array:
        """Returns the place of each row's leaf in the tree of a root."""
        at = np.full(len(self._every), root)
        rows = self._every
        while True:
            heads = self._heads[at[rows]].astype(np.int64)
            steps = heads >> DISTANCE_SHIFT
            inside = steps > 0
            if not inside.all():
                rows, heads, steps = rows[inside], heads[inside], steps[inside]
            if not len(rows):
                return at
            at[rows] += steps + ~self._goes_left(rows, at[rows], heads)

    def _goes_left(self, rows: Array, at: Array, heads: Array) -> Array:
        found = self._columns[heads & (MAX_FEATURES - 1), rows]
        limits = self._contents[at]
        left: Array = found < limits if self._shape.strict else found <= limits
        missing = np.isnan(found)
        if self._shape.sets:
            of_set = (heads & CATEGORICAL) != 0
            left[of_set] = self._is_in_set(found[of_set], self.numbers(at[of_set])) == self._shape.set_left
        if self._shape.zeros:
            missing |= ((heads & ZERO_MISSING) != 0) & (np.abs(found) <= _ZERO)
        return np.where(missing, (heads & MISSING_LEFT) != 0, left)

    def _is_in_set(self, found: Array, starts: Array) -> Array:
        # LightGBM drops fractions before it looks at the sign, XGBoost after it
        least = found > -1 if self._shape.set_left else found >= 0
        category = np.where(least & (found < 2**24), found, -1).astype(np.int64)
        valid = (category >= 0) & (category // 32 < self._sets[starts])
        words = self._sets[np.where(valid, starts + 1 + category // 32, 0)]
        is_set: Array = (words >> (category % 32).astype(np.uint32)) & 1 == 1
        return valid & is_set

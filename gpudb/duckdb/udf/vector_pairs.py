"""Two columns of vectors whose rows are computed together, and sums of each row's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.values.vectors import Floats, build_column, data_exception, flatten, get_missing, measure

Doubles = npt.NDArray[np.float64]


def overflow_error() -> SqlError:
    """Returns an error of SQLSTATE 22003."""
    return NumericOutOfRange("value out of range: overflow")


class Pairs:
    """Two columns of vectors, of equal dimensions in each row in which neither is NULL unless not `alike`; 22000."""

    def __init__(self, left: pa.ListArray, right: pa.ListArray, *, alike: bool = True) -> None:
        self.missing = get_missing(left) | get_missing(right)
        if self.missing.any():
            kept = pa.array(~self.missing)
            left, right = left.filter(kept), right.filter(kept)
        self.lengths, others = measure(left), measure(right)
        if alike and (self.lengths != others).any():
            at = int(np.flatnonzero(self.lengths != others)[0])
            raise data_exception(f"different vector dimensions {self.lengths[at]} and {others[at]}")
        self.other_lengths = others
        self.left, self.right = flatten(left), flatten(right)

    def build(self, lengths: npt.NDArray[Any], numbers: Floats) -> pa.ListArray:
        """Returns a column of vectors, NULL where an operand is."""
        sizes = np.zeros(len(self.missing), np.int64)
        sizes[~self.missing] = lengths
        return build_column(sizes, numbers, self.missing)


def add_up(numbers: Any, lengths: npt.NDArray[np.int32] | npt.NDArray[np.int64]) -> Doubles:
    """Returns the sum of each vector's numbers; no vector is empty."""
    if not len(lengths):
        return np.zeros(0)
    if (lengths == lengths[0]).all():
        return np.asarray(np.einsum("ij->i", numbers.reshape(len(lengths), -1), dtype=np.float64))
    starts = np.concatenate(([0], np.cumsum(lengths[:-1])))
    return np.asarray(np.add.reduceat(numbers, starts, dtype=np.float64))

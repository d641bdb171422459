"""The rows of a data file that are deleted while the file stays as it is."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

MAX_ROW = 2**32 - 1
"""Greatest number of a row that can be listed."""
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Row numbers of a file, from 0, ascending and distinct: `packed` has them as little-endian integers of 32 bits.

    A file's other rows are its live ones. They are numbered from 0 too, in the same order.
    """

    packed: bytes
    digest: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Computes the digest, which tells sets of rows of one file apart."""
        object.__setattr__(self, "digest", hashlib.blake2b(self.packed, digest_size=16).hexdigest())

    @classmethod
    def of(cls, rows: npt.ArrayLike) -> DeletedRows:
        """Packs row numbers, in any order; duplicates count once."""
        distinct = np.unique(np.asarray(rows, np.int64))
        if len(distinct) and not 0 <= distinct[0] <= distinct[-1] <= MAX_ROW:
            raise ValueError(f"no rows of a file: {distinct[0]} to {distinct[-1]}")
        return cls(distinct.astype("<u4").tobytes())

    def __len__(self) -> int:
        """Returns the number of deleted rows."""
        return len(self.packed) // 4

    @property
    def rows(self) -> Rows:
        """The row numbers, ascending."""
        return np.frombuffer(self.packed, "<u4").astype(np.int64)

    def is_within(self, other: DeletedRows | None) -> bool:
        """Returns whether all its rows are among those of `other`."""
        if other is None or len(self) > len(other):
            return not len(self)
        return self == other or bool(np.isin(self.rows, other.rows, assume_unique=True).all())

    def count_before(self, row: int) -> int:
        """Returns how many deleted rows have a lower number than `row`."""
        return int(np.searchsorted(self.rows, row))

    def stored_range(self, first: int, last: int) -> tuple[int, int]:
        """Returns the rows of the file that hold live rows `first` to before `last`, of which there is at least one."""
        rows = self.rows
        before = rows - np.arange(len(rows))
        begin, end = (row + int(np.searchsorted(before, row, "right")) for row in (first, last - 1))
        return begin, end + 1

    def within(self, first: int, last: int) -> Rows:
        """Returns the deleted rows from `first` to before `last`, numbered from `first`."""
        rows = self.rows
        begin, end = np.searchsorted(rows, (first, last))
        found: Rows = rows[begin:end] - first
        return found

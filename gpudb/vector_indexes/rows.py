"""The vectors of a Parquet file as a matrix: float32 numbers, or bytes of eight bits each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values.half_vectors import split_halves
from gpudb.vector_indexes.definition import IndexDefinition

Matrix = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]
_BATCH = 1 << 14
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, slots=True)
class Found:
    """The rows that a search has found, by their numbers, in any order, and their distances in single precision.

    `is_whole` says that there are no others; else others are as far as the farthest of these, or farther.
    """

    numbers: Numbers
    distances: Distances
    is_whole: bool

    @property
    def horizon(self) -> float:
        """The distance up to which no other row is nearer."""
        return float(np.inf) if self.is_whole else float(self.distances.max())


def read_vectors(path: str, field_id: int, definition: IndexDefinition) -> Iterator[tuple[Numbers, Matrix]]:
    """Yields the rows of a file that an index has, by batches: their numbers in the file from 0, and their vectors.

    Rows without a vector are left out, as are those that no distance of this kind is defined for.
    """
    import pyarrow.parquet as pq  # no first query needs it

    with pq.ParquetFile(path, memory_map=True) as file:
        names = [each.name for each in file.schema_arrow if (each.metadata or {}).get(_FIELD_ID) == b"%d" % field_id]
        if not names:
            return  # the column is younger than the file
        start = 0
        for batch in file.iter_batches(_BATCH, columns=names):
            column = batch.column(0)
            valid = np.asarray(pc.is_valid(column).to_numpy(zero_copy_only=False))
            matrix = to_matrix(column.drop_null(), definition)
            numbers = start + np.flatnonzero(valid)
            kept = find_indexable(matrix, definition)
            start += batch.num_rows
            if kept.any():
                yield numbers[kept], matrix[kept]


def to_matrix(column: pa.Array, definition: IndexDefinition) -> Matrix:
    """Returns a column without NULLs as a matrix: of lists of float, of bytes of halves, or of texts of 0 and 1."""
    if definition.half:
        return split_halves(column)[1].astype(np.float32).reshape(-1, definition.dimensions)
    if not definition.of_bits:
        flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False)).astype(np.float32, copy=False)
        return flat.reshape(-1, definition.dimensions)
    if not len(column):
        return np.zeros((0, -(-definition.dimensions // 8)), np.uint8)
    joined = "".join(column.to_pylist()).encode()
    digits = np.frombuffer(joined, np.uint8).reshape(-1, definition.dimensions)
    return np.packbits(digits & 1, axis=1)


def find_indexable(matrix: Matrix, definition: IndexDefinition) -> npt.NDArray[np.bool_]:
    """Returns for each vector whether an index has it: one of zeros has no angle, and nothing in common with others."""
    if definition.metric in {"cosine", "jaccard"}:
        return np.asarray(matrix.any(axis=1))
    return np.ones(len(matrix), bool)

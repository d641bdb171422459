"""Rows as matrices: which rows are complete, their features as floats, their scales, and an order of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gpudb.errors import SqlError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


def find_complete(columns: pa.Table) -> Mask:
    """Returns which rows have no NULL."""
    complete = np.ones(columns.num_rows, bool)
    for column in columns.columns:
        if column.null_count:
            complete &= pc.is_valid(column).to_numpy()
    return complete


def to_matrix(columns: pa.Table, complete: Mask) -> Floats:
    """Returns the complete rows of float columns as a matrix (rows, columns); 22023 for NaN and infinity."""
    count = int(np.count_nonzero(complete))
    result = np.empty((count, columns.num_columns))
    every = count == len(complete)
    for place, column in enumerate(columns.columns):
        values = column.to_numpy()
        values = values if every else values[complete]
        if not np.isfinite(values).all():
            message = f'column "{columns.column_names[place]}" has a value that is NaN or infinite'
            hint = "Leave such rows out by a condition of the query, or make their values NULL."
            raise SqlError.of("invalid_parameter_value", message, hint=hint)
        result[:, place] = values
    return result


def spread(values: NDArray[np.generic], complete: Mask) -> pa.Array:
    """Returns a column with the values of the complete rows in their places, and NULL in all others."""
    if len(values) == len(complete):
        return pa.array(values)
    full = np.zeros(len(complete), values.dtype)
    full[complete] = values
    return pa.array(full, mask=~complete)


@dataclass(frozen=True, slots=True)
class Scaling:
    """The mean and the deviation of each feature, by which rows are standardised; a constant feature's is 1."""

    mean: Floats
    deviation: Floats

    def apply(self, matrix: Floats) -> Floats:
        """Returns standardised rows."""
        scaled: Floats = (matrix - self.mean) / self.deviation
        return scaled

    def undo(self, matrix: Floats) -> Floats:
        """Returns rows in the units of the columns."""
        plain: Floats = matrix * self.deviation + self.mean
        return plain


def measure(matrix: Floats, *, scale: bool) -> Scaling:
    """Returns the scaling of a matrix's columns: to mean 0 and deviation 1, or none."""
    width = matrix.shape[1]
    if not scale or not len(matrix):
        return Scaling(np.zeros(width), np.ones(width))
    deviation = matrix.std(axis=0)
    # Rounding leaves a constant feature a deviation that is not quite 0
    deviation[deviation <= 1e-14 * np.abs(matrix).max(axis=0)] = 1.0
    return Scaling(matrix.mean(axis=0), deviation)


def sort_rows(matrix: Floats) -> Integers:
    """Returns the places of the rows in the order of their values: the same rows, however they come."""
    places: Integers = np.lexsort(matrix.T[::-1])
    return places


def hash_rows(matrix: Floats) -> NDArray[np.uint64]:
    """Returns a well mixed number for each row, equal for equal rows."""
    result = np.zeros(len(matrix), np.uint64)
    for column in matrix.T:
        result += (column + 0.0).view(np.uint64)  # -0 as 0
        result *= np.uint64(0x9E3779B97F4A7C15)
        result ^= result >> np.uint64(29)
        result *= np.uint64(0xBF58476D1CE4E5B9)
        result ^= result >> np.uint64(32)
    return result


def sample_rows(matrix: Floats, most: int) -> Floats:
    """Returns at most so many rows, sorted: the same ones, however the rows come."""
    if len(matrix) > most:
        hashes = hash_rows(matrix)
        ordered = np.sort(hashes)
        chosen = ordered[np.linspace(0, len(ordered) - 1, most, dtype=np.int64)]
        places = np.flatnonzero(np.isin(hashes, chosen, assume_unique=False))
        unique, first = np.unique(hashes[places], return_index=True)
        matrix = matrix[places[first][np.searchsorted(unique, chosen)]]
    return matrix[sort_rows(matrix)]

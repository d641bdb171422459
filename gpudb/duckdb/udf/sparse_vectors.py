"""Sparse vectors (`sparsevec`), as bytes (`values.sparse_vectors`): functions over whole Arrow columns.

Only places in which one of two vectors has a number are computed, in double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.vector_pairs import overflow_error
from gpudb.duckdb.udf.vectors import read_array
from gpudb.types import HALFVEC, SPARSEVEC, VECTOR, SqlType
from gpudb.values.half_vectors import to_half_column
from gpudb.values.sparse_vectors import SparseColumn, check_count, parse_sparse_vector
from gpudb.values.text_columns import format_text_column
from gpudb.values.vectors import build_column, check_dimensions, data_exception, flatten, get_missing, measure

Doubles = npt.NDArray[np.float64]


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of sparse vectors."""
    registry.add_columnar("pg_sparsevec_in", "VARCHAR INTEGER", "BLOB", _parse)
    registry.add_columnar("pg_sparsevec_text", "BLOB", "VARCHAR", lambda column: format_text_column(SPARSEVEC, column))
    registry.add_columnar("pg_sparsevec_from_vector", "FLOAT[]", "BLOB", _from_dense)
    registry.add_columnar("pg_sparsevec_from_float8", "DOUBLE[]", "BLOB", _from_array)
    registry.add_columnar("pg_sparsevec_to_vector", "BLOB", "FLOAT[]", lambda column: _to_dense(VECTOR, column))
    registry.add_columnar(
        "pg_sparsevec_to_halfvec", "BLOB", "BLOB", lambda column: to_half_column(_to_dense(HALFVEC, column))
    )
    registry.add_columnar("pg_sparsevec_dims", "BLOB", "INTEGER", _count_dimensions)
    registry.add_columnar("pg_sparsevec_l2_squared", "BLOB BLOB", "DOUBLE", _squared_distance)
    registry.add_columnar("pg_sparsevec_inner", "BLOB BLOB", "DOUBLE", _inner_product)
    registry.add_columnar("pg_sparsevec_cosine", "BLOB BLOB", "DOUBLE", _cosine_distance)
    registry.add_columnar("pg_sparsevec_l1", "BLOB BLOB", "DOUBLE", _taxicab_distance)
    registry.add_columnar("pg_sparsevec_norm", "BLOB", "DOUBLE", _norm)
    registry.add_columnar("pg_sparsevec_normalize", "BLOB", "BLOB", _normalize)


# ---------------------------------------------------------------------------------------------- conversions


def _parse(texts: pa.StringArray, modifiers: pa.Array) -> pa.BinaryArray:
    kind = SqlType(SPARSEVEC.name, modifiers[0].as_py() if len(modifiers) else -1)
    values = [None if text is None else parse_sparse_vector(kind, text) for text in texts.to_pylist()]
    return pa.array(values, pa.binary())


def _from_array(column: pa.ListArray) -> pa.BinaryArray:
    """Converts arrays of numbers; 22004 for a NULL inside."""
    return _from_dense(read_array(SPARSEVEC, column))


def _from_dense(column: pa.ListArray) -> pa.BinaryArray:
    """Converts vectors; 54000 for too many numbers that are not zero."""
    missing, lengths, numbers = get_missing(column), measure(column).astype(np.int64), flatten(column)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(numbers)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    kept = numbers != 0
    counts = np.bincount(rows[kept], minlength=len(lengths))
    if len(counts):
        check_count(int(counts.max()), int(lengths.max()))
    return SparseColumn(lengths, counts, places[kept], numbers[kept], missing).encode()


def _to_dense(kind: SqlType, column: pa.Array) -> pa.ListArray:
    """Converts to vectors; 54000 for too many dimensions."""
    held = SparseColumn.decode(column)
    present = held.dimensions[~held.missing]
    if len(present):
        check_dimensions(int(present.max()), kind.name)
    numbers = np.zeros(int(held.dimensions.sum()), np.float32)
    starts = np.cumsum(held.dimensions) - held.dimensions
    numbers[np.repeat(starts, held.counts) + held.places] = held.numbers
    return build_column(held.dimensions, numbers, held.missing)


def _count_dimensions(column: pa.Array) -> pa.Array:
    held = SparseColumn.decode(column)
    return pa.array(held.dimensions.astype(np.int32), mask=held.missing)


# ---------------------------------------------------------------------------------------------- distances


@dataclass(frozen=True, slots=True)
class _Overlap:
    """Two columns, both without the rows in which one is NULL (`missing`), and the places that both have.

    `at` are the numbers of `right` that are in the places of those of `left` where `both` is true; `alone` are those of
    `right` whose places `left` lacks.
    """

    left: SparseColumn
    right: SparseColumn
    missing: npt.NDArray[np.bool_]
    both: npt.NDArray[np.bool_]
    at: npt.NDArray[np.int64]
    alone: npt.NDArray[np.bool_]

    def spread(self, sums: Doubles) -> pa.Array:
        """Returns a number for each row of the columns."""
        found = np.zeros(len(self.missing))
        found[~self.missing] = sums
        return pa.array(found, mask=self.missing)

    def add_differences(self, change: Any) -> Doubles:
        """Returns the sums of what `change` makes of the differences."""
        count = len(self.left.counts)
        one, other = self.left.numbers.astype(np.float64), self.right.numbers.astype(np.float64)
        one[self.both] -= other[self.at[self.both]]
        of_left = np.bincount(self.left.rows, change(one), count)
        return np.asarray(of_left + np.bincount(self.right.rows[self.alone], change(other[self.alone]), count))

    def add_products(self) -> Doubles:
        """Returns the inner products."""
        one, other = self.left.numbers.astype(np.float64), self.right.numbers.astype(np.float64)
        products = one[self.both] * other[self.at[self.both]]
        return np.asarray(np.bincount(self.left.rows[self.both], products, len(self.left.counts)), np.float64)


def _overlap(left: pa.Array, right: pa.Array) -> _Overlap:
    """Finds the common places of two columns; 22000 for vectors of different dimensions."""
    one, other = SparseColumn.decode(left), SparseColumn.decode(right)
    missing = one.missing | other.missing
    one, other = one.filter(~missing), other.filter(~missing)
    differ = np.flatnonzero(one.dimensions != other.dimensions)
    if len(differ):
        first, second = one.dimensions[differ[0]], other.dimensions[differ[0]]
        raise data_exception(f"different sparsevec dimensions {first} and {second}")
    # Places ascend within rows, and rows within columns.
    wanted, known = ((each.rows << 31) | each.places for each in (one, other))
    at = np.minimum(np.searchsorted(known, wanted), max(0, len(known) - 1))
    both = known[at] == wanted if len(known) else np.zeros(len(wanted), bool)
    alone = np.ones(len(known), bool)
    alone[at[both]] = False
    return _Overlap(one, other, missing, both, at, alone)


def _squared_distance(left: pa.Array, right: pa.Array) -> pa.Array:
    found = _overlap(left, right)
    return found.spread(found.add_differences(np.square))


def _taxicab_distance(left: pa.Array, right: pa.Array) -> pa.Array:
    found = _overlap(left, right)
    return found.spread(found.add_differences(np.abs))


def _inner_product(left: pa.Array, right: pa.Array) -> pa.Array:
    found = _overlap(left, right)
    return found.spread(found.add_products())


def _cosine_distance(left: pa.Array, right: pa.Array) -> pa.Array:
    """Returns 1 - cosine; NaN beside a vector of zeros."""
    found = _overlap(left, right)
    with np.errstate(invalid="ignore"):
        cosine = found.add_products() / np.sqrt(_add_squares(found.left) * _add_squares(found.right))
    return found.spread(1 - np.clip(cosine, -1, 1))


def _add_squares(column: SparseColumn) -> Doubles:
    return np.asarray(np.bincount(column.rows, column.numbers.astype(np.float64) ** 2, len(column.counts)), np.float64)


def _norm(column: pa.Array) -> pa.Array:
    held = SparseColumn.decode(column)
    return pa.array(np.sqrt(_add_squares(held)), mask=held.missing)


def _normalize(column: pa.Array) -> pa.BinaryArray:
    """Divides each vector by its Euclidean norm; numbers that become zero are left out."""
    held = SparseColumn.decode(column)
    norms = np.sqrt(_add_squares(held))
    with np.errstate(over="ignore"):
        scaled = (held.numbers.astype(np.float64) / np.repeat(norms, held.counts)).astype(np.float32)
    if np.isinf(scaled).any():
        raise overflow_error()
    kept = scaled != 0
    counts = np.bincount(held.rows[kept], minlength=len(held.counts))
    return SparseColumn(held.dimensions, counts, held.places[kept], scaled[kept], held.missing).encode()

"""Vectors (pgvector's type `vector`): functions over whole Arrow columns of lists of float32.

Rows are computed in blocks that fit a processor's cache. A column in which every vector has the same dimensions is a
matrix; others are computed over their numbers one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.errors import NumericOutOfRange, SqlError
from gpudb.types import VECTOR, SqlType
from gpudb.values.text_columns import format_text_column
from gpudb.values.vectors import (
    Floats,
    build_column,
    check_column,
    check_dimensions,
    data_exception,
    flatten,
    get_missing,
    measure,
    parse_vector_column,
)

Doubles = npt.NDArray[np.float64]


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of vectors."""
    registry.add_columnar("pg_vector_in", "VARCHAR INTEGER", "FLOAT[]", _parse)
    registry.add_columnar("pg_vector_text", "FLOAT[]", "VARCHAR", lambda column: format_text_column(VECTOR, column))
    registry.add_columnar("pg_vector_from_float4", "FLOAT[]", "FLOAT[]", _from_array)
    registry.add_columnar("pg_vector_from_float8", "DOUBLE[]", "FLOAT[]", _from_array)
    registry.add_columnar("pg_vector_l1", "FLOAT[] FLOAT[]", "DOUBLE", _l1_distance)
    for name, compute in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        registry.add_columnar(f"pg_vector_{name}", "FLOAT[] FLOAT[]", "FLOAT[]", partial(_combine, compute))
    registry.add_columnar("pg_tanimoto", "INTEGER[] INTEGER[]", "DOUBLE", _tanimoto)
    registry.add_columnar("pg_vector_concat", "FLOAT[] FLOAT[]", "FLOAT[]", _concatenate)
    registry.add_columnar("pg_vector_normalize", "FLOAT[]", "FLOAT[]", _normalize)
    registry.add_columnar("pg_vector_sum", "FLOAT[][]", "FLOAT[]", partial(_total, False))
    registry.add_columnar("pg_vector_avg", "FLOAT[][]", "FLOAT[]", partial(_total, True))


def _parse(texts: pa.StringArray, modifiers: pa.Array) -> pa.ListArray:
    modifier = modifiers[0].as_py() if len(modifiers) else -1
    return parse_vector_column(SqlType("vector", modifier), texts)


def _from_array(column: pa.ListArray) -> pa.ListArray:
    """Converts arrays of numbers; 22004 for a NULL inside."""
    items = column.flatten()
    if items.null_count:
        raise SqlError.of("null_value_not_allowed", "array must not contain nulls")
    with np.errstate(over="ignore"):
        numbers = np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.float32)
    return check_column(VECTOR, build_column(measure(column), numbers, get_missing(column)))


def _overflow_error() -> SqlError:
    return NumericOutOfRange("value out of range: overflow")


class _Pairs:
    """Two columns of vectors, of equal dimensions in each row in which neither is NULL; 22000."""

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


def _add_up(numbers: Any, lengths: npt.NDArray[np.int32]) -> Doubles:
    """Returns the sum of each vector's numbers; no vector is empty."""
    if not len(lengths):
        return np.zeros(0)
    if (lengths == lengths[0]).all():
        return np.asarray(np.einsum("ij->i", numbers.reshape(len(lengths), -1), dtype=np.float64))
    starts = np.concatenate(([0], np.cumsum(lengths[:-1])))
    return np.asarray(np.add.reduceat(numbers, starts, dtype=np.float64))


def _l1_distance(left: pa.ListArray, right: pa.ListArray) -> pa.Array:
    pairs = _Pairs(left, right)
    found = np.zeros(len(pairs.missing), np.float64)
    with np.errstate(over="ignore"):
        differences = pairs.left - pairs.right
    np.abs(differences, out=differences)
    found[~pairs.missing] = _add_up(differences, pairs.lengths)
    return pa.array(found, mask=pairs.missing)


def _tanimoto(left: pa.ListArray, right: pa.ListArray) -> pa.Array:
    """Returns |a and b| / |a or b| of the bits of arrays of one length, 0 for none; 22004 for a NULL inside."""
    if left.flatten().null_count or right.flatten().null_count:
        raise SqlError.of("null_value_not_allowed", "array must not contain nulls")
    missing = get_missing(left) | get_missing(right)
    kept = pa.array(~missing)
    one, other = left.filter(kept), right.filter(kept)
    lengths, others = measure(one), measure(other)
    if (lengths != others).any():
        at = int(np.flatnonzero(lengths != others)[0])
        raise data_exception(f"different fingerprint lengths {lengths[at]} and {others[at]}")
    a, b = (np.asarray(each.flatten().to_numpy(zero_copy_only=False)).view(np.uint32) for each in (one, other))
    sums = np.zeros((2, len(lengths)))
    for total, words in zip(sums, (a & b, a | b), strict=True):
        total[lengths > 0] = _add_up(np.bitwise_count(words), lengths[lengths > 0])
    found = np.zeros(len(missing))
    found[~missing] = sums[0] / np.maximum(sums[1], 1)
    return pa.array(found, mask=missing)


def _combine(compute: Callable[[Floats, Floats], Any], left: pa.ListArray, right: pa.ListArray) -> pa.ListArray:
    """Computes number by number; 22003 for a result out of range."""
    pairs = _Pairs(left, right)
    with np.errstate(over="ignore", under="ignore"):
        numbers = compute(pairs.left, pairs.right)
    if np.isinf(numbers).any():
        raise _overflow_error()
    if compute is np.multiply and ((numbers == 0) & (pairs.left != 0) & (pairs.right != 0)).any():
        raise NumericOutOfRange("value out of range: underflow")
    return pairs.build(pairs.lengths, numbers + np.float32(0))


def _concatenate(left: pa.ListArray, right: pa.ListArray) -> pa.ListArray:
    pairs = _Pairs(left, right, alike=False)
    lengths = pairs.lengths.astype(np.int64) + pairs.other_lengths
    if len(lengths):
        check_dimensions(int(lengths.max()))
    numbers = np.empty(int(lengths.sum()), np.float32)
    # The numbers of the left vectors come first in each row.
    of_left = np.repeat(np.tile([True, False], len(lengths)), np.stack([pairs.lengths, pairs.other_lengths], 1).ravel())
    numbers[of_left], numbers[~of_left] = pairs.left, pairs.right
    return pairs.build(lengths, numbers)


def _normalize(column: pa.ListArray) -> pa.ListArray:
    """Divides each vector by its Euclidean norm; a vector of zeros stays as it is."""
    missing, lengths = get_missing(column), measure(column)
    numbers = flatten(column).astype(np.float64)
    present = lengths[~missing]
    norms = np.sqrt(_add_up(numbers * numbers, present))
    norms[norms == 0] = 1
    with np.errstate(over="ignore"):
        scaled = (numbers / np.repeat(norms, present)).astype(np.float32)
    if np.isinf(scaled).any():
        raise _overflow_error()
    return build_column(lengths, scaled + np.float32(0), missing)


def _total(average: bool, groups: pa.ListArray) -> pa.ListArray:
    """Returns the sum of each group's vectors, or their average; both are summed in double precision."""
    found: list[Floats | None] = []
    for group in groups:
        vectors = None if group.values is None else pc.drop_null(group.values)
        found.append(None if vectors is None or not len(vectors) else _total_of_group(average, vectors))
    lengths = np.array([0 if each is None else len(each) for each in found], np.int64)
    numbers = [each for each in found if each is not None]
    missing = np.array([each is None for each in found], bool)
    return build_column(lengths, np.concatenate(numbers) if numbers else np.zeros(0, np.float32), missing)


def _total_of_group(average: bool, vectors: pa.ListArray) -> Floats:
    lengths = measure(vectors)
    other = lengths[lengths != lengths[0]]
    if len(other):
        first, second = int(lengths[0]), int(other[0])
        if average:
            raise data_exception(f"expected {first} dimensions, not {second}")
        raise data_exception(f"different vector dimensions {first} and {second}")
    matrix = flatten(vectors).reshape(len(vectors), -1)
    total = matrix.sum(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        result = (total / len(vectors) if average else total).astype(np.float32)
    if not np.isfinite(result).all():
        raise _overflow_error()
    return np.asarray(result + np.float32(0))

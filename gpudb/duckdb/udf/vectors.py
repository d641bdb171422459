"""Vectors (pgvector's type `vector`): functions over whole Arrow columns of lists of float32.

Rows are computed in blocks that fit a processor's cache. A column in which every vector has the same dimensions is a
matrix; others are computed over their numbers one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.vector_pairs import Pairs, add_up, overflow_error
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


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of vectors."""
    registry.add_columnar("pg_vector_in", "VARCHAR INTEGER", "FLOAT[]", _parse)
    registry.add_columnar("pg_vector_text", "FLOAT[]", "VARCHAR", lambda column: format_text_column(VECTOR, column))
    registry.add_columnar("pg_vector_from_float4", "FLOAT[]", "FLOAT[]", partial(read_array, VECTOR))
    registry.add_columnar("pg_vector_from_float8", "DOUBLE[]", "FLOAT[]", partial(read_array, VECTOR))
    registry.add_columnar("pg_vector_l1", "FLOAT[] FLOAT[]", "DOUBLE", _l1_distance)
    for name, compute in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        registry.add_columnar(f"pg_vector_{name}", "FLOAT[] FLOAT[]", "FLOAT[]", partial(_combine, compute))
    registry.add_columnar("pg_tanimoto", "INTEGER[] INTEGER[]", "DOUBLE", _tanimoto)
    registry.add_columnar("pg_vector_concat", "FLOAT[] FLOAT[]", "FLOAT[]", _concatenate)
    registry.add_columnar("pg_vector_normalize", "FLOAT[]", "FLOAT[]", _normalize)
    registry.add_columnar("pg_vector_sum", "FLOAT[][]", "FLOAT[]", partial(total, False))
    registry.add_columnar("pg_vector_avg", "FLOAT[][]", "FLOAT[]", partial(total, True))


def _parse(texts: pa.StringArray, modifiers: pa.Array) -> pa.ListArray:
    modifier = modifiers[0].as_py() if len(modifiers) else -1
    return parse_vector_column(SqlType("vector", modifier), texts)


def read_array(kind: SqlType, column: pa.ListArray) -> pa.ListArray:
    """Converts arrays of numbers to single precision, for vectors of a type; 22004 for a NULL inside."""
    items = column.flatten()
    if items.null_count:
        raise SqlError.of("null_value_not_allowed", "array must not contain nulls")
    with np.errstate(over="ignore"):
        numbers = np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.float32)
    return check_column(kind, build_column(measure(column), numbers, get_missing(column)))


def _l1_distance(left: pa.ListArray, right: pa.ListArray) -> pa.Array:
    pairs = Pairs(left, right)
    found = np.zeros(len(pairs.missing), np.float64)
    with np.errstate(over="ignore"):
        differences = pairs.left - pairs.right
    np.abs(differences, out=differences)
    found[~pairs.missing] = add_up(differences, pairs.lengths)
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
    for each, words in zip(sums, (a & b, a | b), strict=True):
        each[lengths > 0] = add_up(np.bitwise_count(words), lengths[lengths > 0])
    found = np.zeros(len(missing))
    found[~missing] = sums[0] / np.maximum(sums[1], 1)
    return pa.array(found, mask=missing)


def _combine(compute: Callable[[Floats, Floats], Any], left: pa.ListArray, right: pa.ListArray) -> pa.ListArray:
    """Computes number by number; 22003 for a result out of range."""
    pairs = Pairs(left, right)
    with np.errstate(over="ignore", under="ignore"):
        numbers = compute(pairs.left, pairs.right)
    if np.isinf(numbers).any():
        raise overflow_error()
    if compute is np.multiply and ((numbers == 0) & (pairs.left != 0) & (pairs.right != 0)).any():
        raise NumericOutOfRange("value out of range: underflow")
    return pairs.build(pairs.lengths, numbers + np.float32(0))


def _concatenate(left: pa.ListArray, right: pa.ListArray) -> pa.ListArray:
    pairs = Pairs(left, right, alike=False)
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
    norms = np.sqrt(add_up(numbers * numbers, present))
    norms[norms == 0] = 1
    with np.errstate(over="ignore"):
        scaled = (numbers / np.repeat(norms, present)).astype(np.float32)
    if np.isinf(scaled).any():
        raise overflow_error()
    return build_column(lengths, scaled + np.float32(0), missing)


def total(average: bool, groups: pa.ListArray, name: str = "vector") -> pa.ListArray:
    """Returns the sum of each group's vectors, or their average; both are summed in double precision.

    `name` is that of their type.
    """
    found: list[Floats | None] = []
    for group in groups:
        vectors = None if group.values is None else pc.drop_null(group.values)
        found.append(None if vectors is None or not len(vectors) else _total_of_group(average, vectors, name))
    lengths = np.array([0 if each is None else len(each) for each in found], np.int64)
    numbers = [each for each in found if each is not None]
    missing = np.array([each is None for each in found], bool)
    return build_column(lengths, np.concatenate(numbers) if numbers else np.zeros(0, np.float32), missing)


def _total_of_group(average: bool, vectors: pa.ListArray, name: str) -> Floats:
    lengths = measure(vectors)
    other = lengths[lengths != lengths[0]]
    if len(other):
        first, second = int(lengths[0]), int(other[0])
        if average:
            raise data_exception(f"expected {first} dimensions, not {second}")
        raise data_exception(f"different {name} dimensions {first} and {second}")
    matrix = flatten(vectors).reshape(len(vectors), -1)
    sums = matrix.sum(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore"):
        result = (sums / len(vectors) if average else sums).astype(np.float32)
    if not np.isfinite(result).all():
        raise overflow_error()
    return np.asarray(result + np.float32(0))

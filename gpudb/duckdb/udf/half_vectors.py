"""Vectors of half precision (`halfvec`), as bytes (`values.half_vectors`): functions over whole Arrow columns.

Distances are those of vectors, to which columns are converted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.duckdb.udf.registry import FunctionRegistry
from gpudb.duckdb.udf.vector_pairs import add_up, overflow_error
from gpudb.duckdb.udf.vectors import read_array, total
from gpudb.errors import NumericOutOfRange
from gpudb.types import HALFVEC, SqlType
from gpudb.values.half_vectors import (
    build_half_column,
    from_half_column,
    parse_half_vector_column,
    split_halves,
    to_half_column,
)
from gpudb.values.text_columns import format_text_column, replace_items
from gpudb.values.vectors import check_dimensions, data_exception, get_missing


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of vectors of half precision."""
    registry.add_columnar("pg_halfvec_in", "VARCHAR INTEGER", "BLOB", _parse)
    registry.add_columnar("pg_halfvec_text", "BLOB", "VARCHAR", lambda column: format_text_column(HALFVEC, column))
    registry.add_columnar("pg_halfvec_from_float4", "FLOAT[]", "BLOB", _from_array)
    registry.add_columnar("pg_halfvec_from_float8", "DOUBLE[]", "BLOB", _from_array)
    registry.add_columnar("pg_halfvec_to_vector", "BLOB", "FLOAT[]", from_half_column)
    for name, compute in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply)):
        registry.add_columnar(f"pg_halfvec_{name}", "BLOB BLOB", "BLOB", partial(_combine, compute))
    registry.add_columnar("pg_halfvec_concat", "BLOB BLOB", "BLOB", _concatenate)
    registry.add_columnar("pg_halfvec_normalize", "BLOB", "BLOB", _normalize)
    registry.add_columnar("pg_halfvec_sum", "BLOB[]", "BLOB", partial(_total, False))
    registry.add_columnar("pg_halfvec_avg", "BLOB[]", "BLOB", partial(_total, True))


def _parse(texts: pa.StringArray, modifiers: pa.Array) -> pa.BinaryArray:
    modifier = modifiers[0].as_py() if len(modifiers) else -1
    return parse_half_vector_column(SqlType(HALFVEC.name, modifier), texts)


def _from_array(column: pa.ListArray) -> pa.BinaryArray:
    """Converts arrays of numbers; 22004 for a NULL inside, 22003 for a number beyond half precision."""
    return to_half_column(read_array(HALFVEC, column))


def _combine(compute: Callable[..., Any], left: pa.Array, right: pa.Array) -> pa.BinaryArray:
    """Computes number by number; 22003 for a result out of range."""
    missing, (lengths, a), (others, b) = _split_pairs(left, right)
    if (lengths != others).any():
        at = int(np.flatnonzero(lengths != others)[0])
        raise data_exception(f"different halfvec dimensions {lengths[at]} and {others[at]}")
    with np.errstate(over="ignore", under="ignore"):
        numbers = compute(a, b)
    if np.isinf(numbers).any():
        raise overflow_error()
    if compute is np.multiply and ((numbers == 0) & (a != 0) & (b != 0)).any():
        raise NumericOutOfRange("value out of range: underflow")
    return _build(missing, lengths, numbers + np.float16(0))


def _concatenate(left: pa.Array, right: pa.Array) -> pa.BinaryArray:
    missing, (lengths, a), (others, b) = _split_pairs(left, right)
    sizes = lengths + others
    if len(sizes):
        check_dimensions(int(sizes.max()), HALFVEC.name)
    numbers = np.empty(int(sizes.sum()), np.float16)
    of_left = np.repeat(np.tile([True, False], len(sizes)), np.stack([lengths, others], 1).ravel())
    numbers[of_left], numbers[~of_left] = a, b
    return _build(missing, sizes, numbers)


def _split_pairs(left: pa.Array, right: pa.Array) -> tuple[Any, tuple[Any, Any], tuple[Any, Any]]:
    """Returns the rows with a NULL, and the dimensions and numbers of both operands in the others."""
    missing = get_missing(left) | get_missing(right)
    kept = pa.array(~missing)
    return missing, split_halves(left.filter(kept)), split_halves(right.filter(kept))


def _build(missing: Any, lengths: Any, numbers: Any) -> pa.BinaryArray:
    sizes = np.zeros(len(missing), np.int64)
    sizes[~missing] = lengths
    return build_half_column(sizes, numbers, missing)


def _normalize(column: pa.Array) -> pa.BinaryArray:
    """Divides each vector by its Euclidean norm; a vector of zeros stays as it is."""
    missing = get_missing(column)
    lengths, halves = split_halves(column)
    present, numbers = lengths[~missing], halves.astype(np.float64)
    norms = np.sqrt(add_up(numbers * numbers, present))
    norms[norms == 0] = 1
    scaled = (numbers / np.repeat(norms, present)).astype(np.float32).astype(np.float16)
    return build_half_column(lengths, scaled + np.float16(0), missing)


def _total(average: bool, groups: pa.ListArray) -> pa.BinaryArray:
    """Returns the sum of each group's vectors, or their average, rounded once; 22003 beyond half precision."""
    totals = total(average, replace_items(groups, from_half_column(groups.flatten())), HALFVEC.name)
    try:
        return to_half_column(totals)
    except NumericOutOfRange:
        raise overflow_error() from None

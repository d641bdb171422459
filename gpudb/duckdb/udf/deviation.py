"""Variances and standard deviations of exact numbers, over DuckDB's vectors (see `gpudb.exact.deviations`)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpudb.duckdb.udf.quotient import to_struct
from gpudb.exact.arrow import scale_of, to_words
from gpudb.exact.deviations import deviations, deviations_of_groups
from gpudb.exact.limbs import Array
from gpudb.exact.numerics import Numerics
from gpudb.functions.carried import SCALES
from gpudb.types import MAX_DIGITS, exact_numeric

if TYPE_CHECKING:
    from gpudb.duckdb.udf.registry import FunctionRegistry


def register(registry: FunctionRegistry) -> None:
    """Registers the functions of `functions.statistics`, for results of S decimals.

    pg_variance_S(count, sum, sum of squares, sum of their high words or 0, scale, whether a sample's, whether its root)
    pg_variance_of_S(values, greatest display scale, whether a sample's, whether its root)
    """
    for scale in SCALES:
        result = exact_numeric(MAX_DIGITS, scale, varying=True).duckdb
        registry.add_columnar(f"pg_variance_{scale}", None, result, partial(_deviate, scale))
        registry.add_columnar(f"pg_variance_of_{scale}", None, result, partial(_deviate_lists, scale))


def _first(column: pa.Array) -> int:
    """Returns a constant operand."""
    return int(column[0].as_py()) if len(column) else 0


def _deviate(
    carried: int,
    counts: pa.Array,
    totals: pa.Array,
    squares: pa.Array,
    high: pa.Array,
    scale: pa.Array,
    sample: pa.Array,
    root: pa.Array,
) -> pa.Array:
    count = counts.to_numpy(zero_copy_only=False)
    total, square, above = (to_words(column.fill_null(0)) for column in (totals, squares, high))
    is_sample, is_root = bool(_first(sample)), bool(_first(root))
    made = deviations(count, total, square, above, _first(scale), sample=is_sample, root=is_root, carried=carried)
    return to_struct(made, count > _first(sample), carried)


def _deviate_lists(carried: int, lists: pa.Array, shown: pa.Array, sample: pa.Array, root: pa.Array) -> pa.Array:
    values = lists.flatten()
    groups = np.repeat(np.arange(len(lists)), lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    if values.null_count:
        valid = values.is_valid()
        values, groups = values.filter(valid), groups[valid.to_numpy(zero_copy_only=False)]
    counts = np.bincount(groups, minlength=len(lists))
    filled = np.flatnonzero(counts)
    starts = np.searchsorted(groups, filled)
    least = shown.fill_null(0).to_numpy(zero_copy_only=False)[filled]
    options = {"sample": bool(_first(sample)), "root": bool(_first(root))}
    found = deviations_of_groups(to_words(values), starts, scale_of(values), least, carried=carried, **options)
    return to_struct(_spread(found, filled, len(lists)), counts > _first(sample), carried)


def _spread(found: Numerics, rows: Array, count: int) -> Numerics:
    """Returns a column of `count` rows, of which some are given and the others are 0."""
    made = Numerics(*(np.zeros((count, *part.shape[1:]), part.dtype) for part in found.columns))
    for part, given in zip(made.columns, found.columns, strict=True):
        part[rows] = given
    return made

"""Features as matrices: numbers as they are, NULL as NaN, and texts by their categories in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported

Matrix = npt.NDArray[np.floating[Any]]
Categories = Sequence[tuple[str, ...] | None]
"""The texts of each text feature, sorted; None for a feature of numbers."""
MAX_CATEGORIES = 1000
"""A text feature with more distinct texts than this is none."""


def find_categories(columns: Sequence[pa.ChunkedArray], names: Sequence[str]) -> Categories:
    """Returns the categories of columns; 0A000 for too many."""
    found: list[tuple[str, ...] | None] = []
    for column, name in zip(columns, names, strict=True):
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            found.append(None)
            continue
        values = pc.drop_null(pc.unique(column))
        if len(values) > MAX_CATEGORIES:
            message = f'feature "{name}" has {len(values)} distinct texts: a model can have {MAX_CATEGORIES}'
            hint = "Encode it as numbers in the query, as the encoders of gpudb.ml do."
            raise FeatureNotSupported(message, hint=hint)
        found.append(tuple(sorted(values.to_pylist())))
    return found


def make_matrix(
    columns: Sequence[pa.Array | pa.ChunkedArray], categories: Categories, *, one_hot: bool, dtype: Any = np.float64
) -> Matrix:
    """Returns columns as a matrix, rows by features.

    A text becomes the number of its category, NaN for one that training had not; `one_hot` instead a column of zeros
    and ones for each category, all zeros for one that training had not, all NaN for NULL.
    """
    rows = len(columns[0]) if columns else 0
    parts: list[Any] = []
    for column, texts in zip(columns, categories, strict=True):
        values = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if texts is None:
            parts.append(to_numbers(values, dtype)[:, None])
            continue
        codes = to_numbers(pc.index_in(values, value_set=pa.array(texts, values.type)), dtype)
        if not one_hot:
            parts.append(codes[:, None])
            continue
        spread = (codes[:, None] == np.arange(len(texts), dtype=dtype)).astype(dtype)
        spread[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
        parts.append(spread)
    return np.ascontiguousarray(np.hstack(parts)) if parts else np.empty((rows, 0), dtype)


def to_numbers(values: pa.Array, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """Returns numbers or booleans as floats, NULL as NaN."""
    numbers: npt.NDArray[Any] = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers.astype(dtype, copy=False)

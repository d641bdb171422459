"""Columns of floats to PostgreSQL's text: Arrow writes them, and what it writes in another notation is replaced."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values.numbers import format_float4, format_float8


def format_float_column(column: pa.Array) -> pa.StringArray:
    """Formats a column of single or double precision; NULL stays NULL."""
    text = pc.cast(column, pa.string())
    values = column.to_numpy(zero_copy_only=False)
    single = column.type != pa.float64()
    size = np.abs(values)
    # where Arrow and PostgreSQL choose the same notation
    is_same = ((size > 1.0001e-4) & (size < (1e6 if single else 1e10))) | (size == 0)
    if is_same.all():
        return text
    other = ~is_same
    if column.null_count:
        other &= pc.is_valid(column).to_numpy(zero_copy_only=False)
    numbers = values[other].tolist()
    if not single and ((size[other] > 1.0001e-4) & (size[other] < 1e15)).all():
        words = [word.removesuffix(".0") for word in map(repr, numbers)]
    else:
        words = list(map(format_float4 if single else format_float8, numbers))
    replaced = pa.array(words, pa.string())
    return pc.replace_with_mask(text, pa.array(other), replaced)

"""Columns whose rows name what is done with them: the rows of each distinct template, zone or pattern together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.values.text_pieces import Integers, Mask


def map_by_name(
    names: pa.Array, valid: Mask, result: pa.DataType, compute: Callable[[str, Integers], pa.Array | None]
) -> pa.Array:
    """Returns a column that `compute` makes of each distinct name and its rows' numbers.

    NULL where `valid` is false, a name is NULL, or `compute` returns None.
    """
    encoded = names.dictionary_encode()
    numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    parts: list[pa.Array] = [pa.nulls(1, result)]
    places = np.zeros(len(names), np.int64)
    at = 1
    for number, name in enumerate(encoded.dictionary.to_pylist()):
        rows = np.flatnonzero(valid & (numbers == number))
        found = compute(name, rows) if len(rows) else None
        if found is None:
            continue
        if len(rows) == len(names):
            return found
        parts.append(found)
        places[rows] = np.arange(at, at + len(rows))
        at += len(rows)
    return pc.take(pa.concat_arrays(parts), pa.array(places))


def find_valid(*columns: pa.Array) -> Mask:
    """Returns the rows without a NULL in any column."""
    valid = np.ones(len(columns[0]), np.bool_)
    for column in columns:
        if column.null_count:
            valid &= column.is_valid().to_numpy(zero_copy_only=False)
    return valid

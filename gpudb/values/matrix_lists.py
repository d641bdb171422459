"""Matrices made of Arrow's lists, and read as lists: rows of a query, arrays of SQL, columns for users of Arrow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.values import matrix_algebra as algebra
from gpudb.values.matrix import (
    ELEMENT_TYPES,
    Matrix,
    as_elements,
    build_column,
    check_shape,
    check_size,
    iterate_values,
    read_header,
)
from gpudb.values.sparse_matrix import read_dense


def get_offsets(column: pa.Array) -> npt.NDArray[np.int64]:
    """Returns the bounds of a column's lists among `column.values`."""
    offsets: npt.NDArray[np.int64] = column.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return offsets


def null_element() -> SqlError:
    """Returns 22004."""
    return SqlError.of(
        "null_value_not_allowed",
        "a matrix has no NULL elements",
        hint="Leave rows with NULL out by FILTER or WHERE, or replace it by coalesce().",
    )


def from_rows(column: pa.Array) -> pa.Array:
    """Returns the matrix of each list of structs, each a row; NULL of a list without structs, 22004 for NULL in one."""
    offsets, structs = get_offsets(column), column.values
    first, last = int(offsets[0]), int(offsets[-1])
    members = [member.slice(first, last - first) for member in structs.flatten()]
    if any(member.null_count for member in members):
        raise null_element()
    for rows in np.diff(offsets).tolist():
        check_size(rows, len(members), members[0].type.bit_width // 8)
    block = np.stack([member.to_numpy() for member in members]) if last > first else np.empty((len(members), 0))
    bounds = zip((offsets[:-1] - first).tolist(), (offsets[1:] - first).tolist(), strict=True)
    return build_column([block[:, start:end].T if end > start else None for start, end in bounds])


def from_lists(column: pa.Array) -> pa.Array:
    """Returns the matrix of each list of lists, or of each list as a column; 22004 for NULL, 2202E for ragged lists."""
    nested = pa.types.is_list(column.type.value_type)
    outer = get_offsets(column)
    inner = get_offsets(column.values) if nested else None
    elements = column.values.values if nested else column.values
    numbers = elements.to_numpy(zero_copy_only=False)
    null = elements.is_null().to_numpy(zero_copy_only=False) if elements.null_count else None
    missing_rows = nested and column.values.null_count > 0
    found: list[Matrix | None] = []
    for at, is_valid in enumerate(column.is_valid().to_pylist()):
        if not is_valid:
            found.append(None)
            continue
        start, end = int(outer[at]), int(outer[at + 1])
        rows, columns = end - start, 1
        if inner is not None and rows:
            widths = np.diff(inner[start : end + 1])
            if missing_rows and column.values.slice(start, rows).null_count:
                raise null_element()
            if (widths != widths[0]).any():
                raise algebra.shape_error("all rows of a matrix have the same number of elements")
            start, end, columns = int(inner[start]), int(inner[end]), int(widths[0])
        check_shape(rows, columns)
        if null is not None and null[start:end].any():
            raise null_element()
        found.append(as_elements(numbers[start:end].reshape(rows, columns)))
    return build_column(found)


def read_column(column: pa.Array) -> list[Matrix | None]:
    """Returns the matrices of a column, dense ones as views; None is NULL. 54000 for a sparse one too large for it."""
    return [None if value is None else read_dense(value) for value in iterate_values(column)]


def to_lists(column: pa.Array, dtype: np.dtype[Any]) -> pa.ListArray:
    """Returns the rows of each matrix as lists of an element type; 22003 for an element that does not fit."""
    matrices = [None if each is None else algebra.convert(each, dtype) for each in read_column(column)]
    known = [each for each in matrices if each is not None]
    elements = np.concatenate([each.reshape(-1) for each in known]) if known else np.empty(0, dtype)
    inner = np.zeros(sum(each.shape[0] for each in known) + 1, np.int32)
    np.cumsum(np.repeat([each.shape[1] for each in known], [each.shape[0] for each in known]), out=inner[1:])
    outer = np.zeros(len(matrices) + 1, np.int32)
    np.cumsum([0 if each is None else each.shape[0] for each in matrices], out=outer[1:])
    rows = pa.ListArray.from_arrays(pa.array(inner), pa.array(elements))
    return pa.ListArray.from_arrays(
        pa.array(outer), rows, mask=pa.array([each is None for each in matrices], pa.bool_())
    )


def find_common_type(columns: Iterable[pa.Array]) -> np.dtype[Any]:
    """Returns the element type that all matrices of some columns have, float8 for several or none."""
    found = {read_header(value)[0] for column in columns for value in iterate_values(column) if value is not None}
    return found.pop() if len(found) == 1 else ELEMENT_TYPES["float8"]

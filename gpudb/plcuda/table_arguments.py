"""Columns and arguments of table functions as C++ has them, and the columns that come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.errors import SqlError
from gpudb.plcuda.source import TYPES
from gpudb.plcuda.tables import MATRIX, CudaTable
from gpudb.types import SqlType

Array = np.ndarray[Any, Any]
MAX_ROWS = 1 << 31
"""The rows of a result."""


def hold_arguments(table: CudaTable, arguments: Sequence[Any]) -> tuple[list[Array], list[Array]]:
    """Returns an array for each parameter in C++, of one item: a value, or the address of an argument's array.

    And these arrays, which the caller keeps as long as their addresses are used.
    """
    found: list[Array] = []
    kept: list[Array] = []
    for (_, item), value in zip(table.parameters, arguments, strict=True):
        if item.name == MATRIX:
            held = np.ascontiguousarray(np.zeros((0, 0)) if value is None else value, np.float64)
            kept.append(held)
            found += [np.array([held.ctypes.data]), np.array([held.shape[0]]), np.array([held.shape[1]])]
        elif item.element is not None:
            held = np.ascontiguousarray([] if value is None else value, TYPES[item.element.name][1])
            kept.append(held)
            found += [np.array([held.ctypes.data]), np.array([len(held)])]
        else:
            found.append(np.array([0 if value is None else value], TYPES[item.name][1]))
        if not table.strict:
            found.append(np.array([value is None], np.uint8))
    return found, kept


def check_shape(table: CudaTable, shape: Array) -> None:
    """22023 for a negative number of rows, threads or bytes; 54000 for more rows than a result may have."""
    if min(shape) < 0:
        raise SqlError.of("invalid_parameter_value", f"the hints of function {table.name} give a negative number")
    if shape[0] > MAX_ROWS:
        raise SqlError.of("program_limit_exceeded", f"function {table.name} returns more than {MAX_ROWS} rows")


def finish_table(table: CudaTable, columns: Sequence[Array], nulls: Sequence[Array], count: int) -> pa.Table:
    """Returns the columns of a result, the first `count` rows if the body counts rows, else all."""
    counts = "row_count" in table.body
    made = []
    for values, missing, (_, item) in zip(columns, nulls, table.columns, strict=True):
        rows = min(count, len(values)) if counts else len(values)
        made.append(write_column(item, values[:rows], missing[:rows] != 0))
    return pa.table(made, names=[f"k{number}" for number in range(1, len(made) + 1)])


def write_column(item: SqlType, values: Array, missing: Array) -> pa.Array:
    """Returns values as C++ has them as a column, NULL where `missing`."""
    if item.name == "bool":
        return pa.array(values != 0, mask=missing)
    made = pa.array(values, mask=missing)
    return made.view(item.arrow) if made.type != item.arrow else made


def to_items(item: SqlType, column: pa.Array) -> Array:
    """Returns a column's values as C++ has them, 0 for NULL."""
    kind = TYPES[item.name][1]
    integer = pa.int32() if item.name == "date" else pa.int64() if item.name.startswith("timestamp") else None
    if integer is not None:
        column = column.view(integer)
    elif item.name == "bool":
        column = column.cast(pa.uint8())
    return np.ascontiguousarray(column.fill_null(0).to_numpy(zero_copy_only=False), kind)

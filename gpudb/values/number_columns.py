"""Arrow columns as numbers, for arrays: which types they have, what their values are, and the error of a NULL."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from gpudb.errors import SqlError


def holds_numbers(type_: pa.DataType) -> bool:
    """Returns whether arrays of numbers can hold a type: integers, floats, booleans, dates and timestamps."""
    kinds = pa.types
    return bool(
        kinds.is_integer(type_)
        or kinds.is_floating(type_)
        or kinds.is_boolean(type_)
        or kinds.is_date32(type_)
        or kinds.is_timestamp(type_)
    )


def view_numbers(column: pa.Array) -> pa.Array:
    """Returns a column with dates as days and timestamps as microseconds, over the same memory."""
    if pa.types.is_date32(column.type):
        return column.view(pa.int32())
    return column.view(pa.int64()) if pa.types.is_timestamp(column.type) else column


def number_dtype(type_: pa.DataType) -> np.dtype[np.generic]:
    """Returns the type of a column's numbers: dates are int32 days, timestamps int64 microseconds."""
    kinds = pa.types
    if kinds.is_date32(type_):
        return np.dtype(np.int32)
    return np.dtype(np.int64 if kinds.is_timestamp(type_) else type_.to_pandas_dtype())


def make_null_error(name: str, type_: pa.DataType) -> SqlError:
    """Returns the error for a column whose type has no value for its NULL."""
    message = f'column "{name}" holds NULL, which an array of {type_} cannot'
    hint = "Replace it by coalesce, or cast the column to double precision, where NULL becomes NaN."
    return SqlError.of("null_value_not_allowed", message, hint=hint)

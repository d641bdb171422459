"""Columns in the form that a vectorised body takes them, and the column that it returns, with the checks of it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.errors import DatatypeMismatch, FeatureNotSupported, SqlError
from gpudb.plpython.definitions import Definition
from gpudb.types import SqlType

_HINTS = {"torch": "Install the package torch.", "cupy": "Install gpudb's packages for GPUs."}


def read(form: str, column: pa.Array) -> Any:
    """Returns a column as an array of pyarrow, NumPy, Polars, PyTorch or CuPy.

    With NULLs an array of numbers is a masked one for NumPy (numpy.ma), and 22004 for PyTorch and CuPy.
    """
    if form == "arrow":
        return column
    if form == "polars":
        return _load(form).Series(column)
    if form == "numpy" and column.null_count and _is_number(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        filler = pa.scalar(False if pa.types.is_boolean(column.type) else 0, column.type)
        return np.ma.array(column.fill_null(filler).to_numpy(zero_copy_only=False), mask=missing)
    values = column.to_numpy(zero_copy_only=False)
    if form == "numpy":
        return values
    if column.null_count or values.dtype == object:
        what = "with NULLs" if column.null_count else f"of the type {column.type}"
        raise SqlError.of("null_value_not_allowed", f"a column {what} cannot be an array of {form}")
    module = _load(form)
    return module.from_numpy(np.array(values)) if form == "torch" else module.asarray(values)


def _is_number(item: pa.DataType) -> bool:
    return bool(pa.types.is_integer(item) or pa.types.is_floating(item) or pa.types.is_boolean(item))


def _load(form: str) -> Any:
    try:
        return import_module(form)
    except ImportError:
        raise FeatureNotSupported(f"package {form} is not installed", hint=_HINTS.get(form)) from None


def write(definition: Definition, item: SqlType, found: Any, count: int) -> pa.Array:
    """Returns what a body returned as a column of a type; 42804 for another type, 22023 for another length."""
    column = _to_arrow(definition, item, found)
    if len(column) != count:
        message = f"vectorised function {definition.name} returned {len(column)} values for {count} rows"
        raise SqlError.of("invalid_parameter_value", message)
    if column.type == item.arrow:
        return column
    try:
        return column.cast(item.arrow, safe=not pa.types.is_floating(item.arrow))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        message = f"vectorised function {definition.name} returned {column.type} instead of {item}"
        raise DatatypeMismatch(message, detail=str(error).partition("\n")[0]) from None


def _to_arrow(definition: Definition, item: SqlType, found: Any) -> pa.Array:
    if hasattr(found, "to_arrow"):  # a Series of Polars, a column of cuDF
        found = found.to_arrow()
    elif hasattr(found, "detach") and hasattr(found, "cpu"):
        found = found.detach().cpu().numpy()
    elif hasattr(found, "get") and hasattr(found, "device") and not isinstance(found, np.ndarray):
        found = found.get()
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.Array):
        return found
    if isinstance(found, np.ma.MaskedArray) and found.ndim == 1 and found.dtype != object:
        return pa.array(found.data, mask=np.ma.getmaskarray(found))
    if isinstance(found, np.ndarray) and found.ndim == 1:
        return pa.array(found) if found.dtype != object else pa.array(found.tolist())
    message = f"vectorised function {definition.name} returned {type(found).__name__} instead of an array"
    raise DatatypeMismatch(message, detail="It must return a one-dimensional array with a value for each row.")

"""Python values as statement parameters: their SQL types, and their text in PostgreSQL's input form."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from gpudb.errors import SqlError
from gpudb.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    JSONB,
    NUMERIC,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    TIMETZ,
    UUID,
    SqlType,
)
from gpudb.values import Interval, Multirange, Range
from gpudb.values.array import format_array
from gpudb.values.matrix import from_numpy
from gpudb.values.matrix_forms import format_matrix


def is_matrix(value: object) -> TypeGuard[npt.NDArray[Any]]:
    """Returns whether a value is a NumPy array of two dimensions, which is sent as a matrix."""
    return isinstance(value, np.ndarray) and value.ndim == 2


def get_parameter_type(value: object) -> SqlType | None:
    """Returns the type that a value is sent as; None (for NULL, str and ranges) leaves it to the statement.

    42846 for a Python type without an SQL type.
    """
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()  # a numpy scalar
    if is_matrix(value):
        return SqlType("matrix")
    match value:
        case None | str() | Range() | Multirange():
            return None
        case bool():
            return BOOL
        case int():
            return INT4 if -(2**31) <= value < 2**31 else INT8 if -(2**63) <= value < 2**63 else NUMERIC
        case float():
            return FLOAT8
        case Decimal():
            return NUMERIC
        case bytes() | bytearray() | memoryview():
            return BYTEA
        case dt.datetime():
            return TIMESTAMP if value.tzinfo is None else TIMESTAMPTZ
        case dt.date():
            return DATE
        case dt.time() if value.tzinfo is None:
            return TIME
        case dt.time():
            return TIMETZ
        case dt.timedelta() | Interval():
            return INTERVAL
        case uuid.UUID():
            return UUID
        case dict():
            return JSONB
        case list() | tuple():
            return _get_array_type(value)
    message = f"a Python value of type {type(value).__name__} cannot be a parameter"
    raise SqlError.of("cannot_coerce", message)


def _get_array_type(values: Sequence[object]) -> SqlType | None:
    kinds = {kind for kind in map(get_parameter_type, _flatten(values)) if kind is not None}
    if not kinds:
        return None
    if kinds <= {INT4, INT8, NUMERIC}:
        return next(kind for kind in (NUMERIC, INT8, INT4) if kind in kinds).array
    if kinds <= {INT4, INT8, FLOAT8}:
        return FLOAT8.array
    if len(kinds) > 1:
        names = ", ".join(sorted(str(kind) for kind in kinds))
        raise SqlError.of("datatype_mismatch", f"an array parameter mixes values of types {names}")
    return kinds.pop().array


def _flatten(values: Sequence[object]) -> list[object]:
    leaves: list[object] = []
    for value in values:
        leaves += _flatten(value) if isinstance(value, list | tuple) else [value]
    return leaves


def format_parameter(value: object) -> str:
    """Returns a value (not None) in the form of PostgreSQL's input functions."""
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if is_matrix(value):
        return format_matrix(from_numpy(value))
    match value:
        case str():
            return value
        case bool():
            return "t" if value else "f"
        case float():
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
        case Decimal():
            return f"{value:f}" if value.is_finite() else str(value)
        case bytes() | bytearray() | memoryview():
            return "\\x" + bytes(value).hex()
        case dt.timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            return format_array(_to_lists(value), format_parameter)
        case _:
            return str(value)


def _to_lists(values: Sequence[object]) -> list[object]:
    return [_to_lists(value) if isinstance(value, list | tuple) else value for value in values]

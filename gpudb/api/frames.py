"""Frames of Arrow, Polars, pandas and cuDF, and dicts of columns, as relations: the SQL types of their columns.

| Arrow | SQL |
|---|---|
| int8, uint8, int16; uint16, int32; uint32, int64; uint64 | smallint; integer; bigint; numeric(20,0) |
| float16, float32; float64 | real; double precision |
| decimal of at most 38 digits | numeric(p,s) |
| string, dictionary of strings, null; binary | text; bytea |
| date; time; timestamp without and with zone | date; time; timestamp; timestamptz |
| duration, interval | interval |
| uuid | uuid |
| list | array |

Times finer than microseconds are rounded, as by PostgreSQL's input. NaN in a pandas column is NULL, as in pandas; in
Arrow and Polars it is NaN.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, SqlError
from gpudb.types import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    SqlType,
    numeric,
)
from gpudb.values.calendar import DAY

_SQL_TYPES: tuple[tuple[pa.DataType, SqlType], ...] = (
    (pa.bool_(), BOOL),
    (pa.int8(), INT2),
    (pa.uint8(), INT2),
    (pa.int16(), INT2),
    (pa.uint16(), INT4),
    (pa.int32(), INT4),
    (pa.uint32(), INT8),
    (pa.int64(), INT8),
    (pa.uint64(), numeric(20, 0)),
    (pa.float16(), FLOAT4),
    (pa.float32(), FLOAT4),
    (pa.float64(), FLOAT8),
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
    (pa.string_view(), TEXT),
    (pa.null(), TEXT),
    (pa.binary(), BYTEA),
    (pa.large_binary(), BYTEA),
    (pa.binary_view(), BYTEA),
    (pa.date32(), DATE),
    (pa.date64(), DATE),
    (pa.month_day_nano_interval(), INTERVAL),
)
_LIBRARIES = frozenset({"polars", "pandas", "cudf", "pyarrow"})
_FRAMES = frozenset({"DataFrame", "LazyFrame", "Table", "RecordBatch"})
_NANOSECONDS_A_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}


def is_frame(value: object) -> bool:
    """Whether `to_arrow_table` takes a value, as far as its type tells: a dict of columns holds lists and arrays."""
    if isinstance(value, dict):
        return bool(value) and all(isinstance(name, str) and _is_column(column) for name, column in value.items())
    kind = type(value)
    if any(base.__module__.partition(".")[0] in _LIBRARIES and base.__name__ in _FRAMES for base in kind.__mro__):
        return True
    return hasattr(kind, "__arrow_c_stream__") and kind.__name__ not in {"Series", "ChunkedArray"}


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | dict | set)


def to_arrow_table(frame: object, *, rows: bool = True) -> pa.Table:
    """Returns a frame as an Arrow table: pyarrow Table or RecordBatch, Polars DataFrame or LazyFrame (collected),
    pandas DataFrame (without its index), cuDF DataFrame, dict of columns, any other Arrow stream. 42804 for anything
    else, and for a column whose values have no common type. Without `rows` a lazy frame is not computed.
    """
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    value: Any = frame
    package = type(frame).__module__.partition(".")[0]
    if isinstance(frame, dict):
        return _table_of_columns({name: partial(pa.array, column) for name, column in frame.items()})
    if package == "polars" and type(frame).__name__ == "LazyFrame":
        value = (value if rows else value.head(0)).collect()
    if package == "polars" and hasattr(value, "to_arrow") and hasattr(value, "columns"):
        for name, kind in value.schema.items():
            if "Object" in str(kind):  # Polars exports addresses
                raise FeatureNotSupported(f'column "{name}" holds Python objects, which no SQL type holds')
        return _table_of_columns({name: value.get_column(name).to_arrow for name in value.columns})
    if package == "pandas" and hasattr(value, "columns"):
        return _table_of_pandas(value.rename(columns=str))
    if package == "cudf" and hasattr(value, "columns"):
        table: pa.Table = value.to_arrow(preserve_index=False)
        return table
    if is_frame(frame):
        return pa.table(value)
    message = f"a {type(frame).__module__}.{type(frame).__qualname__} is no frame"
    hint = "Pass an Arrow table, a Polars, pandas or cuDF frame, or a dict of columns."
    raise SqlError.of("datatype_mismatch", message, hint=hint)


def _table_of_columns(columns: Mapping[str, Callable[[], Any]]) -> pa.Table:
    """Returns a table of columns that are computed here; 42804 names the one that cannot be, or has another length."""
    arrays: dict[str, Any] = {}
    for name, compute in columns.items():
        arrays[str(name)] = array = _convert_values(str(name), compute)
        first = next(iter(arrays))
        if len(array) != len(arrays[first]):
            message = f'column "{name}" has {len(array)} values, and column "{first}" has {len(arrays[first])}'
            raise SqlError.of("datatype_mismatch", message)
    return pa.table(arrays)


def _convert_values(name: str, compute: Callable[[], Any]) -> Any:
    """Returns a column of Python objects, or of another library, as Arrow; 42804 names it if that fails."""
    try:
        return compute()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = str(error).partition("\n")[0]
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # Polars' own, whose base is BaseException
            raise
        reason = str(error).partition("\n")[0]
    hint = "Give all its values one type that SQL has, or leave the column out."
    raise SqlError.of("datatype_mismatch", f'column "{name}" cannot be read: {reason}', hint=hint)


def _table_of_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        for number, name in enumerate(frame.columns):
            _convert_values(name, partial(pa.Array.from_pandas, frame.iloc[:, number]))
        raise


def convert_frame(frame: object, *, rows: bool = True) -> tuple[pa.Table, tuple[SqlType, ...]]:
    """Returns a frame as an Arrow table with its SQL types; its columns have exactly these types' `SqlType.arrow`.

    Without `rows` it may have none. 0A000 for a column without a matching SQL type or no column at all, 42701 for
    duplicate names.
    """
    table = to_arrow_table(frame, rows=rows)
    if not table.num_columns:
        raise FeatureNotSupported("a frame without columns is not supported")
    seen: set[str] = set()
    for name in table.column_names:
        if name in seen:
            raise SqlError.of("duplicate_column", f'column "{name}" specified more than once')
        seen.add(name)
    arrays, types = [], []
    for name, column in zip(table.column_names, table.columns, strict=True):
        type_ = get_sql_type(column.type, name)
        try:
            arrays.append(convert_column(column, type_))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            message = f'column "{name}" cannot be converted to {type_}: {error}'
            raise SqlError.of("datatype_mismatch", message) from None
        types.append(type_)
    return pa.Table.from_arrays(arrays, names=table.column_names), tuple(types)


def get_sql_type(arrow_type: pa.DataType, column: str) -> SqlType:
    """Returns the SQL type of an Arrow type; 0A000 naming the column if there is none."""
    for arrow, type_ in _SQL_TYPES:
        if arrow_type == arrow:
            return type_
    if isinstance(arrow_type, pa.BaseExtensionType):
        return UUID if arrow_type.extension_name == "arrow.uuid" else get_sql_type(arrow_type.storage_type, column)
    if pa.types.is_dictionary(arrow_type):
        return get_sql_type(arrow_type.value_type, column)
    if pa.types.is_decimal(arrow_type) and arrow_type.precision <= 38 and 0 <= arrow_type.scale <= arrow_type.precision:
        return numeric(arrow_type.precision, arrow_type.scale)
    if pa.types.is_fixed_size_binary(arrow_type):
        return BYTEA
    if pa.types.is_time(arrow_type):
        return TIME
    if pa.types.is_timestamp(arrow_type):
        return TIMESTAMP if arrow_type.tz is None else TIMESTAMPTZ
    if pa.types.is_duration(arrow_type):
        return INTERVAL
    if pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type) or pa.types.is_fixed_size_list(arrow_type):
        element = get_sql_type(arrow_type.value_type, column)
        if element.element is None:
            return element.array
    raise FeatureNotSupported(f'column "{column}" has the Arrow type {arrow_type}, which no SQL type holds')


def convert_column(column: pa.ChunkedArray, type_: SqlType) -> pa.ChunkedArray:
    """Converts a column to `type_.arrow`."""
    source, target = column.type, type_.arrow
    if source == target:
        return column
    if isinstance(source, pa.BaseExtensionType):
        if type_ == UUID:
            return pa.chunked_array([_format_uuids(chunk.storage) for chunk in column.chunks], pa.string())
        return convert_column(pa.chunked_array([c.storage for c in column.chunks], source.storage_type), type_)
    if pa.types.is_dictionary(source):
        return convert_column(column.cast(source.value_type), type_)
    if pa.types.is_duration(source):
        return pa.chunked_array([_to_intervals(chunk) for chunk in column.chunks], target)
    if (pa.types.is_timestamp(source) or pa.types.is_time(source)) and source.unit == "ns":
        return pc.round_temporal(column, unit="microsecond").cast(target)
    if pa.types.is_fixed_size_list(source) or pa.types.is_large_list(source):
        return column.cast(pa.list_(source.value_type)).cast(target)
    return column.cast(target)


def _to_intervals(column: pa.Array) -> pa.Array:
    """Converts durations to intervals of days and a rest, like the difference of two timestamps."""
    nanoseconds = _NANOSECONDS_A_UNIT[column.type.unit]
    counts = column.cast(pa.int64()).fill_null(0)
    if nanoseconds == 1:
        micros = pc.divide(counts, 1000)
    else:
        micros = pc.multiply_checked(counts, nanoseconds // 1000)
    parts = np.zeros(len(column), np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")]))
    days = pc.divide(micros, DAY)
    parts["days"] = days.cast(pa.int32()).to_numpy()
    parts["nanoseconds"] = pc.subtract(micros, pc.multiply(days, DAY)).to_numpy() * 1000
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False)
    mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.month_day_nano_interval(), len(column), [mask, pa.py_buffer(parts)])


def _format_uuids(column: pa.Array) -> pa.Array:
    return pa.array([None if v is None else str(uuid.UUID(bytes=v)) for v in column.to_pylist()], pa.string())

"""Casts columns of Parquet and Arrow files to a table's types, as PostgreSQL's assignment casts do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb import types
from gpudb.errors import DatatypeMismatch, GpudbError, NumericOutOfRange
from gpudb.storage.copy.conversion import (
    FIRST_MOMENT,
    Clock,
    ConvertedColumn,
    convert_text,
    is_out_of_form,
    recover_decimals,
)
from gpudb.types import SqlType
from gpudb.types.facts import FLOATS, INTEGERS
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.calendar import DAY
from gpudb.values.datetime_style import DateTimeStyle, use_style
from gpudb.values.numbers import fit_numeric
from gpudb.values.text_columns import format_text_column

_MOMENTS = frozenset({"date", "time", "timestamp", "timestamptz"})
_LAST_MOMENT = 9_223_371_331_200_000_000


def find_sql_type(held: pa.DataType) -> SqlType | None:
    """Returns the SQL type for an Arrow type; None if gpudb has none."""
    if pa.types.is_list(held) or pa.types.is_large_list(held) or pa.types.is_fixed_size_list(held):
        element = find_sql_type(held.value_type)
        return None if element is None or element.element is not None else element.array
    for test, found in _SQL_TYPES:
        if test(held):
            return found
    if pa.types.is_decimal(held) and 0 <= held.scale <= held.precision:
        return types.numeric(held.precision, held.scale)
    if pa.types.is_timestamp(held):
        return types.TIMESTAMP if held.tz is None else types.TIMESTAMPTZ
    return None


_SQL_TYPES: tuple[tuple[Callable[[pa.DataType], bool], SqlType], ...] = (
    (pa.types.is_boolean, types.BOOL),
    (lambda held: held in (pa.int8(), pa.int16(), pa.uint8()), types.INT2),
    (lambda held: held in (pa.int32(), pa.uint16()), types.INT4),
    (lambda held: held in (pa.int64(), pa.uint32()), types.INT8),
    (pa.types.is_uint64, types.numeric(20, 0)),
    (lambda held: held in (pa.float16(), pa.float32()), types.FLOAT4),
    (pa.types.is_float64, types.FLOAT8),
    (lambda held: pa.types.is_string(held) or pa.types.is_large_string(held) or held == pa.string_view(), types.TEXT),
    (lambda held: held == pa.uuid(), types.UUID),
    (
        lambda held: (
            pa.types.is_binary(held)
            or pa.types.is_large_binary(held)
            or pa.types.is_fixed_size_binary(held)
            or held == pa.binary_view()
        ),
        types.BYTEA,
    ),
    (pa.types.is_date, types.DATE),
    (pa.types.is_time, types.TIME),
    (lambda held: held == pa.month_day_nano_interval() or pa.types.is_duration(held), types.INTERVAL),
)


def cast_column(column: pa.Array, type_: SqlType, clock: Clock) -> ConvertedColumn:
    """Casts a file's column to `type_`; raises DatatypeMismatch (42804) where PostgreSQL has no assignment cast.

    Numerics are in the wide form if one of them has no room in the type's.
    """
    made = _cast(column, type_, clock)
    if any(is_out_of_form(type_, error) for _, error in made.errors):
        return _cast(column, types.widen(type_), clock)
    return made


def _cast(column: pa.Array, type_: SqlType, clock: Clock) -> ConvertedColumn:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        return ConvertedColumn(pa.nulls(len(column), type_.arrow))
    source = find_sql_type(column.type)
    if source is None:
        raise _mismatch_error(column.type, type_)
    column = _normalize(column, source)
    if source.element is not None and type_.element is not None:
        return _cast_list(column, type_, clock)
    if source.name == type_.name == "text" or (source == type_ and type_.name in {"bool", "bytea", "uuid", "interval"}):
        return ConvertedColumn(column)
    if source.name == "text":
        return convert_text(type_, column, clock)
    if type_.category == "S":
        return convert_text(type_, format_text_column(source, column, clock.zone), clock)
    if source.category == type_.category == "N":
        return _cast_number(column, source, type_)
    if source.name in _MOMENTS and type_.name in _MOMENTS:
        return _cast_moment(column, source, type_, clock)
    raise _mismatch_error(column.type, type_)


def _mismatch_error(held: pa.DataType, type_: SqlType) -> GpudbError:
    return DatatypeMismatch(f"a column of type {type_} cannot be loaded from Arrow's {held}")


def _normalize(column: pa.Array, source: SqlType) -> pa.Array:
    """Converts a column to the Arrow type of its SQL type, so that units and widths no longer differ."""
    held = column.type
    if pa.types.is_duration(held):
        microseconds = pc.cast(pc.cast(column, pa.duration("us"), safe=False), pa.int64()).to_pylist()
        spans = [None if value is None else (0, 0, value * 1000) for value in microseconds]
        return pa.array(spans, pa.month_day_nano_interval())
    if source.name == "uuid":
        import uuid

        values = column.storage.to_pylist()
        return pa.array([None if value is None else str(uuid.UUID(bytes=value)) for value in values])
    if source.element is not None or pa.types.is_decimal(held):
        return column
    if (pa.types.is_timestamp(held) or pa.types.is_time(held)) and held.unit == "ns":
        return _round_nanoseconds(column, source)
    return column if held == source.arrow else pc.cast(column, source.arrow, safe=not pa.types.is_temporal(held))


def _round_nanoseconds(column: pa.Array, source: SqlType) -> pa.Array:
    """Rounds to microseconds, halves up, as `storage.files` does."""
    nanoseconds = pc.fill_null(column.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(np.floor_divide(nanoseconds + 500, 1000), pa.int64(), mask=mask).view(source.arrow)


# ---- numbers


def _cast_number(column: pa.Array, source: SqlType, type_: SqlType) -> ConvertedColumn:
    if type_.name in INTEGERS:
        return _to_integer(column, type_)
    if type_.name in FLOATS:
        found = pc.cast(column, type_.arrow, safe=False)
        if source.name == "float8" and type_.name == "float4":
            lost = pc.and_(pc.is_inf(found), pc.invert(pc.is_inf(column)))
            return _reject(found, lost, lambda value: f'"{value}" is out of range for type real', column)
        return ConvertedColumn(found)
    return _to_numeric(column, source, type_)


def _to_integer(column: pa.Array, type_: SqlType) -> ConvertedColumn:
    if not pa.types.is_integer(column.type):
        mode = "half_to_even" if pa.types.is_floating(column.type) else "half_towards_infinity"
        column = pc.round(column, round_mode=mode)
    try:
        return ConvertedColumn(pc.cast(column, type_.arrow))
    except pa.ArrowInvalid:
        pass
    bits = type_.arrow.bit_width
    fits = [
        value is None or (value == value and -(1 << (bits - 1)) <= value < 1 << (bits - 1))
        for value in column.to_pylist()
    ]
    wrong = pa.array([not fit for fit in fits])
    kept = pc.if_else(wrong, pa.scalar(None, column.type), column)
    return _reject(pc.cast(kept, type_.arrow), wrong, lambda _: f"{type_.plain} out of range", column)


def _reject(values: pa.Array, wrong: pa.Array, message: Callable[[Any], str], column: pa.Array) -> ConvertedColumn:
    """Adds 22003 for the rows that are `wrong`."""
    wrong = pc.fill_null(wrong, False)
    rows = np.flatnonzero(wrong.to_numpy(zero_copy_only=False)).tolist()
    values = pc.if_else(wrong, pa.scalar(None, values.type), values)
    return ConvertedColumn(values, [(row, NumericOutOfRange(message(column[row].as_py()))) for row in rows])


def _to_numeric(column: pa.Array, source: SqlType, type_: SqlType) -> ConvertedColumn:
    if source.name in FLOATS:
        found = None if type_.is_carried else recover_decimals(type_, pc.cast(column, pa.float64()))
        if found is not None:
            return ConvertedColumn(found)
        values = [None if value is None else _to_decimal(value, source) for value in column.to_pylist()]
        return _fit_numerics(type_, values)
    if not type_.is_carried:
        scale = type_.numeric_digits[1]
        try:
            if pa.types.is_decimal(column.type) and column.type.scale > scale:
                column = pc.round(column, ndigits=scale, round_mode="half_towards_infinity")
            return ConvertedColumn(pc.cast(column, type_.arrow))
        except pa.ArrowInvalid:
            pass
    return _fit_numerics(type_, [None if v is None else Decimal(v) for v in column.to_pylist()])


def _to_decimal(value: float, source: SqlType) -> Decimal:
    """Returns what PostgreSQL's cast keeps of a float: 15 digits, or 6 of a real."""
    return Decimal(f"{value:.{15 if source.name == 'float8' else 6}g}")


def _fit_numerics(type_: SqlType, values: list[Decimal | None]) -> ConvertedColumn:
    fitted: list[Decimal | None] = []
    errors: list[tuple[int, GpudbError]] = []
    for row, value in enumerate(values):
        made = None
        if value is not None:
            try:
                made = fit_numeric(type_, value)
                check_representable(type_, made)
            except GpudbError as error:
                errors.append((row, error))
                made = None
        fitted.append(made)
    return ConvertedColumn(to_arrow_array(type_, fitted), errors)


# ---- moments


def _cast_moment(column: pa.Array, source: SqlType, type_: SqlType, clock: Clock) -> ConvertedColumn:
    if source.name == type_.name and type_.modifier == -1:
        return ConvertedColumn(column)
    pair = source.name, type_.name
    if type_.modifier == -1 and pair == ("timestamp", "date"):
        timestamps = pc.fill_null(column.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
        if (np.abs(timestamps) < _LAST_MOMENT).all():
            mask = pc.is_null(column).to_numpy(zero_copy_only=False)
            return ConvertedColumn(pa.array((timestamps // DAY).astype(np.int32), mask=mask).view(pa.date32()))
    if "time" in pair and source.name != type_.name:
        raise _mismatch_error(column.type, type_)
    if type_.modifier == -1 and pair == ("date", "timestamp"):
        days = pc.cast(column.view(pa.int32()), pa.int64())
        inside = pc.and_(pc.greater_equal(days, FIRST_MOMENT // DAY), pc.less(days, _LAST_MOMENT // DAY))
        if pc.all(inside).as_py() is not False:
            return ConvertedColumn(pc.multiply(days, DAY).view(pa.timestamp("us")))
    # The other casts depend on zones and precision: they go through text, which handles both.
    with use_style():
        text = format_text_column(source, column, clock.zone)
    return convert_text(type_, text, replace(clock, style=DateTimeStyle()))


def _cast_list(column: pa.Array, type_: SqlType, clock: Clock) -> ConvertedColumn:
    element = type_.element
    assert element is not None
    lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(column) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    items = _cast(column.flatten(), element, clock)
    mask = pc.is_null(column) if column.null_count else None
    made = pa.ListArray.from_arrays(pa.array(offsets), items.values, type=type_.arrow, mask=mask)
    rows = np.searchsorted(offsets, [place for place, _ in items.errors], side="right") - 1
    return ConvertedColumn(made, [(row, error) for row, (_, error) in zip(rows.tolist(), items.errors)])

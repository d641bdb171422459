"""Converts Python values, as `values.parse_text` and `parse_binary` return them, to Arrow columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import FeatureNotSupported, NumericOutOfRange, SqlError, numeric_overflow
from gpudb.types import SqlType
from gpudb.values import calendar
from gpudb.values.array import count_dimensions
from gpudb.values.inet import parse_network_key
from gpudb.values.interval import Interval
from gpudb.values.multirange import Multirange
from gpudb.values.range import Range, pack_scales, to_bounds
from gpudb.values.timetz import timetz_to_key
from gpudb.values.wide_numerics import encode_column

_MONTHS_LIMIT, _MICROSECONDS_LIMIT = 1 << 31, ((1 << 63) - 1) // 1000


def check_representable(type_: SqlType, value: object) -> None:
    """Raises 22003, 22008 or 0A000 for a value that a column of its type cannot hold."""
    if isinstance(value, Decimal) and type_.wide:
        return
    if isinstance(value, Decimal) and not value.is_finite():
        raise numeric_overflow(finite=False)
    if isinstance(value, Decimal) and type_.is_carried:
        precision, scale = type_.numeric_digits
        if -int(value.as_tuple().exponent) > scale or (value and value.adjusted() >= precision - scale):
            raise NumericOutOfRange(
                "value overflows numeric format",
                hint=f"A numeric without a declared scale holds {precision - scale} digits before the point"
                f" and {scale} after it.",
            )
    elif isinstance(value, Interval):
        if abs(value.microseconds) > _MICROSECONDS_LIMIT or abs(value.months) >= _MONTHS_LIMIT:
            raise SqlError.of("interval_field_overflow", "interval out of range")
    elif isinstance(value, tuple) and type_.name != "vector":
        for (_, item), field in zip(type_.fields, value, strict=True):
            check_representable(item, field)
    elif isinstance(value, Range) and type_.subtype is not None:
        check_representable(type_.subtype, value.lower)
        check_representable(type_.subtype, value.upper)
    elif isinstance(value, Multirange) and type_.range_type is not None:
        for range_ in value:
            check_representable(type_.range_type, range_)
    elif isinstance(value, list) and type_.element is not None:
        if value and count_dimensions(value) != type_.dims:
            dimensions = count_dimensions(value)
            raise FeatureNotSupported(
                f"an array of {dimensions} dimensions in a column of arrays of {type_.dims} is not supported"
            )
        for item in value:
            check_representable(type_.item or type_.element, item)


def to_arrow_array(type_: SqlType, values: Sequence[Any]) -> pa.Array:
    """Returns the values as an array of `type_.arrow`, None as NULL; each must pass `check_representable`."""
    if type_.item is not None:
        return _convert_lists(type_, values)
    if type_.fields:
        return _convert_records(type_, values)
    if type_.subtype is not None:
        return _convert_ranges(type_, values)
    if type_.wide:
        return encode_column(values, type_)
    convert = _CONVERTERS.get("carried" if type_.is_carried else type_.name)
    if convert is not None:
        return convert(type_, values)
    return pa.array(values, type_.arrow)


def to_arrow_scalar(type_: SqlType, value: object) -> pa.Array:
    """Returns one value as an array of length 1."""
    check_representable(type_, value)
    return to_arrow_array(type_, [value])


Convert = Callable[[SqlType, Sequence[Any]], pa.Array]


def _convert_through_integers(dtype: Any, to_integer: Callable[[Any], int]) -> Convert:
    """Converts dates and times through integers, since Arrow's own conversion supports neither infinity nor 24:00."""

    def convert(type_: SqlType, values: Sequence[Any]) -> pa.Array:
        mask = np.fromiter((value is None for value in values), bool, len(values))
        numbers = np.fromiter((0 if value is None else to_integer(value) for value in values), dtype, len(values))
        return pa.array(numbers, mask=mask).view(type_.arrow)

    return convert


def _convert_numerics(type_: SqlType, values: Sequence[Decimal | None]) -> pa.Array:
    arrow_type = type_.arrow
    scales = [None if value is None else max(0, -int(value.as_tuple().exponent)) for value in values]
    mask = pa.array([value is None for value in values], pa.bool_())
    numbers = pa.array(values, arrow_type.field("v").type)
    members = [numbers, pa.array(scales, pa.int8())]
    return pa.StructArray.from_arrays(members, fields=list(arrow_type), mask=mask)


def _convert_intervals(type_: SqlType, values: Sequence[Interval | None]) -> pa.Array:
    parts = [None if v is None else (v.months, v.days, v.microseconds * 1000) for v in values]
    return pa.array(parts, type_.arrow)


def _convert_networks(type_: SqlType, values: Sequence[str | None]) -> pa.Array:
    return pa.array([None if value is None else parse_network_key(type_, value) for value in values], pa.binary())


def _convert_uuids(type_: SqlType, values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _convert_records(type_: SqlType, values: Sequence[tuple[object, ...] | None]) -> pa.Array:
    columns = [
        to_arrow_array(item, [None if value is None else value[index] for value in values])
        for index, (_, item) in enumerate(type_.fields)
    ]
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(type_.arrow), mask=mask)


def _convert_ranges(type_: SqlType, values: Sequence[Range | None]) -> pa.Array:
    arrow_type = type_.arrow_value
    bounds = [((None, None, None),) * 2 if value is None else to_bounds(value) for value in values]
    mask = pa.array([value is None for value in values], pa.bool_())
    bound_arrays = []
    for position, name in enumerate(("l", "u")):
        kinds, items, sides = zip(*(pair[position] for pair in bounds)) if bounds else ((), (), ())
        subtype = type_.subtype
        assert subtype is not None
        number = pa.array(items, subtype.arrow_value) if subtype.is_carried else to_arrow_array(subtype, items)
        fields = list(arrow_type.field(name).type)
        members = [pa.array(kinds, pa.int8()), number, pa.array(sides, pa.int8())]
        bound_arrays.append(pa.StructArray.from_arrays(members, fields=fields, mask=mask))
    ranges = pa.StructArray.from_arrays(bound_arrays, fields=list(arrow_type), mask=mask)
    if not type_.is_carried:
        return ranges
    scales = pa.array([None if value is None else pack_scales(value) for value in values], pa.int16())
    return pa.StructArray.from_arrays([ranges, scales], fields=list(type_.arrow), mask=mask)


def _convert_lists(type_: SqlType, values: Sequence[Sequence[Any] | None]) -> pa.Array:
    element = type_.item
    assert element is not None
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([0 if value is None else len(value) for value in values], out=offsets[1:])
    items = to_arrow_array(element, [item for value in values if value is not None for item in value])
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=type_.arrow, mask=mask)


_CONVERTERS: dict[str, Convert] = {
    "date": _convert_through_integers(np.int32, calendar.days_from_date),
    "time": _convert_through_integers(np.int64, calendar.microseconds_from_time),
    "timetz": _convert_through_integers(np.int64, timetz_to_key),
    "timestamp": _convert_through_integers(np.int64, calendar.microseconds_from_timestamp),
    "timestamptz": _convert_through_integers(np.int64, calendar.microseconds_from_timestamp),
    "carried": _convert_numerics,
    "interval": _convert_intervals,
    "uuid": _convert_uuids,
    "inet": _convert_networks,
    "cidr": _convert_networks,
}


_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


def round_decimals(values: pa.Array, scale: int) -> pa.Array:
    """Returns decimals with fewer decimals, rounded half away from zero.

    Arrow divides some values of more than 64 bits wrongly (9223372036752775501.0000000000000000 / 10¹⁵), so that what
    it returns is multiplied again: a difference, or a value to be rounded, is computed by Python.
    """
    kind = pa.decimal128(values.type.precision, scale)
    found = pc.cast(values, kind, safe=False)
    try:
        if pc.all(pc.equal(pc.cast(found, values.type), values)).as_py() is not False:
            return found
    except pa.ArrowInvalid:
        pass
    unit = Decimal(1).scaleb(-scale)
    rounded = [None if value is None else value.quantize(unit, context=_EXACT) for value in values.to_pylist()]
    return pa.array(rounded, kind)

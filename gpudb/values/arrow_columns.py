"""Converts Python values, as `values.parse_text` and `parse_binary` return them, to Arrow columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from gpudb.errors import FeatureNotSupported, NumericOutOfRange, SqlError
from gpudb.types import SqlType
from gpudb.values import calendar
from gpudb.values.array import depth
from gpudb.values.inet import network_key
from gpudb.values.interval import Interval
from gpudb.values.multirange import Multirange
from gpudb.values.range import Range, held_bounds, packed_scales
from gpudb.values.timetz import timetz_key

_MONTHS_LIMIT, _MICROSECONDS_LIMIT = 1 << 31, ((1 << 63) - 1) // 1000


def check_held(type_: SqlType, value: object) -> None:
    """Raises 22003, 22008 or 0A000 for a value that a column of its type cannot hold."""
    if isinstance(value, Decimal) and type_.carried:
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
    elif isinstance(value, tuple):
        for (_, item), field in zip(type_.fields, value, strict=True):
            check_held(item, field)
    elif isinstance(value, Range) and type_.subtype is not None:
        check_held(type_.subtype, value.lower)
        check_held(type_.subtype, value.upper)
    elif isinstance(value, Multirange) and type_.ranged is not None:
        for each in value:
            check_held(type_.ranged, each)
    elif isinstance(value, list) and type_.element is not None:
        if value and depth(value) != type_.dims:
            message = f"an array of {depth(value)} dimensions in a column of arrays of {type_.dims} is not supported"
            raise FeatureNotSupported(message)
        for item in value:
            check_held(type_.item or type_.element, item)


def held_array(type_: SqlType, values: Sequence[Any]) -> pa.Array:
    """Returns the values as an array of `type_.arrow`, None as NULL; each must pass `check_held`."""
    if type_.item is not None:
        return _lists(type_, values)
    if type_.fields:
        return _records(type_, values)
    if type_.subtype is not None:
        return _ranges(type_, values)
    convert = _CONVERTERS.get("carried" if type_.carried else type_.name)
    if convert is not None:
        return convert(type_, values)
    return pa.array(values, type_.arrow)


def held_scalar(type_: SqlType, value: object) -> pa.Array:
    """Returns one value as an array of length 1."""
    check_held(type_, value)
    return held_array(type_, [value])


Convert = Callable[[SqlType, Sequence[Any]], pa.Array]


def _integers(width: Any, number: Callable[[Any], int]) -> Convert:
    """Converts dates and times through integers, since Arrow's own conversion supports neither infinity nor 24:00."""

    def convert(type_: SqlType, values: Sequence[Any]) -> pa.Array:
        mask = np.fromiter((value is None for value in values), bool, len(values))
        numbers = np.fromiter((0 if value is None else number(value) for value in values), width, len(values))
        return pa.array(numbers, mask=mask).view(type_.arrow)

    return convert


def _moment(value: dt.datetime | str) -> int:
    return calendar.microseconds_of(value)


def _carried(type_: SqlType, values: Sequence[Decimal | None]) -> pa.Array:
    held = type_.arrow
    scales = [None if value is None else max(0, -int(value.as_tuple().exponent)) for value in values]
    mask = pa.array([value is None for value in values], pa.bool_())
    numbers = pa.array(values, held.field("v").type)
    members = [numbers, pa.array(scales, pa.int8())]
    return pa.StructArray.from_arrays(members, fields=list(held), mask=mask)


def _interval(type_: SqlType, values: Sequence[Interval | None]) -> pa.Array:
    parts = [None if v is None else (v.months, v.days, v.microseconds * 1000) for v in values]
    return pa.array(parts, type_.arrow)


def _network(type_: SqlType, values: Sequence[str | None]) -> pa.Array:
    return pa.array([None if value is None else network_key(type_, value) for value in values], pa.binary())


def _uuid(type_: SqlType, values: Sequence[Any]) -> pa.Array:
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _records(type_: SqlType, values: Sequence[tuple[object, ...] | None]) -> pa.Array:
    columns = [
        held_array(item, [None if value is None else value[place] for value in values])
        for place, (_, item) in enumerate(type_.fields)
    ]
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.StructArray.from_arrays(columns, fields=list(type_.arrow), mask=mask)


def _ranges(type_: SqlType, values: Sequence[Range | None]) -> pa.Array:
    held = type_.arrow_value
    bounds = [((None, None, None),) * 2 if value is None else held_bounds(value) for value in values]
    mask = pa.array([value is None for value in values], pa.bool_())
    sides = []
    for side, name in enumerate(("l", "u")):
        kinds, items, near = zip(*(each[side] for each in bounds)) if bounds else ((), (), ())
        subtype = type_.subtype
        assert subtype is not None
        number = pa.array(items, subtype.arrow_value) if subtype.carried else held_array(subtype, items)
        fields = list(held.field(name).type)
        members = [pa.array(kinds, pa.int8()), number, pa.array(near, pa.int8())]
        sides.append(pa.StructArray.from_arrays(members, fields=fields, mask=mask))
    made = pa.StructArray.from_arrays(sides, fields=list(held), mask=mask)
    if not type_.carried:
        return made
    scales = pa.array([None if value is None else packed_scales(value) for value in values], pa.int16())
    return pa.StructArray.from_arrays([made, scales], fields=list(type_.arrow), mask=mask)


def _lists(type_: SqlType, values: Sequence[Sequence[Any] | None]) -> pa.Array:
    element = type_.item
    assert element is not None
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([0 if value is None else len(value) for value in values], out=offsets[1:])
    items = held_array(element, [item for value in values if value is not None for item in value])
    mask = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=type_.arrow, mask=mask)


_CONVERTERS: dict[str, Convert] = {
    "date": _integers(np.int32, calendar.days_of),
    "time": _integers(np.int64, calendar.time_of),
    "timetz": _integers(np.int64, timetz_key),
    "timestamp": _integers(np.int64, _moment),
    "timestamptz": _integers(np.int64, _moment),
    "carried": _carried,
    "interval": _interval,
    "uuid": _uuid,
    "inet": _network,
    "cidr": _network,
}

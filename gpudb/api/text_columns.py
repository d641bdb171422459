"""Columns parsed from PostgreSQL's text form, as a server sends them, into gpudb's own Arrow types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import MAX_DIGITS, SqlType, exact_numeric, widen
from gpudb.types.facts import GEOMETRIC
from gpudb.values import Interval, parse_text
from gpudb.values.array import parse_array
from gpudb.values.arrow_columns import to_arrow_array
from gpudb.values.calendar import days_from_date, microseconds_from_time, microseconds_from_timestamp
from gpudb.values.half_vectors import parse_half_vector_column
from gpudb.values.vectors import parse_vector_column

Texts = Sequence[str | None]


def parse_column(type_: SqlType, texts: Texts) -> tuple[SqlType, pa.Array]:
    """Returns a column and its type: the server's, with the actual digits of plain numerics.

    0A000 for a numeric that is NaN, infinite, or beyond 38 digits.
    """
    element = type_.element
    if element is not None:
        return _parse_arrays(element, texts)
    if type_.name == "numeric":
        return _parse_numerics(type_, texts)
    strings = pa.array(texts, pa.string())
    if type_.name == "bool":
        return type_, pc.equal(strings, "t")
    if (slow := _CONVERTERS.get(type_.name)) is not None:
        try:
            return type_, strings.cast(type_.arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return type_, slow(type_, texts)
    if (
        type_.subtype is not None
        or type_.range_type is not None
        or type_.name in {"timetz", "tid", "money", "inet", "cidr"}
    ):
        return type_, to_arrow_array(type_, [None if text is None else parse_text(type_, text) for text in texts])
    if type_.name == "vector":
        return type_, parse_vector_column(type_, strings)
    if type_.name == "halfvec":
        return type_, parse_half_vector_column(type_, strings)
    if type_.name in {"bytea", "matrix", "sparsevec", *GEOMETRIC}:
        values = [None if text is None else parse_text(type_, text) for text in texts]
        return type_, pa.array(values, type_.arrow)
    if type_.name == "bpchar":
        return type_, pc.utf8_rtrim(strings, " ")
    return type_, strings if pa.types.is_string(type_.arrow) else strings.cast(type_.arrow)


def _parse_numerics(type_: SqlType, texts: Texts) -> tuple[SqlType, pa.Array]:
    strings = pa.array(texts, pa.string())
    if type_.wide:
        return type_, to_arrow_array(type_, [None if text is None else parse_text(type_, text) for text in texts])
    try:
        if not type_.is_carried:
            return type_, strings.cast(type_.arrow)
        before, scales = _count_digits(strings)
        widest = int(pc.max(scales).as_py() or 0)
        kind = exact_numeric(min(MAX_DIGITS, int(pc.max(before).as_py() or 1) + widest), widest, varying=True)
        decimal_type = pa.decimal128(*kind.numeric_digits)
        values = [strings.cast(decimal_type), scales.cast(pa.int8())]
        return kind, pa.StructArray.from_arrays(values, fields=list(kind.arrow), mask=strings.is_null())
    except pa.ArrowInvalid:
        return _parse_numerics(widen(type_), texts)


def _count_digits(strings: pa.StringArray) -> tuple[pa.Array, pa.Array]:
    """Returns the largest number of digits (signs counted) before the point and after it."""
    point = pc.find_substring(strings, ".")
    length = pc.utf8_length(strings)
    none = pc.less(point, 0)
    after = pc.if_else(none, 0, pc.subtract(pc.subtract(length, point), 1))
    return pc.if_else(none, length, point), after


def _parse_arrays(element: SqlType, texts: Texts) -> tuple[SqlType, pa.Array]:
    rows = [None if text is None else parse_array(text, lambda item: item, element.delimiter) for text in texts]
    leaves: list[str | None] = []
    for row in rows:
        _collect_leaves(row or [], leaves)
    kind, values = parse_column(element, leaves)
    depth = max((_get_depth(row) for row in rows if row), default=1)
    level: Any = rows
    layers = []
    for _ in range(depth):
        offsets = [0]
        below: list[Any] = []
        for row in level:
            below += row or []
            offsets.append(len(below))
        layers.append((offsets, [row is None for row in level]))
        level = below
    for offsets, missing in reversed(layers):
        values = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, mask=pa.array(missing, pa.bool_()))
        kind = kind.array
    return kind, values


def _collect_leaves(row: list[Any], leaves: list[str | None]) -> None:
    for item in row:
        if isinstance(item, list):
            _collect_leaves(item, leaves)
        else:
            leaves.append(item)


def _get_depth(row: list[Any]) -> int:
    return 1 + (_get_depth(row[0]) if isinstance(row[0], list) and row[0] else 0)


def _make_converter(convert: Callable[[Any], object]) -> Callable[[SqlType, Texts], pa.Array]:
    def convert_column(type_: SqlType, texts: Texts) -> pa.Array:
        values = [None if text is None else convert(parse_text(type_, text)) for text in texts]
        arrow_type = type_.arrow
        if pa.types.is_date(arrow_type):
            return pa.array(values, pa.int32()).view(arrow_type)
        if pa.types.is_timestamp(arrow_type) or pa.types.is_time(arrow_type):
            return pa.array(values, pa.int64()).view(arrow_type)
        return pa.array(values, arrow_type)

    return convert_column


def _parse_intervals(type_: SqlType, texts: Texts) -> pa.Array:
    parts = np.zeros(len(texts), np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")]))
    for index, text in enumerate(texts):
        if text is not None:
            value = parse_text(type_, text)
            assert isinstance(value, Interval)
            parts[index] = value.months, value.days, value.microseconds * 1000
    valid = np.array([text is not None for text in texts], np.bool_)
    mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type_.arrow, len(texts), [mask, pa.py_buffer(parts)])


def _keep(value: object) -> object:
    return value


# Arrow's cast is tried first; values that it rejects (infinity, years beyond 9999) are parsed one by one.
_CONVERTERS: dict[str, Callable[[SqlType, Texts], pa.Array]] = {
    "float4": _make_converter(_keep),
    "float8": _make_converter(_keep),
    "date": _make_converter(days_from_date),
    "time": _make_converter(microseconds_from_time),
    "timestamp": _make_converter(microseconds_from_timestamp),
    "timestamptz": _make_converter(microseconds_from_timestamp),
    "interval": _parse_intervals,
}

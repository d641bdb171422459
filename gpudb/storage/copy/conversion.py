"""Converts columns of text to typed columns: vectorised for plain texts, else value by value.

A vectorised conversion accepts only texts that PostgreSQL reads as the same value, and otherwise returns None. Then
each distinct text goes through `values.parse_text`, which is PostgreSQL's input function, errors included.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.errors import NUMERIC_OVERFLOW, GpudbError
from gpudb.types import SqlType, widen
from gpudb.values.arrow_columns import check_representable, to_arrow_array
from gpudb.values.calendar import DAY
from gpudb.values.datetime_style import DateTimeStyle, get_style, use_style
from gpudb.values.half_vectors import parse_plain_half_column
from gpudb.values.text import parse_text
from gpudb.values.vectors import parse_plain_column
from gpudb.values.zone_columns import get_zone_offsets
from gpudb.values.zones import Zone, fixed_offset_zone, parse_session_zone

FIRST_DAY, FIRST_MOMENT = -719_162, -719_162 * DAY
"""0001-01-01: Arrow reads earlier years, which PostgreSQL writes differently."""

EXACT_DIGITS = 15
"""A decimal of up to this many digits is recovered exactly from the nearest double."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Context for texts of moments: the session's TimeZone, the transaction's start, and the style of this context,
    which processes that read texts take over.
    """

    zone: str = "UTC"
    now: dt.datetime | None = None
    style: DateTimeStyle = field(default_factory=get_style)


@dataclass(slots=True)
class ConvertedColumn:
    """A column, and the values that could not be read, as (row, error); those rows are NULL."""

    values: pa.Array
    errors: list[tuple[int, GpudbError]] = field(default_factory=list)


def convert_text(type_: SqlType, text: pa.StringArray, clock: Clock) -> ConvertedColumn:
    """Converts a column of text to the type's Arrow column."""
    quick = _VECTORISED.get(type_.name)
    if quick is not None:
        found = quick(type_, text, clock)
        if found is not None:
            return ConvertedColumn(found)
    with use_style(clock.style):
        return _convert_each(type_, text, clock)


def convert_any_text(type_: SqlType, text: pa.StringArray, clock: Clock) -> ConvertedColumn:
    """Converts a column of text to the type's Arrow column, or that of the wide form if numerics have no room in it."""
    converted = convert_text(type_, text, clock)
    if any(is_out_of_form(type_, error) for _, error in converted.errors):
        return convert_text(widen(type_), text, clock)
    return converted


def is_out_of_form(type_: SqlType, error: GpudbError) -> bool:
    """Whether an error is about a numeric that has no room in 128 bits, and has in the wide form."""
    is_numeric = type_.name.lstrip("_") == "numeric" and not type_.wide and type_.domain is None
    return is_numeric and error.sqlstate == "22003" and error.message == NUMERIC_OVERFLOW


def _convert_each(type_: SqlType, text: pa.StringArray, clock: Clock) -> ConvertedColumn:
    """Converts value by value; equal texts are converted once if there are many of them."""
    coded = text.dictionary_encode()
    if len(coded.dictionary) * 2 > len(text):
        return _parse_each(type_, text.to_pylist(), clock)
    made = _parse_each(type_, coded.dictionary.to_pylist(), clock)
    values = made.values.take(coded.indices)
    if not made.errors:
        return ConvertedColumn(values)
    wrong = dict(made.errors)
    indices = coded.indices.to_pylist()
    return ConvertedColumn(values, [(row, wrong[code]) for row, code in enumerate(indices) if code in wrong])


def _parse_each(type_: SqlType, texts: list[str | None], clock: Clock) -> ConvertedColumn:
    values: list[object] = []
    errors: list[tuple[int, GpudbError]] = []
    for row, text in enumerate(texts):
        value = None
        if text is not None:
            try:
                value = parse_text(type_, text, clock.zone, clock.now)
                check_representable(type_, value)
            except GpudbError as error:
                errors.append((row, error))
                value = None
        values.append(value)
    return ConvertedColumn(to_arrow_array(type_, values), errors)


# ---- numbers


def _parse_bools(_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    if _all_hold(pc.is_in(text, value_set=_bool_texts(), skip_nulls=True), text):
        return pc.equal(pc.utf8_slice_codeunits(text, 0, 1), "t")
    return None


@cache
def _bool_texts() -> pa.Array:
    # Not at import: pyarrow imports pandas, where it is installed, for the first list that becomes an array.
    return pa.array(["t", "f", "true", "false"])


def _parse_integers(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    try:
        values = pc.cast(text, type_.arrow)
    except pa.ArrowInvalid:
        return None
    # Arrow reads 0xFFFF as the negative number with these bits.
    if _minimum(values, 0) < 0 and pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py():
        return None
    return values


def _parse_floats(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    try:
        values = pc.cast(text, type_.arrow)
    except pa.ArrowInvalid:
        return None
    numbers = values.to_numpy(zero_copy_only=False)
    doubtful = np.isinf(numbers) | (numbers == 0)  # overflow and underflow raise errors of their own
    if doubtful.any():
        odd = text.filter(pa.array(doubtful))
        if not _all_hold(pc.match_substring_regex(odd, _NO_OVERFLOW), odd):
            return None
    return values


_NO_OVERFLOW = r"^[+-]?(0+(\.0*)?|\.0+|(?i:inf(inity)?))$"


def raw_numbers(column: pa.Array) -> npt.NDArray[Any]:
    """Returns a column's numbers without a copy, for integer, floating-point and moment types; undefined where it is
    NULL.
    """
    width = column.type.bit_width // 8
    kind = "f" if pa.types.is_floating(column.type) else "i"
    return np.frombuffer(column.buffers()[1], f"{kind}{width}", len(column), column.offset * width)


def recover_decimals(type_: SqlType, numbers: pa.Array) -> pa.Array | None:
    """Converts doubles, each the nearest to a decimal text, to the exact decimals; None if one may not be exact."""
    if numbers.null_count == len(numbers):
        return pa.nulls(len(numbers), pa.decimal128(*type_.numeric_digits))
    found = _recover_decimals(type_, numbers, None)
    if found is None and numbers.null_count:  # a NULL may hide any number
        found = _recover_decimals(type_, pc.fill_null(numbers, 0.0), numbers)
    return found


def _recover_decimals(type_: SqlType, numbers: pa.Array, nulls: pa.Array | None) -> pa.Array | None:
    precision, scale = type_.numeric_digits
    with np.errstate(over="ignore", invalid="ignore"):
        values = raw_numbers(numbers) * 10.0**scale
    whole = np.rint(values)
    # Too long for the type, or not finite; comparisons with NaN are false.
    if not (whole.max() < 10.0**precision and whole.min() > -(10.0**precision)):
        return None
    # Digits beyond the scale leave a remainder.
    values -= whole
    if not (values.max() < 1e-3 and values.min() > -1e-3):
        return None
    return build_decimals(type_, whole, _validity(numbers if nulls is None else nulls))


def _validity(column: pa.Array) -> pa.Buffer | None:
    if not column.null_count:
        return None
    return column.buffers()[0] if column.offset == 0 else pc.is_valid(column).buffers()[1]


def build_decimals(type_: SqlType, unscaled: npt.NDArray[np.generic], valid: pa.Buffer | None) -> pa.Array:
    """Returns whole numbers, each 10^scale times its value, as a column of a numeric(p,s); `valid` is its bitmap, if
    any.
    """
    words = np.empty((len(unscaled), 2), np.int64)
    words[:, 0] = unscaled
    np.right_shift(words[:, 0], 63, out=words[:, 1])
    return pa.Array.from_buffers(pa.decimal128(*type_.numeric_digits), len(unscaled), [valid, pa.py_buffer(words)])


def _parse_numerics(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    if type_.wide:
        return None
    if type_.is_carried:
        return _parse_carried(type_, text)
    if type_.numeric_digits[0] <= EXACT_DIGITS:
        try:
            found = recover_decimals(type_, pc.cast(text, pa.float64()))
        except pa.ArrowInvalid:
            return None
        if found is not None:
            return found
    return _parse_decimals(text, *type_.numeric_digits)


def _parse_decimals(text: pa.StringArray, precision: int, scale: int) -> pa.Array | None:
    """Arrow counts only a text's own digits: this leaves room for those that the scale adds."""
    plain = rf"^[+-]?[0-9]{{1,{precision - scale}}}(\.[0-9]{{0,{scale}}})?$" if precision > scale else None
    if plain is None or not _all_hold(pc.match_substring_regex(text, plain), text):
        return None
    try:
        return pc.cast(text, pa.decimal128(precision, scale))
    except pa.ArrowInvalid:
        return None


def _parse_carried(type_: SqlType, text: pa.StringArray) -> pa.Array | None:
    held = type_.arrow
    number = held.field("v").type
    values = _parse_decimals(text, number.precision, number.scale)
    if values is None:
        return None
    point = pc.find_substring(text, ".")
    digits = pc.subtract(pc.subtract(pc.binary_length(text), point), 1)
    scales = pc.cast(pc.if_else(pc.equal(point, -1), 0, digits), pa.int8())
    mask = pc.is_null(text) if text.null_count else None
    return pa.StructArray.from_arrays([values, scales], fields=list(held), mask=mask)


# ---- text


def check_length(type_: SqlType, text: pa.StringArray) -> pa.Array | None:
    """Returns the column as text, varchar(n) or char(n); None if a value is too long."""
    length = type_.length
    if length is not None and _max_bytes(text) > length:
        if _maximum(pc.utf8_length(text), 0) > length:
            return None
    if type_.name == "bpchar":
        return pc.utf8_rtrim(text, characters=" ")
    return text


def _max_bytes(text: pa.StringArray) -> int:
    """Returns an upper bound of the bytes of the longest text; NULLs may raise it."""
    if not len(text):
        return 0
    ends = np.frombuffer(text.buffers()[1], np.int32, len(text) + 1, text.offset * 4)
    return int((ends[1:] - ends[:-1]).max())


def _parse_uuids(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    lower = pc.ascii_lower(text)
    return lower if _all_hold(pc.match_substring_regex(lower, _PLAIN_UUID), text) else None


_PLAIN_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


def _parse_byteas(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    if not _all_hold(pc.match_substring_regex(text, r"^\\x(?:[0-9a-fA-F]{2})*$"), text):
        return None
    digits = pc.fill_null(pc.binary_replace_slice(pc.cast(text, pa.binary()), 0, 2, b""), b"")
    offsets = np.frombuffer(digits.buffers()[1], np.int32)[digits.offset :][: len(digits) + 1]
    data = bytes(digits.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    half = pa.py_buffer((offsets - offsets[0]) // 2)
    valid = pc.is_valid(text).buffers()[1] if text.null_count else None
    return pa.Array.from_buffers(pa.binary(), len(text), [valid, half, pa.py_buffer(bytes.fromhex(data.decode()))])


# ---- moments


def _parse_dates(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    try:
        values = pc.cast(text, pa.date32())
    except pa.ArrowInvalid:
        return None
    return values if _minimum(values.view(pa.int32()), 0) >= FIRST_DAY else None


def _parse_times(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    if type_.modifier != -1:
        return None
    # Arrow cannot cast to times of day, and reads `04` as an hour.
    if pc.any(pc.less(pc.binary_length(text), 5)).as_py():
        return None
    try:
        timestamps = pc.cast(pc.binary_join_element_wise("1970-01-01", text, " "), pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return timestamps.view(pa.int64()).view(pa.time64("us"))


def _parse_timestamps(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    # Arrow reads `2020-02-29 04` as four o'clock.
    if type_.modifier != -1 or pc.any(pc.equal(pc.binary_length(text), 13)).as_py():
        return None
    try:
        values = pc.cast(text, pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return values if _minimum(values.view(pa.int64()), 0) >= FIRST_MOMENT else None


def _parse_timestamptzs(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    if type_.modifier != -1:
        return None
    if _all_hold(pc.match_substring_regex(text, _WITH_OFFSET), text):
        try:
            values = pc.cast(text, pa.timestamp("us", "UTC"))
        except pa.ArrowInvalid:
            return None
    else:
        local = _parse_timestamps(type_, text, clock)
        values = None if local is None else _to_moments(local, parse_session_zone(clock.zone))
    if values is None or _minimum(values.view(pa.int64()), 0) < FIRST_MOMENT:
        return None
    return values


_WITH_OFFSET = r"^\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-](0\d|1[0-4])(:?[0-5]\d)?)$"


def _to_moments(local: pa.Array, zone: Zone) -> pa.Array | None:
    """Converts local times to moments; None near a change of the clocks, where a local time may be ambiguous."""
    if zone == fixed_offset_zone(0):
        return local.view(pa.timestamp("us", "UTC"))
    numbers = pc.fill_null(local.view(pa.int64()), 0).to_numpy(zero_copy_only=False)
    if len(numbers) and not numbers.min() >= FIRST_MOMENT + 2 * DAY:
        return None
    before, after = get_zone_offsets(zone, numbers - DAY), get_zone_offsets(zone, numbers + DAY)
    if (before != after).any():
        return None
    mask = pc.is_null(local).to_numpy(zero_copy_only=False) if local.null_count else None
    return pa.array(numbers - before * 1_000_000, mask=mask).view(pa.timestamp("us", "UTC"))


# ---- helpers


def _all_hold(flags: pa.Array, text: pa.Array) -> bool:
    """Returns whether a flag holds for every text that is not NULL."""
    return pc.all(pc.if_else(pc.is_null(text), True, flags) if text.null_count else flags).as_py() is not False


def _minimum(values: pa.Array, none: int) -> Any:
    found = pc.min(values).as_py()
    return none if found is None else found


def _maximum(values: pa.Array, none: int) -> Any:
    found = pc.max(values).as_py()
    return none if found is None else found


def _parse_texts(type_: SqlType, text: pa.StringArray, clock: Clock) -> pa.Array | None:
    return check_length(type_, text)


VectorisedConversion = Callable[[SqlType, pa.StringArray, Clock], pa.Array | None]
_VECTORISED: dict[str, VectorisedConversion] = {
    "bool": _parse_bools,
    "int2": _parse_integers,
    "int4": _parse_integers,
    "int8": _parse_integers,
    "float4": _parse_floats,
    "float8": _parse_floats,
    "numeric": _parse_numerics,
    "text": _parse_texts,
    "varchar": _parse_texts,
    "bpchar": _parse_texts,
    "bytea": _parse_byteas,
    "uuid": _parse_uuids,
    "vector": lambda type_, text, _: parse_plain_column(type_, text),
    "halfvec": lambda type_, text, _: parse_plain_half_column(type_, text),
    "date": _parse_dates,
    "time": _parse_times,
    "timestamp": _parse_timestamps,
    "timestamptz": _parse_timestamptzs,
}

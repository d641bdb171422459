"""DataRow messages of rows of short values, faster than by joining texts: integers, numerics and short texts.

All rows are encoded at once, as records of one layout in which each value has as many bytes as the longest of its
column. Bytes that a value lacks (leading zeros, a sign, letters) are `_BLANK`, which no message contains otherwise;
they are removed at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpudb.types import SqlType
from gpudb.types.facts import INTEGERS

Array = np.ndarray[Any, Any]

_MAX_ROW_BYTES = 160
"""Maximum bytes of a row: wider rows have too many bytes to remove, and no length may be as large as `_BLANK`."""
_MAX_TEXT_BYTES = 16
"""Maximum bytes of a text: longer ones are joined as fast."""
_MAX_ROWS = 8192
"""Maximum rows: more exceed the processor's caches, and joining texts is as fast."""
_MAX_NUMBER = (1 << 32) - 1
"""Maximum of a number: division of more than 32 bits is slow."""
_BLANK = 0xFE
"""A byte that occurs in no UTF-8, in no length up to `_MAX_ROW_BYTES`, and not in NULL's length (four times 0xFF)."""
_FOUR_BLANKS = 0xFEFEFEFE
_GROUP = 4
"""Digits that are looked up together."""
_UNIT = 10**_GROUP
_TENS = np.array([10**number for number in range(1, 20)], np.uint64)
_TEXTS = frozenset({"text", "varchar"})
_TYPES = INTEGERS | _TEXTS | {"numeric"}


class _Cells(NamedTuple):
    """A column's values: the fields of the records (a NumPy format, and the values by row or for all rows), and each
    value's length, or that of all. `blank` says whether bytes have to be removed.
    """

    fields: Sequence[tuple[str, Array | int]]
    lengths: Array | int
    blank: bool


def encode_narrow_rows(batch: pa.RecordBatch, types: Sequence[SqlType], formats: Sequence[int]) -> bytes | None:
    """Returns the messages of a batch; None for other types, many or wide rows, and binary format."""
    if any(formats) or not types or not 0 < batch.num_rows <= _MAX_ROWS:
        return None
    if any(type_.name not in _TYPES for type_ in types):
        return None
    size: Array | int = 6 + 4 * len(types)
    fields: list[tuple[str, Array | int]] = [("u1", ord("D")), (">i4", 0), (">i2", len(types))]
    blank, wide = False, 1
    for type_, column in zip(types, batch.columns, strict=True):
        column_cells = _make_cells(type_, column)
        if column_cells is None:
            return None
        cells, lengths, has_blanks = column_cells
        wide += sum(int(form[1:]) for form, _ in cells)
        if wide + 6 + 4 * len(types) > _MAX_ROW_BYTES:
            return None
        fields.append((">i4", lengths))
        fields += cells
        blank = blank or has_blanks
        size = size + (np.maximum(lengths, 0) if column.null_count else lengths)
    fields[1] = ">i4", size
    records = np.empty(batch.num_rows, _make_layout(tuple(form for form, _ in fields)))
    for name, (_, values) in zip(records.dtype.names or (), fields, strict=True):
        records[name] = values
    encoded = records.tobytes()
    return encoded.translate(None, bytes((_BLANK,))) if blank else encoded


@lru_cache(1024)
def _make_layout(forms: tuple[str, ...]) -> np.dtype[Any]:
    return np.dtype([(f"f{at}", form) for at, form in enumerate(forms)])


def _make_cells(type_: SqlType, column: pa.Array) -> _Cells | None:
    """Returns a column's values; None if one is too long."""
    valid = pc.is_valid(column).to_numpy(zero_copy_only=False) if column.null_count else None
    cells = None
    if type_.name in INTEGERS and pa.types.is_integer(column.type):
        filled = column if valid is None else pc.fill_null(column, 0)
        cells = _encode_decimals(filled.to_numpy().astype(np.int64, copy=False), 0)
    elif type_.name == "numeric" and pa.types.is_decimal128(column.type) and column.type.scale >= 0:
        values = _get_unscaled(column, valid)
        cells = None if values is None else _encode_decimals(values, column.type.scale)
    elif type_.name in _TEXTS and column.type == pa.string():
        cells = _encode_texts(column)
    if cells is None or valid is None:
        return cells
    fields = [(form, _blank_nulls(values, valid)) for form, values in cells.fields]
    return _Cells(fields, np.where(valid, cells.lengths, -1), True)


def _blank_nulls(values: Array | int, valid: Array) -> Array:
    """Returns a field that is blank in the rows whose value is NULL."""
    if isinstance(values, int):
        return np.where(valid, np.uint8(values), np.uint8(_BLANK))
    blanked = values.copy()
    blanked.view(np.uint8).reshape(len(blanked), -1)[~valid] = _BLANK
    return blanked


def _get_unscaled(column: pa.Array, valid: Array | None) -> Array | None:
    """Returns unscaled decimals, if they fit 64 bits."""
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset : column.offset + len(column)]
    values = halves[:, 0] if valid is None else np.where(valid, halves[:, 0], 0)
    fits = halves[:, 1] == halves[:, 0] >> 63
    return values if (fits if valid is None else fits | ~valid).all() else None


def _encode_texts(column: pa.Array) -> _Cells | None:
    """Returns texts unchanged; None if one is too long or not a text."""
    count = len(column)
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int32, count + 1, 4 * column.offset)
    start, end = int(ends[0]), int(ends[-1])
    lengths = ends[1:] - ends[:-1]
    width = int(np.maximum.reduce(lengths))
    if width > _MAX_TEXT_BYTES:
        return None
    if not width:
        return _Cells([], 0, False)
    letters = memoryview(data)[start:end]
    if bytes((_BLANK,)) in bytes(letters):
        return None
    form = f"V{width}"
    if end - start == count * width:
        return _Cells([(form, np.frombuffer(letters, form))], width, False)
    cells = np.full((count, width), _BLANK, np.uint8)
    cells[np.arange(width, dtype=np.int32) < lengths[:, None]] = np.frombuffer(letters, np.uint8)
    return _Cells([(form, cells.view(form).reshape(count))], lengths, True)


def _encode_decimals(values: Array, scale: int) -> _Cells:
    """Formats integers as decimals of a scale: a sign, digits in groups of four, a point."""
    minimum, maximum = int(np.minimum.reduce(values)), int(np.maximum.reduce(values))
    signed = minimum < 0
    rest = (np.abs(values) if signed else values).view(np.uint64)
    low, top = (max(-maximum, 0), max(-minimum, maximum)) if signed else (minimum, maximum)
    fields: list[tuple[str, Array | int]] = []
    for digits in [_GROUP] * (scale // _GROUP) + [scale % _GROUP] * (scale % _GROUP > 0):
        rest, group = _divide(rest, top, 10**digits)
        low, top = low // 10**digits, top // 10**digits
        fields.append(("u4", _make_fraction_table(digits).take(group)))
    if scale:
        fields.append(("u1", ord(".")))
    lengths = _count_digits(rest, low, top)
    blank = signed or scale % _GROUP > 0 or len(str(top)) % _GROUP > 0 or not isinstance(lengths, int)
    table = _make_group_table(b"0")
    while top >= _UNIT:
        rest, group = _divide(rest, top, _UNIT)
        low, top = low // _UNIT, top // _UNIT
        # after a nonzero group all four digits are written
        fields.append(("u4", table.take(group + np.uint32(_UNIT) if low else group + (rest > 0) * np.uint32(_UNIT))))
        table = _make_group_table(b"")
    fields.append(("u4", table.take(rest)))
    extra = scale + 1 if scale else 0
    if signed:
        negative = values < 0
        fields.append(("u1", np.where(negative, np.uint8(ord("-")), np.uint8(_BLANK))))
        lengths = lengths + negative
    return _Cells(fields[::-1], lengths + extra, blank)


def _divide(values: Array, top: int, unit: int) -> tuple[Array, Array]:
    """Returns quotients and remainders of numbers up to `top`."""
    if top <= _MAX_NUMBER and values.dtype != np.uint32:
        values = values.astype(np.uint32)
    quotients = values // values.dtype.type(unit)
    return quotients, (values - quotients * values.dtype.type(unit)).astype(np.uint32, copy=False)


def _count_digits(values: Array, low: int, top: int) -> Array | int:
    """Returns the numbers of digits of numbers from `low` to `top`."""
    digits = len(str(top))
    if digits == len(str(low)):
        return digits
    counts: Array = _TENS.searchsorted(values, side="right") + 1
    return counts


@cache
def _make_group_table(zero: bytes) -> Array:
    """Returns the digits of four-digit groups: without leading zeros, `zero` for zero; from `_UNIT` on with leading
    zeros.
    """
    short = [zero, *(b"%d" % number for number in range(1, _UNIT))]
    return np.concatenate([_pack_texts(short), _make_fraction_table(_GROUP)])


@cache
def _make_fraction_table(digits: int) -> Array:
    """Returns every number of a number of digits, with leading zeros."""
    return _pack_texts([b"%0*d" % (digits, number) for number in range(10**digits)])


def _pack_texts(texts: Sequence[bytes]) -> Array:
    return np.frombuffer(b"".join(text.rjust(_GROUP, bytes((_BLANK,))) for text in texts), np.uint32)

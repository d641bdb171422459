"""Packed columns: values as byte-aligned distances from a base, the same layout on host and GPU.

A value is `base + unit * stored`, where `stored` is an unsigned little-endian integer of 1, 2, 3, 4 or 8 bytes. Floats
are stored unchanged. Text is stored as dictionary codes, or as raw text (see `text_columns`). A validity bitmap, least
significant bit first, has a 1 for each value that is not NULL. Rows are padded to a multiple of 64, so that a thread
loads a whole group of rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.columns import text_columns as texts
from gpudb.engine.gpu.fused.columns.text_columns import Texts
from gpudb.engine.gpu.fused.columns.zones import Zones, together, zones_of
from gpudb.values.calendar import DAY

ROWS = 64
"""A column is padded to a multiple of this many rows."""
UNITS = (DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 100, 10)
_SAMPLE = 4096
_AT_ONCE = 1 << 26


@dataclass(frozen=True, slots=True)
class Form:
    """A column's encoding, which a kernel is specialized for.

    Bytes per value, the unit between values, and flags: floats, NULLs, raw text (whose values are end offsets).
    """

    width: int
    unit: int = 1
    real: bool = False
    nullable: bool = False
    text: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PackedColumn:
    """A column of `rows` values. `data` and `valid` are byte arrays of NumPy or CuPy; `low` and `high` bound the
    values.

    `low` and `high` are None for floats and where no value is valid. Floats have no `zones`. `data` is None for raw
    text.
    """

    form: Form
    base: int
    rows: int
    data: Any
    valid: Any
    low: int | None
    high: int | None
    zones: Zones | None = None
    texts: Texts | None = None

    @property
    def bytes(self) -> int:
        """Bytes that a kernel reads; for a slice of raw text a share proportional to its rows."""
        size = self.rows * self.form.width + (self.rows // 8 if self.form.nullable else 0)
        return size + (self.texts.size * self.rows // max(len(self.texts.ends), 1) if self.texts is not None else 0)

    def on(self, xp: Any) -> PackedColumn:
        """Returns the column in memory of the GPU (`cupy`) or the host (`numpy`)."""
        moved = (None if each is None else xp.asarray(each) for each in (self.data, self.valid))
        data, valid = moved
        return replace(self, data=data, valid=valid, texts=None if self.texts is None else self.texts.on(xp))

    def values(self, first: int = 0, last: int | None = None, xp: Any = np) -> tuple[Any, Any]:
        """Decodes values to int64 or float64, with their validity mask (None: all valid); NULLs decode to any value."""
        last = self.rows if last is None else last
        width, form = self.form.width, self.form
        there = None if self.valid is None else _bits(self.valid, first, last, xp)
        if form.text:
            return xp.zeros(last - first, np.int64), there
        raw = self.data[first * width : last * width]
        if form.real:
            made = raw.view(np.float32 if width == 4 else np.float64).astype(np.float64)
        elif width == 3:
            parts = raw.reshape(-1, 3).astype(np.int64)
            made = self.base + form.unit * (parts[:, 0] | parts[:, 1] << 8 | parts[:, 2] << 16)
        else:
            made = raw.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.int64}[width]).astype(np.int64)
            made = self.base + form.unit * made
        return made, there


def pack(values: Any, valid: Any = None, xp: Any = np, *, width: int | None = None) -> PackedColumn:
    """Packs int64, float32 or float64 values; `valid` is a boolean mask, or None where none is NULL.

    Source of the idea: frame of reference with a common divisor, byte-aligned (Lemire, Boytsov 2015).
    """
    rows = len(values)
    nullable = valid is not None and not bool(valid.all())
    bitmap = _bitmap(valid, xp) if nullable else None
    if values.dtype.kind == "f":
        form = Form(values.dtype.itemsize, 1, True, nullable)
        return PackedColumn(form, 0, rows, _padded(values.view(np.uint8), rows, form.width, xp), bitmap, None, None)
    zones = zones_of(values, valid if nullable else None, xp)
    if zones.bounds is None:
        form = Form(1, 1, False, nullable)
        return PackedColumn(form, 0, rows, xp.zeros(length_of(rows, 1), np.uint8), bitmap, None, None, zones)
    low, high = zones.bounds
    known = values[valid] if nullable else values

    def divides(base: int, unit: int) -> bool:
        few = bool(((known[:_SAMPLE] - base) % unit).any())
        return not few and not bool(((known - base) % unit).any())

    base, unit, width = stored_as(low, high, divides) if width is None else (0 if width == 8 else low, 1, width)
    stored = (values - base) // unit if unit > 1 else values - base
    if nullable:
        stored = xp.where(valid, stored, 0)
    form = Form(width, unit, False, nullable)
    return PackedColumn(form, base, rows, _padded(_narrow(stored, width), rows, width, xp), bitmap, low, high, zones)


def packed_texts(made: Texts, rows: int, valid: Any = None, xp: Any = np) -> PackedColumn:
    """Wraps raw text as a column; `valid` is a boolean mask, or None where none is NULL."""
    nullable = valid is not None and not bool(valid.all())
    bitmap = _bitmap(valid, xp) if nullable else None
    return PackedColumn(Form(4, 1, False, nullable, True), 0, rows, None, bitmap, None, None, None, made)


def joined(parts: Sequence[PackedColumn], xp: Any = np) -> PackedColumn:
    """Concatenates columns of one type."""
    if len(parts) == 1:
        return parts[0]
    rows, nullable = sum(part.rows for part in parts), any(part.form.nullable for part in parts)
    if parts and parts[0].form.text:
        held = texts.together([(part.rows, part.texts) for part in parts if part.texts is not None], xp)
        bits = [part.values(0, None, xp)[1] for part in parts] if nullable else []
        masks = [xp.ones(part.rows, bool) if each is None else each for part, each in zip(parts, bits, strict=False)]
        return packed_texts(held, rows, xp.concatenate(masks) if nullable else None, xp)
    form, base, low, high = form_of_all(parts)
    width, unit, real = form.width, form.unit, form.real
    data = xp.zeros(length_of(rows, width), np.uint8)
    there = xp.ones(rows, bool) if nullable else None
    start = 0
    for part in parts:
        for first in range(0, part.rows, _AT_ONCE):
            last = min(first + _AT_ONCE, part.rows)
            to = slice((start + first) * width, (start + last) * width)
            if real:
                data[to] = part.data[first * width : last * width]
            elif part.low is not None:
                values, valid = part.values(first, last, xp)
                stored = (values - base) // unit if unit > 1 else values - base
                data[to] = _narrow(stored if valid is None else xp.where(valid, stored, 0), width)
            if there is not None and part.form.nullable:
                there[start + first : start + last] = _bits(part.valid, first, last, xp)
        start += part.rows
    zones = together([(part.rows, part.zones) for part in parts])
    return PackedColumn(form, base, rows, data, None if there is None else _bitmap(there, xp), low, high, zones)


def form_of_all(parts: Sequence[PackedColumn]) -> tuple[Form, int, int | None, int | None]:
    """Returns the encoding, base, least and greatest value of several columns concatenated.

    The columns have one type, and are not raw text.
    """
    known = [(part, part.low, part.high) for part in parts if part.low is not None and part.high is not None]
    real, nullable = bool(parts) and parts[0].form.real, any(part.form.nullable for part in parts)
    low = min((low for _, low, _ in known), default=None)
    high = max((high for _, _, high in known), default=None)
    if low is None or high is None:
        return Form(parts[0].form.width if real else 1, 1, real, nullable), 0, None, None

    def divides(base: int, unit: int) -> bool:
        return all(
            (part.low == part.high or part.form.unit % unit == 0) and (least - base) % unit == 0
            for part, least, _ in known
        )

    base, unit, width = stored_as(low, high, divides)
    return Form(width, unit, real, nullable), base, low, high


def stored_as(low: int, high: int, divides: Callable[[int, int], bool]) -> tuple[int, int, int]:
    """Chooses base, unit and width for values between two bounds.

    `divides` says whether all values are a whole number of units away from a base.
    """
    steps = ((base, unit) for base, unit in _candidates(low, high) if divides(base, unit))
    base, unit = next(steps, (low, 1)) if high - low >= 256 else (low, 1)
    width = _width((high - base) // unit)
    return (0, 1, 8) if width == 8 else (base, unit, width)


def _candidates(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Yields candidate bases and units whose distances fit 64 bits.

    Timestamps count from a midnight, so that computing their days needs no 64-bit arithmetic.
    """
    for unit in UNITS:
        base = low // DAY * DAY if unit >= 1_000_000 else low
        if base >= -(2**63) and high - base < 2**63:
            yield base, unit


def _width(top: int) -> int:
    return next(each for each in (1, 2, 3, 4, 8) if top < 256**each - (each == 4))


def _narrow(stored: Any, width: int) -> Any:
    if width == 3:
        return stored.astype(np.uint32).view(np.uint8).reshape(-1, 4)[:, :3].reshape(-1)
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.int64}[width]
    return stored.astype(kind).view(np.uint8)


def length_of(rows: int, width: int) -> int:
    return -(-max(rows, 1) // ROWS) * ROWS * width


def _padded(data: Any, rows: int, width: int, xp: Any) -> Any:
    made = xp.zeros(length_of(rows, width), np.uint8)
    made[: len(data)] = data
    return made


def _bitmap(valid: Any, xp: Any) -> Any:
    made = xp.zeros(length_of(len(valid), 1) // 8, np.uint8)
    packed = xp.packbits(valid, bitorder="little")
    made[: len(packed)] = packed
    return made


def _bits(bitmap: Any, first: int, last: int, xp: Any) -> Any:
    rows = xp.arange(first, last)
    return (bitmap[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 == 1

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
from gpudb.engine.gpu.fused.columns.text_columns import RawText
from gpudb.engine.gpu.fused.columns.zones import Zones, compute_zones, concatenate_zones
from gpudb.values.calendar import DAY

ROW_PADDING = 64
"""A column is padded to a multiple of this many rows."""
UNITS = (DAY, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 100, 10)
_SAMPLED_ROWS = 4096
_COPIED_ROWS = 1 << 26


@dataclass(frozen=True, slots=True)
class Encoding:
    """A column's encoding, which a kernel is specialized for.

    Bytes per value, the unit between values, and flags: floats, NULLs, raw text (whose values are end offsets).
    """

    width: int
    unit: int = 1
    is_float: bool = False
    nullable: bool = False
    is_text: bool = False


@dataclass(frozen=True, slots=True, weakref_slot=True)
class PackedColumn:
    """A column of `rows` values. `data` and `valid` are byte arrays of NumPy or CuPy; `low` and `high` bound the
    values.

    `low` and `high` are None for floats and where no value is valid. Floats have no `zones`. `data` is None for raw
    text.
    """

    encoding: Encoding
    base: int
    rows: int
    data: Any
    valid: Any
    low: int | None
    high: int | None
    zones: Zones | None = None
    texts: RawText | None = None

    @property
    def bytes(self) -> int:
        """Bytes that a kernel reads; for a slice of raw text a share proportional to its rows."""
        size = self.rows * self.encoding.width + (self.rows // 8 if self.encoding.nullable else 0)
        return size + (self.texts.size * self.rows // max(len(self.texts.ends), 1) if self.texts is not None else 0)

    def copy_to(self, xp: Any) -> PackedColumn:
        """Returns the column in memory of the GPU (`cupy`) or the host (`numpy`)."""
        moved = (None if each is None else xp.asarray(each) for each in (self.data, self.valid))
        data, valid = moved
        return replace(self, data=data, valid=valid, texts=None if self.texts is None else self.texts.copy_to(xp))

    def decode(self, first: int = 0, last: int | None = None, xp: Any = np) -> tuple[Any, Any]:
        """Decodes values to int64 or float64, with their validity mask (None: all valid); NULLs decode to any value."""
        last = self.rows if last is None else last
        width, encoding = self.encoding.width, self.encoding
        valid = None if self.valid is None else _unpack_bits(self.valid, first, last, xp)
        if encoding.is_text:
            return xp.zeros(last - first, np.int64), valid
        raw = self.data[first * width : last * width]
        if encoding.is_float:
            made = raw.view(np.float32 if width == 4 else np.float64).astype(np.float64)
        elif width == 3:
            parts = raw.reshape(-1, 3).astype(np.int64)
            made = self.base + encoding.unit * (parts[:, 0] | parts[:, 1] << 8 | parts[:, 2] << 16)
        else:
            made = raw.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.int64}[width]).astype(np.int64)
            made = self.base + encoding.unit * made
        return made, valid


def pack(values: Any, valid: Any = None, xp: Any = np, *, width: int | None = None) -> PackedColumn:
    """Packs int64, float32 or float64 values; `valid` is a boolean mask, or None where none is NULL.

    Source of the idea: frame of reference with a common divisor, byte-aligned (Lemire, Boytsov 2015).
    """
    rows = len(values)
    nullable = valid is not None and not bool(valid.all())
    bitmap = _pack_bits(valid, xp) if nullable else None
    if values.dtype.kind == "f":
        encoding = Encoding(values.dtype.itemsize, 1, True, nullable)
        return PackedColumn(
            encoding, 0, rows, _pad(values.view(np.uint8), rows, encoding.width, xp), bitmap, None, None
        )
    zones = compute_zones(values, valid if nullable else None, xp)
    if zones.bounds is None:
        encoding = Encoding(1, 1, False, nullable)
        return PackedColumn(encoding, 0, rows, xp.zeros(padded_bytes(rows, 1), np.uint8), bitmap, None, None, zones)
    low, high = zones.bounds
    known = values[valid] if nullable else values

    def divides(base: int, unit: int) -> bool:
        few = bool(((known[:_SAMPLED_ROWS] - base) % unit).any())
        return not few and not bool(((known - base) % unit).any())

    base, unit, width = choose_encoding(low, high, divides) if width is None else (0 if width == 8 else low, 1, width)
    stored = (values - base) // unit if unit > 1 else values - base
    if nullable:
        stored = xp.where(valid, stored, 0)
    encoding = Encoding(width, unit, False, nullable)
    return PackedColumn(encoding, base, rows, _pad(_narrow(stored, width), rows, width, xp), bitmap, low, high, zones)


def pack_texts(made: RawText, rows: int, valid: Any = None, xp: Any = np) -> PackedColumn:
    """Wraps raw text as a column; `valid` is a boolean mask, or None where none is NULL."""
    nullable = valid is not None and not bool(valid.all())
    bitmap = _pack_bits(valid, xp) if nullable else None
    return PackedColumn(Encoding(4, 1, False, nullable, True), 0, rows, None, bitmap, None, None, None, made)


def concatenate(parts: Sequence[PackedColumn], xp: Any = np) -> PackedColumn:
    """Concatenates columns of one type."""
    if len(parts) == 1:
        return parts[0]
    rows, nullable = sum(part.rows for part in parts), any(part.encoding.nullable for part in parts)
    if parts and parts[0].encoding.is_text:
        held = texts.concatenate_text([(part.rows, part.texts) for part in parts if part.texts is not None], xp)
        bits = [part.decode(0, None, xp)[1] for part in parts] if nullable else []
        masks = [xp.ones(part.rows, bool) if each is None else each for part, each in zip(parts, bits, strict=False)]
        return pack_texts(held, rows, xp.concatenate(masks) if nullable else None, xp)
    encoding, base, low, high = common_encoding(parts)
    width, unit, real = encoding.width, encoding.unit, encoding.is_float
    data = xp.zeros(padded_bytes(rows, width), np.uint8)
    validity = xp.ones(rows, bool) if nullable else None
    start = 0
    for part in parts:
        for first in range(0, part.rows, _COPIED_ROWS):
            last = min(first + _COPIED_ROWS, part.rows)
            to = slice((start + first) * width, (start + last) * width)
            if real:
                data[to] = part.data[first * width : last * width]
            elif part.low is not None:
                values, valid = part.decode(first, last, xp)
                stored = (values - base) // unit if unit > 1 else values - base
                data[to] = _narrow(stored if valid is None else xp.where(valid, stored, 0), width)
            if validity is not None and part.encoding.nullable:
                validity[start + first : start + last] = _unpack_bits(part.valid, first, last, xp)
        start += part.rows
    zones = concatenate_zones([(part.rows, part.zones) for part in parts])
    return PackedColumn(
        encoding, base, rows, data, None if validity is None else _pack_bits(validity, xp), low, high, zones
    )


def common_encoding(parts: Sequence[PackedColumn]) -> tuple[Encoding, int, int | None, int | None]:
    """Returns the encoding, base, least and greatest value of several columns concatenated.

    The columns have one type, and are not raw text.
    """
    known = [(part, part.low, part.high) for part in parts if part.low is not None and part.high is not None]
    real, nullable = bool(parts) and parts[0].encoding.is_float, any(part.encoding.nullable for part in parts)
    low = min((low for _, low, _ in known), default=None)
    high = max((high for _, _, high in known), default=None)
    if low is None or high is None:
        return Encoding(parts[0].encoding.width if real else 1, 1, real, nullable), 0, None, None

    def divides(base: int, unit: int) -> bool:
        return all(
            (part.low == part.high or part.encoding.unit % unit == 0) and (least - base) % unit == 0
            for part, least, _ in known
        )

    base, unit, width = choose_encoding(low, high, divides)
    return Encoding(width, unit, real, nullable), base, low, high


def choose_encoding(low: int, high: int, divides: Callable[[int, int], bool]) -> tuple[int, int, int]:
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


def padded_bytes(rows: int, width: int) -> int:
    return -(-max(rows, 1) // ROW_PADDING) * ROW_PADDING * width


def _pad(data: Any, rows: int, width: int, xp: Any) -> Any:
    made = xp.zeros(padded_bytes(rows, width), np.uint8)
    made[: len(data)] = data
    return made


def _pack_bits(valid: Any, xp: Any) -> Any:
    made = xp.zeros(padded_bytes(len(valid), 1) // 8, np.uint8)
    packed = xp.packbits(valid, bitorder="little")
    made[: len(packed)] = packed
    return made


def _unpack_bits(bitmap: Any, first: int, last: int, xp: Any) -> Any:
    rows = xp.arange(first, last)
    return (bitmap[rows >> 3] >> (rows & 7).astype(np.uint8)) & 1 == 1

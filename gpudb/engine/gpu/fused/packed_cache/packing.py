"""Packs decoded columns by kernels (kernels/pack*.cu): the host waits once for what several columns' values are.

Of columns of fixed width a kernel each finds the least and the greatest value of each zone, and which steps divide
them; one copy brings that to the host, which says how each column is to lie; then a kernel each writes it. What is in
`packed` are the twins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpudb.engine.gpu.fused.codegen.building_blocks import building_block
from gpudb.engine.gpu.fused.columns import text_columns as texts
from gpudb.engine.gpu.fused.columns.packed_column import UNITS, Form, PackedColumn, form_of_all, length_of, stored_as
from gpudb.engine.gpu.fused.columns.text_columns import Texts
from gpudb.engine.gpu.fused.columns.zones import EMPTY, Zones, ends_of, together
from gpudb.engine.gpu.fused.packed_cache.column_chunks import Bits, Piece
from gpudb.engine.gpu.fused.unsupported import NotFused

BLOCK = 256
_TURNS = 64
"""Rows of a thread that looks for values."""
_WIDE = 8
"""The bit for values of more than 64 bits."""
_NONE = np.int64(0)

Launch = Callable[[str, int, Sequence[Any]], None]
"""Starts a kernel by its name, so many blocks of it, with arrays and NumPy's scalars."""


VALUES = "i32", "i64", "u8", "i8", "i16", "i128"
"""What kernels have values in, the usual ones first."""
TEXTS = "text_starts", "text_ends", "text_bytes", "recode"
"""The kernels of texts."""


def source(kind: str = "i64") -> str:
    """The kernels over VALUES of a kind, and those over what is packed; or those of texts."""
    return building_block("pack_texts.cu") if kind == "texts" else f"{building_block('pack.cu')}\nOF({kind})\n"


def source_of(name: str) -> str:
    """Of which `source` a kernel is."""
    return "texts" if name in TEXTS else name.partition("_")[2] or "i64"


class Packing:
    """Packs columns in arrays of `xp` (CuPy) by kernels that `launch` starts, in order."""

    def __init__(self, xp: Any, launch: Launch) -> None:
        self._xp, self._launch = xp, launch

    def packed(self, pieces: Sequence[Piece]) -> list[PackedColumn | NotFused]:
        """Columns of fixed width; NotFused in the place of one that needs more than 64 bits a value."""
        columns = [_Decoded(piece) for piece in pieces]
        looked = [each for each in columns if not each.real and each.rows]
        if looked:
            self._look(looked)
        return [self._written(each) for each in columns]

    def _look(self, columns: Sequence[_Decoded]) -> None:
        """Finds what values columns have, and waits for it."""
        ends = np.cumsum([len(each.found) for each in columns])
        words = self._xp.asarray(np.concatenate([each.found for each in columns]))
        for each, end in zip(columns, ends, strict=True):
            place = words[int(end) - len(each.found) : int(end)]
            given = (*each.given, np.int64(each.rows), place, np.int64(each.zones))
            for name in ("survey", "steps"):
                self._launch(f"{name}_{each.kind}", -(-each.rows // (BLOCK * _TURNS)), given)
        found = words.get()
        for each, end in zip(columns, ends, strict=True):
            each.found = found[int(end) - len(each.found) : int(end)]

    def _written(self, column: _Decoded) -> PackedColumn | NotFused:
        """A column of which it is known what its values are."""
        rows, state = column.rows, int(column.found[0])
        if state >> _WIDE & 1:
            return NotFused("a numeric of more than 64 bits")
        nullable = column.bits is not None
        valid = self._bits(rows, [(column.bits, rows)]) if nullable else None
        zones = None if column.real else column.bounds
        low, high = None, None
        base, unit, width = 0, 1, column.width if column.real else 1
        if zones is not None and zones.bounds is not None:
            low, high = zones.bounds
            base, unit, width = stored_as(low, high, lambda _, unit: not state >> UNITS.index(unit) & 1)
        data = self._xp.empty(length_of(rows, width), np.uint8)
        padded = length_of(rows, 1)
        given = (*column.given, np.int64(rows), np.int64(padded), np.int64(base), np.uint64(unit), np.int32(width))
        self._launch(f"pack_{column.kind}", -(-padded // BLOCK), (*given, data))
        return PackedColumn(Form(width, unit, column.real, nullable), base, rows, data, valid, low, high, zones)

    def coded(self, piece: Piece, codes: np.ndarray[Any, Any]) -> PackedColumn:
        """A column of texts, whose places are int32, by its texts' codes in a dictionary."""
        rows = len(piece.values)
        held = self._xp.empty(rows, np.int32)
        if rows:
            given = (piece.values, np.int64(rows), self._xp.asarray(codes.astype(np.int32)), np.int32(len(codes) - 1))
            self._launch("recode", -(-rows // BLOCK), (*given, held))
        (made,) = self.packed([Piece(held, piece.valid)])
        assert isinstance(made, PackedColumn)
        return made

    def texts(self, data: Any, ends: Any, valid: Bits | None) -> PackedColumn:
        """A part of texts as they are, to be joined: their bytes, and where each ends among these (int32 or int64)."""
        rows = len(ends)
        bitmap = self._bits(rows, [(valid, rows)]) if valid is not None else None
        held = Texts(ends, None, data, len(data), ascii=False)
        return PackedColumn(Form(4, 1, False, valid is not None, True), 0, rows, None, bitmap, None, None, None, held)

    def joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """The rows of several columns of one type, one after the other, as one column; NotFused for texts too long."""
        if parts and parts[0].form.text:
            return self._texts_joined(parts)
        if len(parts) == 1:
            return parts[0]
        form, base, low, high = form_of_all(parts)
        rows = sum(part.rows for part in parts)
        data = self._xp.zeros(length_of(rows, form.width), np.uint8)
        start = 0
        for part in parts:
            if part.rows:
                have = part.form
                given = (
                    *(part.data, _NONE if part.valid is None else part.valid, np.int64(part.rows)),
                    *(np.int32(have.width), np.int64(part.base), np.uint64(have.unit)),
                    *(data, np.int64(start), np.int32(form.width), np.int64(base), np.uint64(form.unit)),
                )
                self._launch("repack", -(-part.rows // BLOCK), given)
            start += part.rows
        masks = [(None if part.valid is None else Bits(part.valid, 0), part.rows) for part in parts]
        valid = self._bits(rows, masks) if form.nullable else None
        zones = together([(part.rows, part.zones) for part in parts])
        return PackedColumn(form, base, rows, data, valid, low, high, zones)

    def _texts_joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        held = [part.texts for part in parts if part.texts is not None]
        if len(held) == 1 and held[0].starts is not None:
            return parts[0]
        rows, size = sum(part.rows for part in parts), sum(each.size for each in held)
        group_bits = texts.GROUP.bit_length() - 1
        ends = self._xp.zeros(length_of(rows, 1), np.uint32)
        starts = self._xp.zeros((rows >> group_bits) + 1, np.int64)
        data, beyond = self._xp.zeros(texts.length_of(size), np.uint8), self._xp.zeros(1, np.uint32)
        given, start, before = [], 0, 0
        for part, each in zip(parts, held, strict=True):
            width = 0 if each.starts is not None else each.ends.dtype.itemsize
            own = each.ends, np.int32(width), _NONE if each.starts is None else each.starts, np.int32(group_bits)
            given.append((*own, np.int64(part.rows), np.int64(start), np.int64(before)))
            if part.rows:
                self._launch("text_starts", -(-((part.rows >> group_bits) + 1) // BLOCK), (*given[-1], starts))
            if each.size:
                copied = each.data, np.int64(each.size), data, np.int64(before), beyond
                self._launch("text_bytes", -(-each.size // BLOCK), copied)
            start, before = start + part.rows, before + each.size
        for part, some in zip(parts, given, strict=True):
            if part.rows:
                self._launch("text_ends", -(-part.rows // BLOCK), (*some, starts, ends))
        if np.diff(starts.get(), append=size).max() >= 2**32:
            raise NotFused(texts.TOO_LONG)
        masks = [(None if part.valid is None else Bits(part.valid, 0), part.rows) for part in parts]
        nullable = any(part.form.nullable for part in parts)
        valid = self._bits(rows, masks) if nullable else None
        made = Texts(ends, starts, data, size, not int(beyond.get()[0]))
        return PackedColumn(Form(4, 1, False, nullable, True), 0, rows, None, valid, None, None, None, made)

    def _bits(self, rows: int, masks: Sequence[tuple[Bits | None, int]]) -> Any:
        """Bitmaps of so many rows each (None: all are there), one after the other, as one."""
        made = self._xp.zeros(length_of(rows, 1) // 8, np.uint8)
        start = 0
        for mask, count in masks:
            if count:
                blocks = -(-(count // 32 + 2) // BLOCK)
                given = (_NONE, _NONE) if mask is None else (mask.data, np.int64(mask.first))
                self._launch("bits", blocks, (*given, np.int64(count), made, np.int64(start)))
            start += count
        return made


class _Decoded:
    """A piece as kernels are given it; `found` is what they say of its values."""

    def __init__(self, piece: Piece) -> None:
        values = piece.values
        self.rows = len(values)
        self.real = values.dtype.kind == "f"
        self.width: int = values.dtype.itemsize
        bits = 8 * values.dtype.itemsize * (values.shape[1] if values.ndim == 2 else 1)
        self.kind = f"{'u' if values.dtype.kind == 'u' else 'i'}{bits}"
        self.bits: Bits | None = piece.valid
        self.given = (values, *((_NONE, _NONE) if self.bits is None else (self.bits.data, np.int64(self.bits.first))))
        self.zones = len(ends_of(self.rows))
        self.found: np.ndarray[Any, Any] = np.repeat((0, *EMPTY), (1, self.zones, self.zones))

    @property
    def bounds(self) -> Zones:
        return Zones(ends_of(self.rows), self.found[1 : 1 + self.zones], self.found[1 + self.zones :])

"""Packs decoded columns with kernels (kernels/pack*.cu); the host waits once for the value ranges of several columns.

For each fixed-width column one kernel finds the least and greatest value of each zone, and one the units that divide
the values. One copy transfers the results to the host, which chooses each column's encoding; then a kernel per column
writes it. `columns.packed_column` does the same with NumPy.
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
"""Rows per thread in the kernels that survey values."""
_WIDE = 8
"""The flag bit for values of more than 64 bits."""
_NONE = np.int64(0)

Launch = Callable[[str, int, Sequence[Any]], None]
"""Starts a kernel: its name, the number of blocks, and arguments (arrays and NumPy scalars)."""


VALUES = "i32", "i64", "u8", "i8", "i16", "i128"
"""Types of values that kernels are compiled for, the most frequent first."""
TEXTS = "text_starts", "text_ends", "text_bytes", "recode"
"""Kernels for texts."""


def source(kind: str = "i64") -> str:
    """Returns the source of the kernels for a type of values and for packed columns, or of those for texts."""
    return building_block("pack_texts.cu") if kind == "texts" else f"{building_block('pack.cu')}\nOF({kind})\n"


def source_of(name: str) -> str:
    """Returns which `source` contains a kernel."""
    return "texts" if name in TEXTS else name.partition("_")[2] or "i64"


class Packing:
    """Packs columns in arrays of `xp` (CuPy) with kernels that `launch` starts in order."""

    def __init__(self, xp: Any, launch: Launch) -> None:
        self._xp, self._launch = xp, launch

    def packed(self, pieces: Sequence[Piece]) -> list[PackedColumn | NotFused]:
        """Packs fixed-width columns; one that needs more than 64 bits per value yields NotFused in its place."""
        columns = [_Decoded(piece) for piece in pieces]
        looked = [each for each in columns if not each.real and each.rows]
        if looked:
            self._look(looked)
        return [self._written(each) for each in columns]

    def _look(self, columns: Sequence[_Decoded]) -> None:
        """Surveys the values of columns, and waits for the results."""
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
        """Writes a column whose values have been surveyed."""
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
        """Packs a text column, given as int32 indexes of its texts, by the texts' codes in a dictionary."""
        rows = len(piece.values)
        held = self._xp.empty(rows, np.int32)
        if rows:
            given = (piece.values, np.int64(rows), self._xp.asarray(codes.astype(np.int32)), np.int32(len(codes) - 1))
            self._launch("recode", -(-rows // BLOCK), (*given, held))
        (made,) = self.packed([Piece(held, piece.valid)])
        assert isinstance(made, PackedColumn)
        return made

    def texts(self, data: Any, ends: Any, valid: Bits | None) -> PackedColumn:
        """Returns a chunk of raw text that is to be concatenated; `ends` are its end offsets (int32 or int64)."""
        rows = len(ends)
        bitmap = self._bits(rows, [(valid, rows)]) if valid is not None else None
        held = Texts(ends, None, data, len(data), ascii=False)
        return PackedColumn(Form(4, 1, False, valid is not None, True), 0, rows, None, bitmap, None, None, None, held)

    def joined(self, parts: Sequence[PackedColumn]) -> PackedColumn:
        """Concatenates columns of one type; raises NotFused for texts that are too long."""
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
        """Concatenates bitmaps, each with its number of rows (None: all valid)."""
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
    """A chunk as kernel arguments; `found` holds the survey of its values."""

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
